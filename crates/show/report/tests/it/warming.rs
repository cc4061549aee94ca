//! Startup and warm-up.

use crate::summary::{changed, is_of, only, row, summary, tour};
use prony_model::{Measurement, ProcessStart, Trial, WarmUp};

/// bun takes 8 s to warm up and is kept running; all others are restarted, and are warm at once.
fn warmed(trial: &Trial, measured: &mut Measurement) {
    let (is_first, is_slow) = (trial.round == 1, trial.server == "bun");
    let is_kept = is_slow && !is_first;
    let takes_s = if is_slow { 8.0 } else { 0.2 };
    measured.warm_up = Some(WarmUp {
        process: if is_kept {
            ProcessStart::Kept
        } else {
            ProcessStart::New
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

#[test]
fn startup_counts_each_process_once_next_to_the_time_to_warm() {
    let comparison = summary(&changed(tour(), warmed));
    let bun = &row(&comparison, "hello", "bun").figures;
    assert_eq!(bun.startup_ns.unwrap().n, 1);
    assert_eq!(bun.warming.time_to_warm_ns.unwrap().median, 8e9);
    assert!(bun.warming.kept && bun.warming.restarts == 0);
    let hyper = &row(&comparison, "hello", "rust-hyper").figures;
    assert!(hyper.startup_ns.unwrap().n > 1 && !hyper.warming.kept);
}

#[test]
fn a_startup_during_a_noisy_attempt_still_counts() {
    let (run, mut trials) = only(changed(tour(), warmed), |trial| {
        is_of(trial, "bun", "hello")
    });
    // The first attempt of the first round started the process; the second, which counts, found it running.
    let mut again = trials[1].clone();
    again.trial.round = trials[0].trial.round;
    again.attempt = 2;
    trials[0].noisy = vec![prony_model::NoiseCause::Steal { share: 0.5 }];
    trials.push(again);
    let comparison = summary(&(run, trials));
    let bun = &row(&comparison, "hello", "bun").figures;
    assert_eq!(bun.startup_ns.map(|startup| startup.n), Some(1));
    assert!(bun.warming.time_to_warm_ns.is_some());
}
