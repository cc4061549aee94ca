//! The summary of a run.

use crate::sample;
use prony_model::{LatencyHistogram, Outcome, Run, TrialRecord, TrialResult};
use prony_report::{Percentile, ResultTable, RunSummary, ServerRow, Standing, Why};

fn table<'a>(comparison: &'a RunSummary, workload: &str) -> &'a ResultTable {
    let mut tables = comparison.tables.iter();
    tables.find(|table| table.workload == workload).unwrap()
}

fn row<'a>(table: &'a ResultTable, server: &str) -> &'a ServerRow {
    let mut rows = table.rows.iter();
    rows.find(|row| row.server.id == server).unwrap()
}

fn changed(change: impl Fn(&mut TrialRecord)) -> (Run, Vec<TrialRecord>) {
    let mut trials = sample::trials();
    trials.iter_mut().for_each(change);
    (sample::run(), trials)
}

fn compare(change: impl Fn(&mut TrialRecord)) -> RunSummary {
    let (run, trials) = changed(change);
    RunSummary::of(&run, &trials)
}

#[test]
fn tables_have_the_suites_order_however_trials_were_shuffled() {
    let mut trials = sample::trials();
    trials.reverse();
    let comparison = RunSummary::of(&sample::run(), &trials);
    let names: Vec<_> = comparison
        .tables
        .iter()
        .map(|t| t.workload.as_str())
        .collect();
    assert_eq!(names, ["hello", "page", "sse", "quote"]);
}

#[test]
fn the_same_workload_under_another_load_has_its_own_table() {
    let comparison = compare(|record| {
        if record.trial.round > 3 {
            record.trial.load.connections *= 4;
        }
    });
    let hello: Vec<_> = comparison
        .tables
        .iter()
        .filter(|t| t.workload == "hello")
        .collect();
    assert_eq!(hello.len(), 2);
    assert_eq!(
        [hello[0].load.connections, hello[1].load.connections],
        [64, 256]
    );
    assert_eq!(
        [hello[0].name(), hello[1].name()],
        ["hello, 64 connections", "hello, 256 connections"]
    );
    assert_eq!(
        hello[0].rows[0].figures.rate.n + hello[1].rows[0].figures.rate.n,
        5
    );
}

#[test]
fn percentiles_come_from_merged_histograms() {
    // Four rounds of quick responses and one of slow ones: the median of all is quick, where an
    // average of the five medians would lie between, and p90 is slow.
    let comparison = compare(|record| {
        let slow = record.trial.round == 5;
        if let TrialResult::Measured(measured) = &mut record.result {
            let mut histogram = LatencyHistogram::new();
            (0..1000).for_each(|_| histogram.record(if slow { 9_000_000 } else { 1_000 }));
            measured.load.histogram = histogram.to_base64();
        }
    });
    let figures = &row(table(&comparison, "hello"), "bun").figures;
    assert_eq!(figures.latency_count, 5000);
    assert_eq!(figures.percentile(Percentile::P50), Some(1_000.0));
    assert!(figures.percentile(Percentile::P90).unwrap() > 8_900_000.0);
}

#[test]
fn an_unreadable_histogram_is_flagged() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result
            && record.trial.round == 1
        {
            measured.load.histogram = "not one".into();
        }
    });
    let row = row(table(&comparison, "hello"), "bun");
    assert_eq!(row.figures.latency_count, 4 * 4000);
    assert!(row.flags().iter().any(|flag| flag.contains("unreadable")));
}

#[test]
fn a_percentile_needs_ten_responses_beyond_it() {
    let (run, mut trials) = changed(|_| {});
    trials.retain(|record| record.trial.server == "bun" && record.trial.workload == "hello");
    let of_rounds = |responses: u64| {
        let mut trials = trials.clone();
        for record in &mut trials {
            if let TrialResult::Measured(measured) = &mut record.result {
                let mut histogram = LatencyHistogram::new();
                (0..responses).for_each(|i| histogram.record(1_000 + i));
                measured.load.histogram = histogram.to_base64();
            }
        }
        let comparison = RunSummary::of(&run, &trials);
        let figures = row(table(&comparison, "hello"), "bun").figures.clone();
        Percentile::ALL.map(|percentile| figures.percentile(percentile).is_some())
    };
    assert_eq!(of_rounds(3), [false; 4]); // 15 responses in 5 rounds.
    assert_eq!(of_rounds(4), [true, false, false, false]);
    assert_eq!(of_rounds(199), [true, true, false, false]);
    assert_eq!(of_rounds(200), [true, true, true, false]);
    assert_eq!(of_rounds(2_000), [true; 4]);
}

#[test]
fn the_intervals_of_percentiles_contain_them() {
    let comparison = compare(|_| {});
    for figures in comparison
        .tables
        .iter()
        .flat_map(|table| &table.rows)
        .map(|row| &row.figures)
    {
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
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            (
                measured.server.as_mut().unwrap().cpu_user_s,
                measured.server.as_mut().unwrap().cpu_system_s,
            ) = (0.5, 1.5);
            measured.load.outcomes[Outcome::Ok] = 150_000;
            measured.load.warmup.as_mut().unwrap().outcomes[Outcome::Ok] = 50_000;
        }
    });
    let figures = &row(table(&comparison, "hello"), "bun").figures;
    assert_eq!(figures.costs.cpu_ns_per_request.unwrap().median, 10_000.0);
    assert_eq!(figures.requests_per_cpu_s(), Some(100_000.0));
}

#[test]
fn memory_is_the_maximum_and_rate_the_median_of_the_rounds() {
    let rates = [10.0, 50.0, 30.0, 20.0, 40.0];
    let comparison = compare(|record| {
        let round = record.trial.round as usize;
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = rates[round - 1];
            measured.server.as_mut().unwrap().peak_memory_bytes = [7, 9, 8, 1, 2][round - 1];
        }
    });
    let row = row(table(&comparison, "hello"), "bun");
    let rate = row.figures.rate;
    assert_eq!(rate.median, 30.0);
    assert!(rate.low < 30.0 && rate.high > 30.0);
    assert_eq!(row.figures.peak_memory_bytes, Some(9));
    let share = row.share_of_ceiling.unwrap();
    assert_eq!((share.ratio, share.interval), (1.0, Some((1.0, 1.0))));
}

#[test]
fn every_missing_server_is_listed() {
    let comparison = compare(|record| {
        let gone =
            (record.trial.server.as_str(), record.trial.workload.as_str()) == ("bun", "quote");
        if gone {
            record.result = TrialResult::Failed {
                kind: prony_model::FailureKind::NotReady,
                message: "no expected response within 10 s".into(),
            };
        }
    });
    for table in &comparison.tables {
        for server in &sample::run().servers {
            let shown = table.rows.iter().any(|row| row.server.id == server.id);
            let is_listed = comparison.absences.iter().any(|absence| {
                let workload = absence.why.workload();
                absence.server.id == server.id && workload.is_none_or(|w| w == table.workload)
            });
            assert!(shown != is_listed, "{} on {}", server.id, table.workload);
        }
    }
    let whys: Vec<_> = comparison
        .absences
        .iter()
        .map(|absence| &absence.why)
        .collect();
    assert!(
        whys.iter()
            .any(|why| matches!(why, Why::Failed { trials: 5, .. }))
    );
    assert!(
        whys.iter()
            .any(|why| matches!(why, Why::Wrong { workload, .. } if workload == "sse"))
    );
}

#[test]
fn a_ready_server_without_trials_of_a_workload_is_listed() {
    let mut trials = sample::trials();
    trials.retain(|r| !(r.trial.server == "go-nethttp" && r.trial.workload == "quote"));
    let comparison = RunSummary::of(&sample::run(), &trials);
    let is_listed = comparison.absences.iter().any(|absence| {
        absence.server.id == "go-nethttp"
            && absence.why
                == Why::NotTried {
                    workload: "quote".into(),
                    load: sample::spec(64),
                }
    });
    assert!(is_listed);
}

#[test]
fn a_failed_round_is_flagged_and_the_others_count() {
    let comparison = compare(|_| {});
    let row = row(table(&comparison, "page"), "go-nethttp");
    assert_eq!((row.figures.rate.n, row.figures.failed_rounds), (4, 1));
    assert!(row.flags().contains(&"1 round failed".to_owned()));
    assert!(row.band().is_some());
}

#[test]
fn a_run_without_trials_has_only_absences() {
    let comparison = RunSummary::of(&sample::run(), &[]);
    assert!(comparison.tables.is_empty());
    assert_eq!(comparison.absences.len(), 3);
}

#[test]
fn a_server_is_not_missing_from_workloads_that_it_does_not_serve() {
    let mut run = sample::run();
    let go = run
        .servers
        .iter_mut()
        .find(|s| s.id == "go-nethttp")
        .unwrap();
    go.serves.retain(|workload| workload != "quote");
    let zig = run.servers.iter_mut().find(|s| s.id == "zig-std").unwrap();
    zig.serves = vec!["hello".into()];
    let mut trials = sample::trials();
    trials.retain(|r| !(r.trial.server == "go-nethttp" && r.trial.workload == "quote"));
    let comparison = RunSummary::of(&run, &trials);
    let is_listed = |server: &str, workload: &str| {
        let mut absences = comparison.absences.iter();
        absences.any(|a| a.server.id == server && a.is_from(table(&comparison, workload)))
    };
    assert!(!is_listed("go-nethttp", "quote"));
    assert!(is_listed("zig-std", "hello") && !is_listed("zig-std", "quote"));
}

#[test]
fn a_failure_counts_only_under_its_load() {
    let (run, mut trials) = sample::documents::hydragen();
    for record in &mut trials {
        let open = record.trial.load.connections == 500;
        if open && record.trial.server == "go-fasthttp" {
            record.result = TrialResult::Failed {
                kind: prony_model::FailureKind::ServerExited,
                message: "gone".into(),
            };
        }
    }
    let comparison = RunSummary::of(&run, &trials);
    let absence = &comparison.absences[0];
    assert_eq!(comparison.absences.len(), 1);
    assert_eq!(
        comparison.missing_from(&absence.why).as_deref(),
        Some("byte, 500 users, open loop")
    );
    let from: Vec<bool> = comparison
        .tables
        .iter()
        .map(|table| absence.is_from(table))
        .collect();
    assert_eq!(from, [false, true, false]);
}

#[test]
fn an_open_loop_is_ordered_by_latency_and_ranks_no_server() {
    let (run, trials) = sample::documents::hydragen();
    let comparison = RunSummary::of(&run, &trials);
    let open = comparison
        .tables
        .iter()
        .find(|table| table.is_open())
        .unwrap();
    assert_eq!(open.name(), "byte, 500 users, open loop");
    assert!(
        open.rows
            .iter()
            .all(|row| row.band().is_none() && row.share_of_ceiling.is_none())
    );
    let latencies = open
        .rows
        .iter()
        .map(|row| row.figures.percentile(Percentile::P50));
    assert!(latencies.is_sorted());
    let go = row(open, "go-nethttp");
    assert_eq!(go.standing, Standing::Offered);
    let schedule = go.figures.open.unwrap();
    assert_eq!(schedule.queued, 7 + 8 + 9); // Of three rounds.
    let lag = schedule.lag.unwrap();
    assert!(lag.p50_ns < lag.p99_ns && !lag.of_worst_round);
    assert!(
        go.cpu_band.is_some(),
        "costs are ranked in an open loop, too"
    );
    let closed = comparison
        .tables
        .iter()
        .find(|table| !table.is_open())
        .unwrap();
    assert_eq!(row(closed, "go-nethttp").figures.open, None);
}
