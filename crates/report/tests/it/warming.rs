//! Startup and warm-up.

use crate::sample;
use prony_model::{ProcessStart, TrialRecord, TrialResult, WarmUp};
use prony_report::{RunSummary, ServerRow};

/// bun takes 8 s to warm up and is kept running; all others are restarted, and are warm at once.
fn warmed(record: &mut TrialRecord) {
    let TrialResult::Measured(measured) = &mut record.result else {
        return;
    };
    let is_first = record.trial.round == 1;
    let is_slow = record.trial.server == "bun";
    let is_kept = is_slow && !is_first;
    let takes_s = if is_slow { 8.0 } else { 0.2 };
    measured.warm_up = Some(WarmUp {
        process: match is_kept {
            true => ProcessStart::Kept,
            false => ProcessStart::New,
        },
        loaded_s: 10.0,
        searched_s: if is_first { 10.0 } else { 0.0 },
        limit_s: 20.0,
        time_to_warm_s: is_first.then_some(takes_s),
        still_improving: false,
    });
    if is_kept {
        measured.startup_ns = None;
    }
}

fn comparison(change: impl Fn(&mut TrialRecord)) -> RunSummary {
    let mut trials = sample::trials();
    trials.retain(|record| record.trial.workload == "hello");
    trials.iter_mut().for_each(change);
    RunSummary::of(&sample::run(), &trials)
}

fn row<'a>(comparison: &'a RunSummary, server: &str) -> &'a ServerRow {
    let mut rows = comparison.tables.iter().flat_map(|table| &table.rows);
    rows.find(|row| row.server.id == server).unwrap()
}

#[test]
fn startup_counts_each_process_once_next_to_the_time_to_warm() {
    let comparison = comparison(warmed);
    let bun = &row(&comparison, "bun").figures;
    assert_eq!(bun.startup_ns.unwrap().n, 1);
    assert_eq!(bun.warming.time_to_warm_ns.unwrap().median, 8e9);
    assert!(bun.warming.kept && bun.warming.restarts == 0);
    let hyper = &row(&comparison, "rust-hyper").figures;
    assert!(hyper.startup_ns.unwrap().n > 1 && !hyper.warming.kept);
}

#[test]
fn a_startup_during_a_noisy_attempt_still_counts() {
    let mut trials = sample::trials();
    trials.retain(|record| record.trial.workload == "hello" && record.trial.server == "bun");
    trials.iter_mut().for_each(warmed);
    // The first attempt of the first round started the process; the second, which counts, found it running.
    let mut again = trials[1].clone();
    again.trial.round = trials[0].trial.round;
    again.attempt = 2;
    trials[0].noisy = vec![prony_model::NoiseCause::Steal { share: 0.5 }];
    trials.push(again);
    let comparison = RunSummary::of(&sample::run(), &trials);
    let bun = &row(&comparison, "bun").figures;
    assert_eq!(bun.startup_ns.map(|startup| startup.n), Some(1));
    assert!(bun.warming.time_to_warm_ns.is_some());
}
