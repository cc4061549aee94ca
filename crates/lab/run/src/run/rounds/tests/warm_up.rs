//! Warm-ups that are too short.

use super::*;
use prony_model::Seconds;

fn longest(runner: &FakeRunner<'_>) -> f64 {
    let lengths = runner
        .attempts
        .iter()
        .map(|attempt| attempt.warmup.as_secs_f64());
    lengths.fold(0.0, f64::max)
}

#[test]
fn a_warm_up_that_was_too_short_becomes_longer_for_that_server() {
    let mut runner = made_up(|_| 100.0);
    runner.is_cold = &|attempt| attempt.trial.server == "bun" && attempt.warmup.as_secs_f64() < 1.5;
    go(plan(&[4]), None, &mut runner);
    let of = |server: &str| -> Vec<f64> {
        let of_it = runner
            .stored
            .iter()
            .filter(|one| one.trial.server == server);
        of_it
            .map(|one| one.measurement().unwrap().load.load.warmup.as_secs_f64())
            .collect()
    };
    // One rise may be chance; at the second, the trial is re-run.
    assert_eq!(of("bun"), [0.5, 0.5, 2.0, 2.0, 2.0]);
    assert_eq!(of("go"), [0.5; 4]);
    // Tables group by it.
    assert!(
        runner
            .stored
            .iter()
            .all(|one| one.trial.load.warmup == Seconds::from_millis(500))
    );
}

#[test]
fn a_server_that_stays_cold_is_re_run_only_while_its_warm_up_grows() {
    let mut runner = made_up(|_| 100.0);
    runner.is_cold = &|attempt| attempt.trial.server == "bun";
    go(plan(&[12]), None, &mut runner);
    // Each length is tried twice; then it grows, and the trial is re-run: 0.5, 2, 8, 10.
    assert_eq!((longest(&runner), runner.re_run), (10.0, 3));
    let noisy = runner.stored.iter().filter(|one| !one.noisy.is_empty());
    assert!(noisy.clone().all(|one| one.trial.server == "bun"));
    // All its trials but the first of each length.
    assert_eq!(noisy.count(), 12 + 3 - 4);
}

#[test]
fn a_rise_under_another_program_does_not_lengthen_the_warm_up() {
    let mut runner = made_up(|_| 100.0);
    runner.is_cold = &|attempt| attempt.number == 1;
    runner.foreign = &|attempt| f64::from(attempt.number == 1);
    go(plan(&[2]), None, &mut runner);
    assert_eq!(longest(&runner), 0.5);
    assert_eq!(runner.re_run, FREE_RE_RUNS + 6 / TRIALS_PER_RE_RUN);
}
