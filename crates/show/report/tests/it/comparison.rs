//! The summary of a run. The golden files have failed rounds, open loops and a run without trials.

use crate::sample;
use crate::summary::{changed, failing, is_of, only, row, summary, table, tour};
use prony_model::{LatencyHistogram, Measurement, Outcome, Trial};
use prony_report::{Percentile, ResultTable, RunSummary, Why};

fn compare(change: impl FnMut(&Trial, &mut Measurement)) -> RunSummary {
    summary(&changed(tour(), change))
}

fn encoded(latencies: impl IntoIterator<Item = u64>) -> String {
    let mut histogram = LatencyHistogram::new();
    latencies.into_iter().for_each(|ns| histogram.record(ns));
    histogram.to_base64()
}

#[test]
fn tables_have_the_suites_order_however_trials_were_shuffled() {
    let names_of_rates = [
        "hello, 64 connections",
        "hello, 64 connections, pipelined 16 deep",
        "hello, 20k/s, open loop",
        "hello, 500 users, closed loop",
        "sse",
    ];
    for ((run, mut trials), expected) in [
        (tour(), &["hello", "page", "sse", "quote"][..]),
        (sample::rates::rates(), &names_of_rates),
    ] {
        trials.reverse();
        let tables = summary(&(run, trials)).tables;
        let names: Vec<_> = tables.iter().map(ResultTable::name).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn the_same_workload_under_another_load_has_its_own_table() {
    let (run, mut trials) = tour();
    for record in trials.iter_mut().filter(|record| record.trial.round > 3) {
        record.trial.load.connections *= 4;
    }
    let comparison = summary(&(run, trials));
    let rounds = |name| row(&comparison, name, "bun").figures.rate.n;
    assert_eq!(rounds("hello, 64 connections"), 3);
    assert_eq!(rounds("hello, 256 connections"), 2);
}

#[test]
fn percentiles_come_from_merged_histograms() {
    // Four rounds of quick responses and one of slow ones: the median of all is quick, where an
    // average of the five medians would lie between, and p90 is slow.
    let comparison = compare(|trial, measured| {
        let latency = if trial.round == 5 { 9_000_000 } else { 1_000 };
        measured.load.histogram = encoded([latency; 1000]);
    });
    let figures = &row(&comparison, "hello", "bun").figures;
    assert_eq!(figures.latency_count, 5000);
    assert_eq!(figures.percentile(Percentile::P50), Some(1_000.0));
    assert!(figures.percentile(Percentile::P90).unwrap() > 8_900_000.0);
}

#[test]
fn an_unreadable_histogram_is_flagged() {
    let comparison = compare(|trial, measured| {
        if trial.round == 1 {
            measured.load.histogram = "not one".into();
        }
    });
    let row = row(&comparison, "hello", "bun");
    assert_eq!(row.figures.latency_count, 4 * 4000);
    assert!(row.flags().iter().any(|flag| flag.contains("unreadable")));
}

#[test]
fn a_percentile_needs_ten_responses_beyond_it() {
    let of_bun = only(tour(), |trial| is_of(trial, "bun", "hello"));
    for (responses_of_a_round, known) in [
        (3, [false; 4]), // 15 responses in 5 rounds.
        (4, [true, false, false, false]),
        (199, [true, true, false, false]),
        (200, [true, true, true, false]),
        (2_000, [true; 4]),
    ] {
        let records = changed(of_bun.clone(), |_, measured| {
            measured.load.histogram = encoded(1_000..1_000 + responses_of_a_round);
        });
        let comparison = summary(&records);
        let figures = &row(&comparison, "hello", "bun").figures;
        let found = Percentile::ALL.map(|percentile| figures.percentile(percentile).is_some());
        assert_eq!(found, known, "{responses_of_a_round}");
    }
}

#[test]
fn the_intervals_of_percentiles_contain_them() {
    let comparison = summary(&tour());
    for row in comparison.tables.iter().flat_map(|table| &table.rows) {
        let figures = &row.figures;
        for percentile in [Percentile::P50, Percentile::P99] {
            let value = figures.percentile(percentile).unwrap();
            let (low, high) = figures.interval(percentile).unwrap();
            assert!(low <= value && value <= high, "{low} {value} {high}");
        }
        assert_eq!(figures.interval(Percentile::P90), None);
    }
}

#[test]
fn cpu_time_is_divided_by_the_responses_of_warm_up_and_measurement() {
    let comparison = compare(|_, measured| {
        let server = measured.server.as_mut().unwrap();
        (server.cpu_user_s, server.cpu_system_s) = (0.5, 1.5);
        measured.load.outcomes[Outcome::Ok] = 150_000;
        measured.load.warmup.as_mut().unwrap().outcomes[Outcome::Ok] = 50_000;
    });
    let figures = &row(&comparison, "hello", "bun").figures;
    assert_eq!(figures.costs.cpu_ns_per_request.unwrap().median, 10_000.0);
    assert_eq!(figures.requests_per_cpu_s(), Some(100_000.0));
}

#[test]
fn memory_is_the_maximum_and_rate_the_median_of_the_rounds() {
    let comparison = compare(|trial, measured| {
        let round = trial.round as usize - 1;
        measured.load.rate_per_s = [10.0, 50.0, 30.0, 20.0, 40.0][round];
        measured.server.as_mut().unwrap().peak_memory_bytes = [7, 9, 8, 1, 2][round];
    });
    let row = row(&comparison, "hello", "bun");
    let rate = row.figures.rate;
    assert!(rate.median == 30.0 && rate.low < 30.0 && rate.high > 30.0);
    assert_eq!(row.figures.peak_memory_bytes, Some(9));
    let share = row.share_of_ceiling.unwrap();
    assert_eq!((share.ratio, share.interval), (1.0, Some((1.0, 1.0))));
}

#[test]
fn every_missing_server_is_listed() {
    let untried = only(tour(), |trial| !is_of(trial, "go-nethttp", "quote"));
    let records = failing(untried, |record| is_of(&record.trial, "bun", "quote"));
    let comparison = summary(&records);
    for table in &comparison.tables {
        for server in &records.0.servers {
            let is_listed = comparison.absences.iter().any(|absence| {
                let workload = absence.why.workload();
                absence.server.id == server.id && workload.is_none_or(|it| it == table.workload)
            });
            let is_shown = table.row(&server.id).is_some();
            assert!(is_shown != is_listed, "{} on {}", server.id, table.workload);
        }
    }
    let not_tried = Why::NotTried {
        workload: "quote".into(),
        load: sample::spec(64),
    };
    let whys = |server: &'static str| {
        let of = comparison.absences.iter();
        of.filter(move |it| it.server.id == server)
            .map(|it| &it.why)
    };
    assert!(whys("bun").any(|why| matches!(why, Why::Failed { trials: 5, .. })));
    assert!(whys("bun").any(|why| matches!(why, Why::Wrong { workload, .. } if workload == "sse")));
    assert!(whys("go-nethttp").any(|why| *why == not_tried));
}

#[test]
fn a_server_is_not_missing_from_workloads_that_it_does_not_serve() {
    let (mut run, trials) = only(tour(), |trial| !is_of(trial, "go-nethttp", "quote"));
    for server in &mut run.servers {
        match server.id.as_str() {
            "go-nethttp" => server.serves.retain(|workload| workload != "quote"),
            "zig-std" => server.serves = vec!["hello".into()],
            _ => {}
        }
    }
    let comparison = summary(&(run, trials));
    let is_listed = |server: &str, workload: &str| {
        let mut absences = comparison.absences.iter();
        absences.any(|a| a.server.id == server && a.is_from(table(&comparison, workload)))
    };
    assert!(!is_listed("go-nethttp", "quote"));
    assert!(is_listed("zig-std", "hello") && !is_listed("zig-std", "quote"));
}

#[test]
fn a_failure_counts_only_under_its_load() {
    let records = failing(sample::documents::hydragen(), |record| {
        record.trial.load.connections == 500 && record.trial.server == "go-fasthttp"
    });
    let comparison = summary(&records);
    let [absence] = comparison.absences.as_slice() else {
        panic!("{:?}", comparison.absences)
    };
    let from = comparison.missing_from(&absence.why);
    assert_eq!(from.as_deref(), Some("byte, 500 users, open loop"));
    let from = comparison.tables.iter().map(|table| absence.is_from(table));
    assert_eq!(from.collect::<Vec<_>>(), [false, true, false]);
}
