//! Rounds with noisy trials.

use prony_model::NoiseCause;

use super::*;

#[test]
fn without_noise_the_trials_are_as_planned() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    let plan = plan(&[2, 3]);
    let expected = plan.trials(u32::MAX);
    let done = go(plan, None, &mut rig);
    let trials: Vec<_> = rig.kept.iter().map(|one| one.trial.clone()).collect();
    assert_eq!(trials, expected);
    assert_eq!((rig.sure, done.rounds), (expected.len(), 3));
    assert_eq!((rig.re_run, rig.widest.len(), done.ends.len()), (0, 0, 0));
}

#[test]
fn a_noisy_trial_is_re_run_at_the_end_of_its_round_and_both_are_kept() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.foreign = &|attempt| match attempt {
        TrialAttempt {
            trial, number: 1, ..
        } if trial.round == 2 && trial.server == "go" => 0.3,
        _ => 0.0,
    };
    go(plan(&[3]), None, &mut rig);
    let kept = &rig.kept;
    let sequences: Vec<u32> = kept.iter().map(|one| one.trial.sequence).collect();
    assert_eq!(sequences, (0..10).collect::<Vec<_>>());
    assert!(kept.is_sorted_by_key(|one| one.trial.round));
    let round = round_of(kept, 2);
    assert_eq!((round.len(), round[3]), (4, ("go", 2)));
    for one in kept {
        let expected = match (one.trial.round, one.trial.server.as_str(), one.attempt) {
            (2, "go", 1) => vec![NoiseCause::OtherPrograms { share: 0.3 }],
            _ => Vec::new(),
        };
        assert_eq!(one.noisy, expected);
    }
    // It has the same arrivals.
    let mut of_go = kept
        .iter()
        .filter(|one| one.trial.server == "go" && one.trial.round == 2);
    let seed = |one: Option<&TrialRecord>| one.map(|one| one.trial.load.seed);
    assert_eq!(seed(of_go.next()), seed(of_go.next()));
}

#[test]
fn a_trial_that_stays_noisy_runs_three_times() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.foreign = &|attempt| f64::from(attempt.trial.server == "bun" && attempt.trial.round == 1);
    go(plan(&[9]), None, &mut rig);
    let of_bun = round_of(&rig.kept, 1)
        .into_iter()
        .filter(|one| one.0 == "bun");
    assert_eq!(of_bun.map(|one| one.1).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(rig.kept.len(), 29);
}

#[test]
fn a_noisy_machine_makes_a_run_at_most_a_third_longer() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.foreign = &|_| 0.5;
    go(plan(&[10]), None, &mut rig);
    assert_eq!((rig.kept.len(), rig.re_run), (30 + 2 + 10, 12));
    // The first rounds do not use up the re-runs of all.
    let last = round_of(&rig.kept, 10);
    assert!(last.len() > 3, "{last:?}");
    assert!(rig.kept.iter().all(|one| !one.noisy.is_empty()));
}

#[test]
fn an_interrupt_between_two_attempts_keeps_both_stored_trials() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.foreign = &|_| 0.5;
    rig.stopped_after = 4;
    let done = go(plan(&[10]), None, &mut rig);
    assert_eq!(round_of(&rig.kept, 1).len(), 4);
    assert_eq!(
        (rig.kept.len(), rig.kept[3].attempt, done.rounds),
        (4, 2, 1)
    );
}
