//! Warm-ups that are too short.

use super::*;

#[test]
fn a_warm_up_that_was_too_short_becomes_longer_for_that_server() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.is_cold = &|attempt| attempt.trial.server == "bun" && attempt.warmup_s < 1.5;
    go(plan(&[4]), None, &mut rig);
    for (record, &used_s) in rig.kept.iter().zip(&rig.warm_ups) {
        let TrialResult::Measured(measurement) = &record.result else {
            panic!("all were measured");
        };
        assert_eq!(measurement.load.load.warmup_s, used_s);
        assert_eq!(record.trial.load.warmup_s, 0.5, "tables group by it");
    }
    let of = |server: &str| -> Vec<f64> {
        let all = rig.kept.iter().zip(&rig.warm_ups);
        let of_server = all.filter(|(one, _)| one.trial.server == server);
        of_server.map(|(_, &used_s)| used_s).collect()
    };
    // One rise may be chance; at the second, the trial is re-run.
    assert_eq!(of("bun"), [0.5, 0.5, 2.0, 2.0, 2.0]);
    assert_eq!(of("go"), [0.5; 4]);
}

#[test]
fn a_server_that_stays_cold_is_re_run_only_while_its_warm_up_grows() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.is_cold = &|attempt| attempt.trial.server == "bun";
    go(plan(&[12]), None, &mut rig);
    let longest = rig.warm_ups.iter().copied().fold(0.0, f64::max);
    // Each length is tried twice; then it grows, and the trial is re-run: 0.5, 2, 8, 10.
    assert_eq!((longest, rig.re_run), (10.0, 3));
    let noisy = rig.kept.iter().filter(|one| !one.noisy.is_empty());
    assert!(noisy.clone().all(|one| one.trial.server == "bun"));
    // All its trials but the first of each length.
    assert_eq!(noisy.count(), 12 + 3 - 4);
}

#[test]
fn a_rise_under_another_program_does_not_lengthen_the_warm_up() {
    let mut rate = |_: &TrialAttempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.is_cold = &|attempt| attempt.number == 1;
    rig.foreign = &|attempt| f64::from(attempt.number == 1);
    go(plan(&[2]), None, &mut rig);
    assert!(rig.warm_ups.iter().all(|&used_s| used_s == 0.5));
    assert_eq!(rig.re_run, FREE_RE_RUNS + 6 / TRIALS_PER_RE_RUN);
}
