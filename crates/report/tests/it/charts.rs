//! Which charts a report has, and what they say.

use crate::sample;
use crate::sample::documents::Records;
use prony_model::{FailureKind, Outcome, TrialRecord, TrialResult};
use prony_report::{ChartFile, ChartKind, RunSummary, chart_files, html};

fn charts((run, trials): &Records) -> Vec<ChartFile> {
    chart_files(&RunSummary::of(run, trials))
}

fn named<'c>(charts: &'c [ChartFile], name: &str) -> Option<&'c str> {
    charts
        .iter()
        .find(|chart| chart.name == name)
        .map(|chart| chart.svg.as_str())
}

/// The texts of a chart.
fn texts(svg: &str) -> Vec<String> {
    let tree = roxmltree::Document::parse(svg).unwrap();
    let texts = tree.descendants().filter(|node| node.has_tag_name("text"));
    let words = |node: roxmltree::Node<'_, '_>| {
        let parts = node.descendants().filter(|part| part.is_text());
        let parts = parts.filter_map(|part| part.text());
        parts.collect::<Vec<_>>().join(" ")
    };
    texts.map(words).collect()
}

fn has(svg: &str, words: &str) -> bool {
    texts(svg).iter().any(|text| text.contains(words))
}

fn first_rounds(rounds: u32) -> Records {
    let mut trials = sample::trials();
    trials.retain(|TrialRecord { trial, .. }| trial.round <= rounds);
    (sample::run(), trials)
}

#[test]
fn rounds_are_shown_from_three_on() {
    assert!(named(&charts(&first_rounds(2)), "hello-rounds.svg").is_none());
    let three = charts(&first_rounds(3));
    let svg = named(&three, "hello-rounds.svg").expect("a chart of the rounds");
    assert!(has(svg, "rust-hyper") && has(svg, "python-httpserver"));
    assert!(!has(svg, "noisy"), "a legend of what does not occur");
}

#[test]
fn re_run_trials_are_hollow() {
    let charts = charts(&sample::noisy::noisy());
    let svg = named(&charts, "hello-rounds.svg").unwrap();
    let hollow = svg.matches("<circle class=\"dot noisy\"").count();
    let noisy = sample::noisy::noisy().1;
    let noisy = noisy
        .iter()
        .filter(|record| record.trial.workload == "hello" && !record.noisy.is_empty());
    // And one in the legend.
    assert_eq!(hollow, noisy.count() + 1);
}

#[test]
fn a_line_of_the_spectrum_ends_with_the_percentile_that_the_responses_support() {
    let (run, trials) = first_rounds(5);
    let summary = RunSummary::of(&run, &trials);
    for row in summary.tables.iter().flat_map(|table| &table.rows) {
        let spectrum = &row.figures.spectrum;
        let last = spectrum.last().expect("a spectrum");
        assert!(row.figures.latency_count as f64 * last.beyond >= 9.999);
        assert!(row.figures.latency_count as f64 * last.beyond < 16.0);
    }
    let charts = chart_files(&summary);
    assert!(has(
        named(&charts, "hello-spectrum.svg").unwrap(),
        "fewer than ten responses"
    ));
}

#[test]
fn a_spectrum_of_many_servers_says_which_are_left_out() {
    let (mut run, trials) = first_rounds(3);
    let copies = (0..4).flat_map(|n| {
        let of = run.servers.iter().filter(|server| server.id != "ceiling");
        of.map(move |server| (format!("{}-{n}", server.id), server.clone()))
    });
    let copies: Vec<_> = copies.collect();
    let mut all = trials.clone();
    for (id, server) in copies {
        let own = trials
            .iter()
            .filter(|record| record.trial.server == server.id);
        all.extend(own.cloned().map(|mut record| {
            record.trial.server.clone_from(&id);
            record
        }));
        run.servers.push(prony_model::ServerRecord { id, ..server });
    }
    let charts = charts(&(run, all));
    let svg = named(&charts, "hello-spectrum.svg").unwrap();
    assert!(
        has(
            svg,
            "The first 8 servers of the table with enough responses; 17"
        ),
        "{:?}",
        texts(svg)
    );
    // 8 and the reference server.
    assert_eq!(svg.matches("<polyline class=\"curve ").count(), 9);
}

#[test]
fn a_server_with_wrong_responses_has_a_grey_line() {
    let (run, mut trials) = first_rounds(3);
    let grey = |trials: &[TrialRecord]| {
        let charts = charts(&(run.clone(), trials.to_vec()));
        let svg = named(&charts, "hello-spectrum.svg").unwrap();
        svg.matches("<polyline class=\"curve grey\"").count()
    };
    assert_eq!(grey(&trials), 1, "the reference server");
    for record in &mut trials {
        if let ("bun", TrialResult::Measured(measured)) =
            (record.trial.server.as_str(), &mut record.result)
        {
            measured.load.outcomes[Outcome::WrongBody] = 3;
        }
    }
    assert_eq!(grey(&trials), 2);
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
    let curves = charts(&records);
    let svg = named(&curves, "hello-rate-4k-rates.svg").expect("a curve");
    assert!(has(svg, "go-nethttp knee 16.0 k"), "{:?}", texts(svg));
    assert!(has(svg, "bun sustained 16.0 k"), "{:?}", texts(svg));
    assert!(has(svg, "Knee: of these rates, the last before") && has(svg, "without errors"));
    let page = html(&records.0, &RunSummary::of(&records.0, &records.1));
    assert!(page.contains("<section id=\"rates\""));
}

/// Whether a trial is of a server at the last rate of [`sample::rates::curve`].
fn is_of_last_rate(record: &TrialRecord, server: &str) -> bool {
    let shape = format!("{:?}", record.trial.load.shape);
    record.trial.server == server && shape.contains("20000.0")
}

#[test]
fn a_server_that_failed_at_the_highest_rate_keeps_its_curve() {
    let (run, mut trials) = sample::rates::curve();
    for record in &mut trials {
        if is_of_last_rate(record, "bun") {
            record.result = TrialResult::Failed {
                kind: FailureKind::Load,
                message: "connection refused".into(),
            };
        }
    }
    let charts = charts(&(run, trials));
    let svg = named(&charts, "hello-rate-4k-rates.svg").expect("a curve");
    assert!(has(svg, "bun sustained 16.0 k"), "{:?}", texts(svg));
    assert!(
        has(svg, "bun has no figures at 20.0 k."),
        "{:?}",
        texts(svg)
    );
    assert!(!has(svg, "go-nethttp has no"), "{:?}", texts(svg));
}

#[test]
fn wrong_responses_at_a_rate_leave_a_curve_unmarked() {
    let (run, mut trials) = sample::rates::curve();
    for record in &mut trials {
        if is_of_last_rate(record, "go-nethttp")
            && let TrialResult::Measured(measured) = &mut record.result
        {
            measured.load.outcomes[Outcome::WrongBody] = 3;
        }
    }
    let charts = charts(&(run, trials));
    let svg = named(&charts, "hello-rate-4k-rates.svg").expect("a curve");
    assert!(has(svg, "go-nethttp wrong"), "{:?}", texts(svg));
    assert!(has(svg, "Wrong: some responses were"), "{:?}", texts(svg));
    assert!(!has(svg, "Knee:"), "{:?}", texts(svg));
}

#[test]
fn curves_of_one_workload_have_titles_that_differ() {
    let (run, mut trials) = sample::rates::curve();
    let more = trials.clone().into_iter().map(|mut record| {
        record.trial.load.connections = 128;
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.load.connections = 128;
        }
        record
    });
    trials.extend(more);
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
    let (run, mut trials) = sample::rates::curve();
    trials.retain(|record| {
        let name = format!("{:?}", record.trial.load.shape);
        name.contains("4000.0") || name.contains("8000.0")
    });
    let charts = charts(&(run, trials));
    assert!(!charts.is_empty());
    assert!(
        charts
            .iter()
            .all(|chart| !chart.name.ends_with("-rates.svg"))
    );
}

#[test]
fn every_kind_of_chart_occurs() {
    let summary = RunSummary::of(&sample::run(), &sample::trials());
    let kinds: Vec<ChartKind> = ChartKind::of(&summary.tables[0]).collect();
    assert_eq!(kinds, ChartKind::ALL);
}
