//! A document's tables, filled with measured figures. The golden files have the order of their rows, the rows that were not
//! measured, and the pairs that differ.

use crate::sample::documents::{self, Records};
use crate::summary::{changed, only, summary};
use prony_model::PublishedFigure::{self, *};
use prony_model::{LatencyHistogram, Measurement, Outcome, PublishedTable, RoundSummary, Run};
use prony_report::{
    Concordance, DocumentRow, DocumentTable, Measured, ReversedPair, html, markdown, terminal,
};
use prony_stats::Known;

fn table(records: &Records, number: usize) -> DocumentTable {
    summary(records).published.unwrap().tables[number - 1].clone()
}

fn row<'a>(table: &'a DocumentTable, server: &str, workload: &str) -> &'a DocumentRow {
    let mut rows = table.rows.iter();
    rows.find(|row| row.server == server && row.workload == workload)
        .unwrap()
}

fn concordance(table: &DocumentTable, figure: PublishedFigure) -> &Concordance {
    let mut all = table.concordances.iter();
    all.find(|one| one.figure == figure).unwrap()
}

fn source(run: &mut Run) -> &mut PublishedTable {
    &mut run.published.as_mut().unwrap().tables[0]
}

fn set_latencies(measured: &mut Measurement, histogram: &LatencyHistogram) {
    measured.load.latency_ns = histogram.summary();
    measured.load.histogram = histogram.to_base64();
}

/// The three reports, with white space collapsed.
fn texts(records: &Records) -> [String; 3] {
    let (run, comparison) = (&records.0, summary(records));
    [
        html(run, &comparison),
        markdown(run, &comparison),
        terminal(&comparison, 100, false),
    ]
    .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn each_round_and_their_mean_are_shown() {
    let rates = [100_000.0, 130_000.0, 160_000.0];
    let records = changed(documents::zap(), |trial, measured| {
        if trial.server == "go-nethttp" {
            measured.load.rate_per_s = rates[trial.round as usize - 1];
        }
    });
    let table = table(&records, 1);
    let go = row(&table, "go-nethttp", "hello");
    let Measured {
        value,
        spread,
        rounds,
        ..
    } = &go.measured[&Rate];
    assert_eq!(*rounds, (1..).zip(rates).collect());
    assert_eq!((*value, *spread), (rates[1], Some((rates[0], rates[2]))));
    let published = go.published[&Rate].value;
    assert!((published - 501_901.01).abs() < 0.01, "{published}");
}

#[test]
fn every_figure_is_computed_from_its_rounds_in_its_own_way() {
    let (mut run, trials) = documents::zap();
    source(&mut run).columns = PublishedFigure::ALL.into();
    let records = changed((run, trials), |trial, measured| {
        let round = trial.round as usize - 1;
        let mut histogram = LatencyHistogram::new();
        // Two quick rounds and a slow one: averages of percentiles would lie between.
        let slow = trial.round == 3;
        (0..1000).for_each(|_| histogram.record(if slow { 9_000_000 } else { 1_000 }));
        histogram.record([2_000, 30_000_000, 9_000_000][round]);
        set_latencies(measured, &histogram);
        measured.load.outcomes[Outcome::Reset] = [1, 0, 5][round];
        measured.load.outcomes[Outcome::TimedOut] = 0;
        measured.server.as_mut().unwrap().peak_memory_bytes = [7, 9, 8][round];
        (measured.load.requests, measured.load.duration_s) = ([100, 200, 400][round], 2.0);
    });
    let table = table(&records, 1);
    let figures = &row(&table, "go-nethttp", "hello").measured;
    let mean = (2_000.0 * 1e3 + 1_001.0 * 9e6 + 30e6 + 2e3) / 3_003.0;
    for (figure, value) in [
        (LatencyP95, 9e6),
        (LatencyP99, 9e6),
        (LatencyMax, 30e6),
        (LatencyMean, mean),
        (WithinStdev, 2_001.0 / 3_003.0),
        (PeakMemory, 9.0),
        (
            TimePerRequest,
            (2e9 / 100.0 + 2e9 / 200.0 + 2e9 / 400.0) / 3.0,
        ),
    ] {
        let found = figures[&figure].value;
        assert!((found / value - 1.0).abs() < 0.002, "{figure:?}: {found}");
    }
    let errors = &figures[&Errors];
    assert_eq!((errors.value, errors.detail.as_str()), (6.0, "6 reset"));
    assert_eq!(figures[&ArtefactBytes].spread, None);
    // A closed loop has no schedule, and a table without a base has no shares.
    for figure in [QueuedRequests, RateShare, TransferShare] {
        assert!(!figures.contains_key(&figure), "{figure:?}");
    }
}

#[test]
fn shares_refer_to_the_same_servers_base() {
    let records = changed(documents::datastar(), |trial, measured| {
        let is_base = trial.workload == "page-log";
        measured.load.rate_per_s = if is_base { 200.0 } else { 150.0 };
        measured.load.bytes_read = if is_base { 1000 } else { 900 };
        measured.load.duration_s = 1.0;
    });
    let table = table(&records, 1);
    let sse = &row(&table, "rust-axum", "sse").measured;
    for (figure, share) in [(RateShare, 0.75), (TransferShare, 0.9)] {
        let found = sse[&figure].value;
        assert!((found - share).abs() < 1e-9, "{figure:?}: {found}");
    }
}

#[test]
fn the_order_is_counted_in_pairs() {
    // Published: Zig, Go, Rust, Python. Here Go before Zig; Rust and Go cannot be told apart.
    let records = changed(documents::zap(), |trial, measured| {
        let step = f64::from(trial.round);
        measured.load.rate_per_s = match trial.server.as_str() {
            "zig-epoll" => 500.0 + step,
            "go-nethttp" => 600.0 + 10.0 * step,
            "rust-threadpool" => 625.0 - 6.0 * step,
            "ceiling" => 10_000.0,
            _ => 10.0 + step,
        };
    });
    let rate = concordance(&table(&records, 1), Rate).clone();
    let counts = (rate.in_order, rate.open, rate.not_measured, rate.pairs());
    assert_eq!(counts, (3, 1, 0, 6));
    let pair = |first: &str| ReversedPair {
        better_here: first.to_owned(),
        better_there: "Zig (Zap)".to_owned(),
        workload: None,
    };
    assert_eq!(rate.reversed, [pair("Go"), pair("Rust")]);
}

#[test]
fn one_round_tells_nothing_apart() {
    let table = table(&only(documents::zap(), |trial| trial.round == 1), 1);
    let rate = concordance(&table, Rate);
    assert_eq!((rate.open, rate.pairs()), (6, 6));
    let go = row(&table, "go-nethttp", "hello");
    assert_eq!(go.measured[&Rate].spread, None);
}

/// Whether the order of the rates held if the generator limited one row in every round.
fn with_limited(limited: &str) -> (Records, Concordance) {
    let records = changed(documents::zap(), |trial, measured| {
        measured.load.generator.client_limited = trial.server == limited;
    });
    let rate = concordance(&table(&records, 1), Rate).clone();
    (records, rate)
}

#[test]
fn a_lower_bound_is_ahead_of_what_it_leads_and_nothing_is_ahead_of_it() {
    // The fastest row leads despite its limit.
    let (records, rate) = with_limited("zig-epoll");
    assert_eq!((rate.in_order, rate.reversed.len(), rate.open), (5, 1, 0));
    for text in texts(&records) {
        assert!(text.contains("client-limited") && text.contains(": at least"));
    }
    // The slowest row may be faster than any other.
    let (_, rate) = with_limited("python-httpserver");
    assert_eq!((rate.pairs(), rate.open), (6, 3));
}

#[test]
fn the_published_order_of_rates_is_that_of_the_ranks() {
    let ids = [
        "zig-epoll",
        "go-nethttp",
        "rust-threadpool",
        "python-httpserver",
    ];
    for limited in [ids[0], ids[1], ids[2], "nobody"] {
        let (records, rate) = with_limited(limited);
        let comparison = summary(&records);
        let order = comparison.tables[0].order.as_ref().unwrap();
        let pairs = (1..ids.len()).flat_map(|end| (0..end).map(move |i| (ids[i], ids[end])));
        let apart = pairs.filter(|(one, other)| order.faster(one, other).is_some());
        assert_eq!(rate.pairs() - rate.open, apart.count(), "{limited}");
    }
}

#[test]
fn a_row_that_did_not_reach_its_rate_cannot_be_told_apart() {
    let before = concordance(&table(&documents::hydragen(), 2), LatencyMax).open;
    let records = changed(documents::hydragen(), |trial, measured| {
        if let Some(open) = &mut measured.load.open
            && (trial.server.as_str(), trial.round) == ("go-fasthttp", 2)
        {
            open.rate_ratio = 0.9;
        }
    });
    let table = table(&records, 2);
    let known = |server| row(&table, server, "byte").measured[&LatencyMax].known;
    assert_eq!(known("go-fasthttp"), Known::Nothing);
    assert_eq!(known("go-nethttp"), Known::Exactly);
    assert!(concordance(&table, LatencyMax).open > before);
}

#[test]
fn no_figure_is_divided_by_zero() {
    let (mut run, trials) = changed(documents::datastar(), |_, measured| {
        (measured.load.rate_per_s, measured.load.bytes_read) = (0.0, 0);
        (measured.load.duration_s, measured.load.requests) = (0.0, 0);
        set_latencies(measured, &LatencyHistogram::new());
    });
    for row in &mut source(&mut run).rows {
        for values in row.figures.values_mut() {
            *values = match row.name.as_str() {
                "Rust" => vec![],
                "Go" => vec![f64::NAN, 0.0],
                _ => vec![0.0],
            };
        }
    }
    for summary in [RoundSummary::Median, RoundSummary::Mean] {
        for each_round in [false, true] {
            let table = source(&mut run);
            (table.summary, table.each_round) = (summary, each_round);
            table.columns = PublishedFigure::ALL.into();
            table.charts = PublishedFigure::ALL.into();
            for text in texts(&(run.clone(), trials.clone())) {
                let is_finite = !text.contains("NaN") && !text.contains("inf ");
                assert!(is_finite, "{summary:?}");
            }
        }
    }
}

#[test]
fn a_document_without_rows_or_columns_is_still_shown() {
    let (run, trials) = documents::zap();
    let (mut without_rows, mut without_columns) = (run.clone(), run);
    source(&mut without_rows).rows.clear();
    source(&mut without_columns).columns.clear();
    for run in [without_rows, without_columns] {
        for text in texts(&(run, trials.clone())) {
            assert!(text.contains("Requests and transfer a second"), "{text}");
        }
    }
}
