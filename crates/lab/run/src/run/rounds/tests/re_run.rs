//! Rounds with noisy trials.

use prony_model::{NoiseCause, Trial};

use super::*;

fn is_second_of_go(trial: &Trial) -> bool {
    trial.round == 2 && trial.server == "go"
}

#[test]
fn without_noise_the_trials_are_as_planned() {
    let mut runner = made_up(|_| 100.0);
    let plan = plan(&[2, 3]);
    let expected = plan.trials(u32::MAX);
    let done = go(plan, None, &mut runner);
    let trials: Vec<_> = runner.stored.iter().map(|one| one.trial.clone()).collect();
    assert_eq!(trials, expected);
    assert_eq!((runner.sure, done.rounds), (expected.len(), 3));
    assert_eq!(
        (runner.re_run, runner.widest.len(), done.ends.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_noisy_trial_is_re_run_at_the_end_of_its_round_and_both_are_kept() {
    let mut runner = made_up(|_| 100.0);
    runner.foreign = &|attempt| {
        if is_second_of_go(&attempt.trial) && attempt.number == 1 {
            0.3
        } else {
            0.0
        }
    };
    go(plan(&[3]), None, &mut runner);
    let sequences: Vec<u32> = runner.stored.iter().map(|one| one.trial.sequence).collect();
    assert_eq!(sequences, (0..10).collect::<Vec<_>>());
    assert!(runner.stored.is_sorted_by_key(|one| one.trial.round));
    let round = runner.round(2);
    assert_eq!((round.len(), round[3]), (4, ("go", 2)));
    let mut seeds = Vec::new();
    for one in &runner.stored {
        let is_of_go = is_second_of_go(&one.trial);
        seeds.extend(is_of_go.then_some(one.trial.load.seed));
        let expected = if is_of_go && one.attempt == 1 {
            vec![NoiseCause::OtherPrograms { share: 0.3 }]
        } else {
            Vec::new()
        };
        assert_eq!(one.noisy, expected);
    }
    assert_eq!(seeds, [seeds[0]; 2], "the same arrivals");
}

#[test]
fn a_trial_that_stays_noisy_runs_three_times() {
    let mut runner = made_up(|_| 100.0);
    runner.foreign =
        &|attempt| f64::from(attempt.trial.server == "bun" && attempt.trial.round == 1);
    go(plan(&[9]), None, &mut runner);
    let of_bun = runner.round(1).into_iter().filter(|one| one.0 == "bun");
    assert_eq!(of_bun.map(|one| one.1).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(runner.stored.len(), 29);
}

#[test]
fn a_noisy_machine_makes_a_run_at_most_a_third_longer() {
    let mut runner = made_up(|_| 100.0);
    runner.foreign = &|_| 0.5;
    go(plan(&[10]), None, &mut runner);
    assert_eq!((runner.stored.len(), runner.re_run), (30 + 2 + 10, 12));
    // The first rounds do not use up the re-runs of all.
    assert!(runner.round(10).len() > 3, "{:?}", runner.round(10));
    assert!(runner.stored.iter().all(|one| !one.noisy.is_empty()));
}

#[test]
fn an_interrupt_between_two_attempts_keeps_both_stored_trials() {
    let mut runner = made_up(|_| 100.0);
    runner.foreign = &|_| 0.5;
    runner.stopped_after = 4;
    let done = go(plan(&[10]), None, &mut runner);
    assert_eq!((runner.stored.len(), runner.round(1).len()), (4, 4));
    assert_eq!((runner.stored[3].attempt, done.rounds), (2, 1));
}
