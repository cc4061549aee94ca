//! Which charts a report has, and what they say.

use crate::sample;
use crate::sample::documents::Records;
use crate::summary::{changed, failing, only, summary, tour};
use prony_model::{Outcome, ServerRecord, Trial};
use prony_report::{ChartFile, ChartKind, chart_files, html};
use prony_testkit::page;

fn charts(records: &Records) -> Vec<ChartFile> {
    chart_files(&summary(records))
}

fn named<'c>(charts: &'c [ChartFile], name: &str) -> Option<&'c str> {
    let chart = charts.iter().find(|chart| chart.name == name);
    chart.map(|chart| chart.svg.as_str())
}

fn texts(svg: &str) -> Vec<String> {
    page::texts(roxmltree::Document::parse(svg).unwrap().root(), "text")
}

fn has(svg: &str, words: &str) -> bool {
    texts(svg).iter().any(|text| text.contains(words))
}

#[track_caller]
fn assert_has(svg: &str, words: &str) {
    assert!(has(svg, words), "no `{words}` in {:?}", texts(svg));
}

fn svg(records: &Records, name: &str) -> String {
    let charts = charts(records);
    named(&charts, name).expect(name).to_owned()
}

/// The chart of the latencies at several rates.
fn curve_over_rates(records: &Records) -> String {
    svg(records, "hello-rate-4k-rates.svg")
}

fn first_rounds(rounds: u32) -> Records {
    only(tour(), |trial| trial.round <= rounds)
}

#[test]
fn rounds_are_shown_from_three_on() {
    assert!(named(&charts(&first_rounds(2)), "hello-rounds.svg").is_none());
    let svg = svg(&first_rounds(3), "hello-rounds.svg");
    assert_has(&svg, "rust-hyper");
    assert_has(&svg, "python-httpserver");
    assert!(!has(&svg, "noisy"), "a legend of what does not occur");
}

#[test]
fn re_run_trials_are_hollow() {
    let records = sample::noisy::noisy();
    let svg = svg(&records, "hello-rounds.svg");
    let of_hello = records.1.iter().filter(|it| it.trial.workload == "hello");
    let noisy = of_hello.filter(|record| !record.noisy.is_empty()).count();
    let hollow = svg.matches("<circle class=\"dot noisy\"").count();
    assert_eq!(hollow, noisy + 1, "and one in the legend");
}

#[test]
fn a_line_of_the_spectrum_ends_with_the_percentile_that_the_responses_support() {
    let summary = summary(&tour());
    for row in summary.tables.iter().flat_map(|table| &table.rows) {
        let last = row.figures.spectrum.last().expect("a spectrum");
        let beyond = row.figures.latency_count as f64 * last.beyond;
        assert!((9.999..16.0).contains(&beyond), "{beyond}");
    }
    let svg = svg(&tour(), "hello-spectrum.svg");
    assert_has(&svg, "fewer than ten responses");
}

#[test]
fn a_spectrum_of_many_servers_says_which_are_left_out() {
    let (mut run, mut trials) = first_rounds(3);
    let (servers, own) = (run.servers.clone(), trials.clone());
    for n in 0..4 {
        for server in servers.iter().filter(|server| server.id != "ceiling") {
            let id = format!("{}-{n}", server.id);
            let mut own = own.clone();
            own.retain(|record| record.trial.server == server.id);
            for record in &mut own {
                record.trial.server.clone_from(&id);
            }
            trials.append(&mut own);
            let server = server.clone();
            run.servers.push(ServerRecord { id, ..server });
        }
    }
    let svg = svg(&(run, trials), "hello-spectrum.svg");
    assert_has(
        &svg,
        "The first 8 servers of the table with enough responses; 17",
    );
    // 8 and the reference server.
    assert_eq!(svg.matches("<polyline class=\"curve ").count(), 9);
}

#[test]
fn a_server_with_wrong_responses_has_a_grey_line() {
    let grey = |records: &Records| {
        let svg = svg(records, "hello-spectrum.svg");
        svg.matches("<polyline class=\"curve grey\"").count()
    };
    assert_eq!(grey(&first_rounds(3)), 1, "the reference server");
    let wrong = changed(first_rounds(3), |trial, measured| {
        measured.load.outcomes[Outcome::WrongBody] = if trial.server == "bun" { 3 } else { 0 };
    });
    assert_eq!(grey(&wrong), 2);
}

#[test]
fn open_loops_have_no_chart_of_their_throughput() {
    let charts = charts(&sample::rates::rates());
    assert!(named(&charts, "hello-rate-20k-footprint.svg").is_none());
    assert!(named(&charts, "hello-closed-64-footprint.svg").is_some());
    assert!(named(&charts, "hello-rate-20k-spectrum.svg").is_some());
}

#[test]
fn several_rates_have_a_curve_with_its_knee_or_the_highest_rate_without_errors() {
    let records = sample::rates::curve();
    let svg = curve_over_rates(&records);
    for words in [
        "go-nethttp knee 16.0 k",
        "bun sustained 16.0 k",
        "Knee: of these rates, the last before",
        "without errors",
    ] {
        assert_has(&svg, words);
    }
    let page = html(&records.0, &summary(&records));
    assert!(page.contains("<section id=\"rates\""));
}

/// Whether a trial is of a server at the last rate of [`sample::rates::curve`].
fn is_of_last_rate(trial: &Trial, server: &str) -> bool {
    let shape = format!("{:?}", trial.load.shape);
    trial.server == server && shape.contains("20000.0")
}

#[test]
fn a_server_that_failed_at_the_highest_rate_keeps_its_curve() {
    let svg = curve_over_rates(&failing(sample::rates::curve(), |record| {
        is_of_last_rate(&record.trial, "bun")
    }));
    assert_has(&svg, "bun sustained 16.0 k");
    assert_has(&svg, "bun has no figures at 20.0 k.");
    assert!(!has(&svg, "go-nethttp has no"), "{:?}", texts(&svg));
}

#[test]
fn wrong_responses_at_a_rate_leave_a_curve_unmarked() {
    let svg = curve_over_rates(&changed(sample::rates::curve(), |trial, measured| {
        if is_of_last_rate(trial, "go-nethttp") {
            measured.load.outcomes[Outcome::WrongBody] = 3;
        }
    }));
    assert_has(&svg, "go-nethttp wrong");
    assert_has(&svg, "Wrong: some responses were");
    assert!(!has(&svg, "Knee:"), "{:?}", texts(&svg));
}

#[test]
fn curves_of_one_workload_have_titles_that_differ() {
    let (run, mut trials) = sample::rates::curve();
    let mut more = trials.clone();
    for record in &mut more {
        record.trial.load.connections = 128;
    }
    sample::each(&mut more, |_, measured| {
        measured.load.load.connections = 128
    });
    trials.append(&mut more);
    let charts = charts(&(run, trials));
    let curves = charts
        .iter()
        .filter(|chart| chart.name.ends_with("-rates.svg"));
    let mut titles: Vec<String> = curves.map(|chart| texts(&chart.svg)[0].clone()).collect();
    titles.sort();
    assert_eq!(
        titles,
        ["128", "64"].map(|n| format!("Latency against rate: hello, {n} connections"))
    );
}

#[test]
fn two_rates_are_no_curve() {
    let two = only(sample::rates::curve(), |trial| {
        let name = format!("{:?}", trial.load.shape);
        name.contains("4000.0") || name.contains("8000.0")
    });
    let charts = charts(&two);
    let is_curve = |chart: &ChartFile| chart.name.ends_with("-rates.svg");
    assert!(!charts.is_empty() && !charts.iter().any(is_curve));
}

#[test]
fn every_kind_of_chart_occurs() {
    let summary = summary(&tour());
    let kinds: Vec<ChartKind> = ChartKind::of(&summary.tables[0]).collect();
    assert_eq!(kinds, ChartKind::ALL);
}
