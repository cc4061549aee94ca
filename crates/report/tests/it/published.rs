//! A document's tables, filled with measured figures.

use crate::sample::documents::{self, Records};
use prony_model::PublishedFigure::{self, *};
use prony_model::{
    FailureKind, LatencyHistogram, Measurement, Outcome, PublishedTable, RoundSummary, Run,
    TrialRecord, TrialResult,
};
use prony_report::{DocumentRow, DocumentTable, Held, RunSummary, html, markdown, terminal};
use prony_stats::Known;

fn table(records: &Records, number: usize) -> DocumentTable {
    let comparison = RunSummary::of(&records.0, &records.1);
    comparison.published.unwrap().tables[number - 1].clone()
}

fn row<'a>(table: &'a DocumentTable, server: &str, workload: &str) -> &'a DocumentRow {
    let mut rows = table.rows.iter();
    rows.find(|row| row.server == server && row.workload == workload)
        .unwrap()
}

fn held(table: &DocumentTable, figure: PublishedFigure) -> &Held {
    table
        .held
        .iter()
        .find(|held| held.figure == figure)
        .unwrap()
}

fn source(run: &mut Run) -> &mut PublishedTable {
    &mut run.published.as_mut().unwrap().tables[0]
}

/// Changes every measurement.
fn each(trials: &mut [TrialRecord], change: impl Fn(&str, usize, &mut Measurement)) {
    for record in trials {
        let (server, round) = (record.trial.server.clone(), record.trial.round as usize);
        if let TrialResult::Measured(measured) = &mut record.result {
            change(&server, round, measured);
        }
    }
}

fn fail(record: &mut TrialRecord) {
    record.result = TrialResult::Failed {
        kind: FailureKind::ServerExited,
        message: "it ended".into(),
    };
}

/// The three reports, with white space collapsed.
fn texts((run, trials): &Records) -> [String; 3] {
    let comparison = RunSummary::of(run, trials);
    [
        html(run, &comparison),
        markdown(run, &comparison),
        terminal(&comparison, 100, false),
    ]
    .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn rows_have_the_documents_order_and_others_follow() {
    let table = table(&documents::zap(), 1);
    let names: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.in_document))
        .collect();
    assert_eq!(
        names,
        [
            ("Zig (Zap)", true),
            ("Go", true),
            ("Python", true),
            ("Rust", true),
            ("ceiling", false),
            ("mine", false)
        ]
    );
    assert_eq!(table.rounds, [1, 2, 3]);
}

#[test]
fn each_round_and_their_mean_are_shown() {
    let (run, mut trials) = documents::zap();
    let rates = [100_000.0, 130_000.0, 160_000.0];
    each(&mut trials, |server, round, measured| {
        if server == "go-nethttp" {
            measured.load.rate_per_s = rates[round - 1];
        }
    });
    let records = (run, trials);
    let table = table(&records, 1);
    let go = row(&table, "go-nethttp", "hello");
    let rate = &go.measured[&Rate];
    assert_eq!(rate.rounds, [(1, rates[0]), (2, rates[1]), (3, rates[2])]);
    assert_eq!(
        (rate.value, rate.spread),
        (130_000.0, Some((100_000.0, 160_000.0)))
    );
    let published = table.published(go, Rate).unwrap();
    assert!((published - 501_901.01).abs() < 0.01, "{published}");
}

#[test]
fn a_median_has_the_interval_of_its_rounds() {
    let (run, mut trials) = documents::hydragen();
    each(&mut trials, |_, round, measured| {
        measured.startup_ns = Some(round as u64 * 1_000_000);
    });
    let table = table(&(run, trials), 1);
    let startup = &row(&table, "go-nethttp", "byte").measured[&Startup];
    assert_eq!(startup.value, 10_500_000.0);
    let (low, high) = startup.spread.unwrap(); // Of 20 rounds, about the 6th from either end.
    assert!(
        (5e6..=7e6).contains(&low) && (14e6..=16e6).contains(&high),
        "{low} {high}"
    );
}

#[test]
fn every_figure_is_computed_from_its_rounds_in_its_own_way() {
    let (mut run, mut trials) = documents::zap();
    source(&mut run).columns = PublishedFigure::ALL.into();
    each(&mut trials, |_, round, measured| {
        let mut histogram = LatencyHistogram::new();
        // Two quick rounds and a slow one: averages of percentiles would lie between.
        let slow = round == 3;
        (0..1000).for_each(|_| histogram.record(if slow { 9_000_000 } else { 1_000 }));
        histogram.record([2_000, 30_000_000, 9_000_000][round - 1]);
        measured.load.latency_ns = histogram.summary();
        measured.load.histogram = histogram.to_base64();
        measured.load.outcomes[Outcome::Reset] = [1, 0, 5][round - 1];
        measured.load.outcomes[Outcome::TimedOut] = 0;
        measured.server.as_mut().unwrap().peak_memory_bytes = [7, 9, 8][round - 1];
        (measured.load.requests, measured.load.duration_s) = ([100, 200, 400][round - 1], 2.0);
    });
    let table = table(&(run, trials), 1);
    let figures = &row(&table, "go-nethttp", "hello").measured;
    let close = |figure, value: f64| (figures[&figure].value / value - 1.0).abs() < 0.002;
    assert!(close(LatencyP95, 9e6) && close(LatencyP99, 9e6));
    assert!(close(LatencyMax, 30e6));
    assert!(close(
        LatencyMean,
        (2_000.0 * 1e3 + 1_001.0 * 9e6 + 30e6 + 2e3) / 3_003.0
    ));
    assert!(close(WithinStdev, 2_001.0 / 3_003.0));
    assert_eq!(
        (figures[&Errors].value, figures[&Errors].detail.as_str()),
        (6.0, "6 reset")
    );
    assert_eq!(figures[&PeakMemory].value, 9.0);
    let times = (2e9 / 100.0 + 2e9 / 200.0 + 2e9 / 400.0) / 3.0;
    assert!(close(TimePerRequest, times));
    assert_eq!(figures[&ArtefactBytes].spread, None);
    // A closed loop has no schedule, and a table without a base has no shares.
    for figure in [QueuedRequests, RateShare, TransferShare] {
        assert!(!figures.contains_key(&figure), "{figure:?}");
    }
}

#[test]
fn queued_requests_are_counted_per_round() {
    let table = table(&documents::hydragen(), 2);
    let late = &row(&table, "go-nethttp", "byte").measured[&QueuedRequests];
    let (low, high) = late.spread.unwrap();
    assert!(
        late.value == 8.0 && low <= 7.0 && high >= 9.0,
        "{low} {high}"
    );
}

#[test]
fn shares_refer_to_the_same_servers_base() {
    let (run, mut trials) = documents::datastar();
    for record in &mut trials {
        let page = record.trial.workload == "page-log";
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = if page { 200.0 } else { 150.0 };
            measured.load.bytes_read = if page { 1000 } else { 900 };
            measured.load.duration_s = 1.0;
        }
    }
    let records = (run, trials);
    let table = table(&records, 1);
    let sse = &row(&table, "rust-axum", "sse").measured;
    assert_eq!(
        (sse[&RateShare].value, sse[&TransferShare].value),
        (0.75, 0.9)
    );
    assert!(
        !row(&table, "rust-axum", "page-log")
            .measured
            .contains_key(&RateShare)
    );
}

#[test]
fn the_order_is_counted_in_pairs() {
    let (run, mut trials) = documents::zap();
    // Published: Zig, Go, Rust, Python. Here Go before Zig; Rust and Go cannot be told apart.
    each(&mut trials, |server, round, measured| {
        let step = round as f64;
        measured.load.rate_per_s = match server {
            "zig-epoll" => 500.0 + step,
            "go-nethttp" => 600.0 + 10.0 * step,
            "rust-threadpool" => 625.0 - 6.0 * step,
            "ceiling" => 10_000.0,
            _ => 10.0 + step,
        };
    });
    let records = (run, trials);
    let rate = held(&table(&records, 1), Rate).clone();
    assert_eq!(
        (rate.in_order, rate.open, rate.not_measured, rate.pairs()),
        (3, 1, 0, 6)
    );
    let pair = |first: &str, then: &str| (first.to_owned(), then.to_owned());
    assert_eq!(
        rate.reversed,
        [pair("Go", "Zig (Zap)"), pair("Rust", "Zig (Zap)")]
    );
}

#[test]
fn a_lower_latency_is_better() {
    let (run, mut trials) = documents::zap();
    each(&mut trials, |server, _, measured| {
        let mut histogram = LatencyHistogram::new();
        // The document's own order, from Zig to Python.
        histogram.record(match server {
            "zig-epoll" => 300_000,
            "go-nethttp" => 600_000,
            "rust-threadpool" => 1_000_000,
            _ => 9_000_000,
        });
        measured.load.latency_ns = histogram.summary();
        measured.load.histogram = histogram.to_base64();
    });
    let table = table(&(run, trials), 1);
    assert_eq!(held(&table, LatencyMean).in_order, 6);
    assert!(
        !table.held.iter().any(|held| held.figure == WithinStdev),
        "neither is better"
    );
}

#[test]
fn equal_figures_and_a_server_that_occurs_twice_make_no_pair() {
    let table = table(&documents::hydragen(), 2);
    assert!(
        !table.held.iter().any(|held| held.figure == LatencyMean),
        "all are 1 ms"
    );
    // 65, 42, 56 and 56 ms, and the last was not measured.
    let highest = held(&table, LatencyMax);
    assert_eq!((highest.pairs(), highest.not_measured), (3, 2));
    // Three systems with an artefact, each listed for two workloads.
    let datastar = self::table(&documents::datastar(), 1);
    let artefact = held(&datastar, ArtefactBytes);
    assert_eq!((artefact.pairs(), artefact.not_measured), (1, 2));
}

#[test]
fn one_round_tells_nothing_apart() {
    let (run, mut trials) = documents::zap();
    trials.retain(|record| record.trial.round == 1);
    let table = table(&(run, trials), 1);
    let rate = held(&table, Rate);
    assert_eq!((rate.open, rate.pairs()), (6, 6));
    assert_eq!(
        row(&table, "go-nethttp", "hello").measured[&Rate].spread,
        None
    );
}

/// Whether the order of the rates held if the generator limited one row in every round.
fn with_limited(limited: &str) -> (Records, Held) {
    let (run, mut trials) = documents::zap();
    each(&mut trials, |server, _, measured| {
        measured.load.generator.client_limited = server == limited;
    });
    let records = (run, trials);
    let rate = held(&table(&records, 1), Rate).clone();
    (records, rate)
}

#[test]
fn a_lower_bound_is_ahead_of_what_it_leads_and_nothing_is_ahead_of_it() {
    // The fastest row leads despite its limit.
    let (records, rate) = with_limited("zig-epoll");
    assert_eq!((rate.in_order, rate.reversed.len(), rate.open), (5, 1, 0));
    assert!(
        texts(&records)
            .iter()
            .all(|text| text.contains("client-limited") && text.contains(": at least"))
    );
    // The slowest row may be faster than any other.
    let (_, rate) = with_limited("python-httpserver");
    assert_eq!((rate.pairs(), rate.open), (6, 3));
}

#[test]
fn the_published_order_of_rates_is_that_of_the_ranks() {
    for limited in ["zig-epoll", "go-nethttp", "rust-threadpool", "nobody"] {
        let (records, rate) = with_limited(limited);
        let comparison = RunSummary::of(&records.0, &records.1);
        let order = comparison.tables[0].order.as_ref().unwrap();
        let ids = [
            "zig-epoll",
            "go-nethttp",
            "rust-threadpool",
            "python-httpserver",
        ];
        let mut apart = 0;
        for (i, one) in ids.iter().enumerate() {
            for other in &ids[i + 1..] {
                apart += usize::from(order.faster(one, other).is_some());
            }
        }
        assert_eq!(rate.pairs() - rate.open, apart, "{limited}");
    }
}

#[test]
fn a_row_that_did_not_reach_its_rate_cannot_be_told_apart() {
    let (run, mut trials) = documents::hydragen();
    let before = held(&table(&(run.clone(), trials.clone()), 2), LatencyMax).open;
    each(&mut trials, |server, round, measured| {
        if let Some(open) = &mut measured.load.open
            && (server, round) == ("go-fasthttp", 2)
        {
            open.rate_ratio = 0.9;
        }
    });
    let table = table(&(run, trials), 2);
    let known = |server| row(&table, server, "byte").known[&LatencyMax];
    assert_eq!(known("go-fasthttp"), Known::Nothing);
    assert_eq!(known("go-nethttp"), Known::Exactly);
    assert!(held(&table, LatencyMax).open > before);
}

#[test]
fn a_row_that_was_not_measured_stays_with_the_reason() {
    let records = documents::datastar();
    let datastar = table(&records, 1);
    let zig = row(&datastar, "zig-std", "sse");
    assert_eq!(zig.absent, Some("skipped"));
    assert!(zig.measured.is_empty() && !zig.published.is_empty());
    let rates: Vec<_> = datastar
        .held
        .iter()
        .filter(|held| held.figure == Rate)
        .collect();
    assert_eq!(rates.iter().map(|held| held.not_measured).sum::<usize>(), 9);
    let hydragen = table(&documents::hydragen(), 1);
    assert_eq!(
        row(&hydragen, "rust-hyper", "byte").absent,
        Some("not requested")
    );
}

#[test]
fn failed_rounds_leave_a_gap_and_failed_rows_have_a_reason() {
    let (run, mut trials) = documents::zap();
    for record in &mut trials {
        match (record.trial.server.as_str(), record.trial.round) {
            ("go-nethttp", 2) | ("rust-threadpool", _) => fail(record),
            _ => {}
        }
    }
    let records = (run, trials);
    let table = table(&records, 1);
    let go = row(&table, "go-nethttp", "hello");
    assert_eq!(
        go.measured[&Rate]
            .rounds
            .iter()
            .map(|r| r.0)
            .collect::<Vec<_>>(),
        [1, 3]
    );
    let flags: Vec<&str> = go.flags.iter().map(|flag| flag.text.as_str()).collect();
    assert_eq!(flags, ["1 round failed"]);
    assert_eq!(
        row(&table, "rust-threadpool", "hello").absent,
        Some("failed")
    );
}

#[test]
fn a_figure_that_was_not_published_is_shown_but_not_compared() {
    let (mut run, trials) = documents::zap();
    source(&mut run).columns.push(PeakMemory);
    let records = (run, trials);
    let table = table(&records, 1);
    assert!(
        row(&table, "go-nethttp", "hello")
            .measured
            .contains_key(&PeakMemory)
    );
    assert!(!table.held.iter().any(|held| held.figure == PeakMemory));
}

#[test]
fn no_figure_is_divided_by_zero() {
    let (mut run, mut trials) = documents::datastar();
    for row in &mut source(&mut run).rows {
        for values in row.figures.values_mut() {
            *values = match row.name.as_str() {
                "Rust" => vec![],
                "Go" => vec![f64::NAN, 0.0],
                _ => vec![0.0],
            };
        }
    }
    each(&mut trials, |_, _, measured| {
        (measured.load.rate_per_s, measured.load.bytes_read) = (0.0, 0);
        (measured.load.duration_s, measured.load.requests) = (0.0, 0);
        measured.load.latency_ns = None;
        measured.load.histogram = LatencyHistogram::new().to_base64();
    });
    for summary in [RoundSummary::Median, RoundSummary::Mean] {
        for each_round in [false, true] {
            let table = source(&mut run);
            (table.summary, table.each_round) = (summary, each_round);
            table.columns = PublishedFigure::ALL.into();
            table.charts = PublishedFigure::ALL.into();
            for text in texts(&(run.clone(), trials.clone())) {
                assert!(
                    !text.contains("NaN") && !text.contains("inf "),
                    "{summary:?}"
                );
            }
        }
    }
}

#[test]
fn a_document_without_rows_or_columns_is_still_shown() {
    let (mut run, trials) = documents::zap();
    source(&mut run).rows.clear();
    assert!(texts(&(run.clone(), trials.clone()))[1].contains("Requests and transfer a second"));
    let (mut run, trials) = (documents::zap().0, trials);
    source(&mut run).columns.clear();
    assert!(texts(&(run, trials))[2].contains("Requests and transfer a second"));
}
