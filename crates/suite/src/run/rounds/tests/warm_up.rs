//! Warm-ups that are too short.

use super::*;

#[test]
fn a_warm_up_that_was_too_short_is_longer_from_then_on_for_that_subject() {
    let mut rate = |_: &Attempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.is_cold = &|attempt| attempt.trial.subject == "bun" && attempt.warmup_s < 1.5;
    go(plan(&[4]), None, &mut rig);
    for (record, &used_s) in rig.kept.iter().zip(&rig.warm_ups) {
        let TrialResult::Measured(measurement) = &record.result else {
            panic!("all were measured");
        };
        assert_eq!(measurement.load.load.warmup_s, used_s);
        assert_eq!(record.trial.load.warmup_s, 0.5, "tables group by it");
    }
    let of = |subject: &str| -> Vec<f64> {
        let all = rig.kept.iter().zip(&rig.warm_ups);
        let of_subject = all.filter(|(one, _)| one.trial.subject == subject);
        of_subject.map(|(_, &used_s)| used_s).collect()
    };
    // Once may be chance, and the second trial is made again.
    assert_eq!(of("bun"), [0.5, 0.5, 2.0, 2.0, 2.0]);
    assert_eq!(of("go"), [0.5; 4]);
}

#[test]
fn what_is_cold_for_ever_is_made_again_only_while_its_warm_up_grows() {
    let mut rate = |_: &Attempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.is_cold = &|attempt| attempt.trial.subject == "bun";
    go(plan(&[12]), None, &mut rig);
    let longest = rig.warm_ups.iter().copied().fold(0.0, f64::max);
    // Each length is tried twice; then it is longer, and the trial is made again: 0.5, 2, 8, 10.
    assert_eq!((longest, rig.made_again), (10.0, 3));
    let spoilt = rig.kept.iter().filter(|one| !one.spoilt.is_empty());
    assert!(spoilt.clone().all(|one| one.trial.subject == "bun"));
    // All of its trials but the first of each length.
    assert_eq!(spoilt.count(), 12 + 3 - 4);
}

#[test]
fn a_rise_under_a_neighbour_does_not_lengthen_the_warm_up() {
    let mut rate = |_: &Attempt| 100.0;
    let mut rig = made_up(&mut rate);
    rig.is_cold = &|attempt| attempt.number == 1;
    rig.neighbour = &|attempt| f64::from(attempt.number == 1);
    go(plan(&[2]), None, &mut rig);
    assert!(rig.warm_ups.iter().all(|&used_s| used_s == 0.5));
    assert_eq!(rig.made_again, ALWAYS_AGAIN + 6 / PLANNED_FOR_ONE_AGAIN);
}
