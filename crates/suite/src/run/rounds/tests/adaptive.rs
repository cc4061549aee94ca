//! Rounds that are added as needed.

use prony_model::EnoughRounds;

use super::*;

fn adaptive(budget_s: u64, most_rounds: u32) -> Option<AdaptiveRounds> {
    Some(AdaptiveRounds {
        precision: "3%".parse().unwrap(),
        budget: Duration::from_secs(budget_s),
        most_rounds,
    })
}

/// A rate per server, 0.5 % to either side from round to round.
fn steady(attempt: &TrialAttempt) -> f64 {
    let level = 100.0 + attempt.trial.server.len() as f64;
    let side = (attempt.trial.round + attempt.trial.server.len() as u32) % 2;
    level * if side == 0 { 0.995 } else { 1.005 }
}

/// A rate that varies by half, so that no number of rounds here makes it precise.
fn wild() -> impl FnMut(&TrialAttempt) -> f64 {
    let mut random = fastrand::Rng::with_seed(3);
    move |_| 50.0 + 50.0 * random.f64()
}

#[test]
fn precise_measures_get_no_more_rounds() {
    let mut rate = steady;
    let mut rig = made_up(&mut rate);
    let done = go(plan(&[200]), adaptive(3600, 200), &mut rig);
    assert_eq!(rig.sure, LEAST_ROUNDS * 3);
    let [end] = &done.ends[..] else {
        panic!("{done:?}");
    };
    assert_eq!(
        (end.reason, end.workload.as_str()),
        (EnoughRounds::Precise, "w0")
    );
    assert!(
        end.rounds as usize >= LEAST_ROUNDS && end.rounds < 30,
        "{end:?}"
    );
    assert!(end.widest.unwrap() <= 0.03, "{end:?}");
    assert_eq!(rig.kept.len(), 3 * end.rounds as usize);
    assert_eq!(done.rounds, end.rounds);
}

#[test]
fn imprecise_measures_get_more_rounds_with_all_their_servers() {
    let mut wild = wild();
    let mut rate = |attempt: &TrialAttempt| match attempt.trial.workload.as_str() {
        "w0" => steady(attempt),
        _ => wild(attempt),
    };
    let mut rig = made_up(&mut rate);
    let done = go(plan(&[40, 40]), adaptive(3600, 40), &mut rig);
    let [precise, imprecise] = &done.ends[..] else {
        panic!("{done:?}");
    };
    assert_eq!(precise.reason, EnoughRounds::Precise);
    assert_eq!(
        (imprecise.reason, imprecise.rounds),
        (EnoughRounds::MostRounds, 40)
    );
    assert!(imprecise.widest.unwrap() > 0.03);
    assert_eq!(rig.widest.len(), 40);
    assert_eq!(rig.widest[39], None, "nothing goes on");
    assert_eq!(rig.widest[38].is_some(), imprecise.widest.is_some());
    for round in 1..=40 {
        let count = round_of(&rig.kept, round).len();
        assert_eq!(count, if round <= precise.rounds { 6 } else { 3 });
    }
}

#[test]
fn a_round_that_is_not_expected_to_fit_does_not_begin() {
    let mut wild = wild();
    let mut rig = made_up(&mut wild);
    // A round takes 3 s: 20 of them fit.
    let done = go(plan(&[200]), adaptive(62, 200), &mut rig);
    assert_eq!(
        (done.ends[0].reason, done.ends[0].rounds),
        (EnoughRounds::Budget, 20)
    );
    assert!(done.ends[0].widest.unwrap() > 0.03);
    assert_eq!((rig.clock_s, done.rounds), (60, 20));
}

#[test]
fn re_runs_count_against_the_budget() {
    let mut wild = wild();
    let mut rig = made_up(&mut wild);
    rig.foreign = &|attempt| f64::from(attempt.trial.server == "go" && attempt.number == 1);
    // A round takes 4 s.
    let done = go(plan(&[200]), adaptive(62, 200), &mut rig);
    assert_eq!(
        (done.ends[0].reason, done.ends[0].rounds),
        (EnoughRounds::Budget, 15)
    );
}

#[test]
fn two_rounds_run_whatever_the_budget() {
    let mut wild = wild();
    let mut rig = made_up(&mut wild);
    let done = go(plan(&[200]), adaptive(1, 200), &mut rig);
    let end = &done.ends[0];
    assert_eq!((end.reason, end.rounds), (EnoughRounds::Budget, 2));
    assert!(end.widest.is_some());
}

#[test]
fn fewer_than_the_least_rounds_are_never_precise() {
    let mut rate = steady;
    let mut rig = made_up(&mut rate);
    let done = go(plan(&[2]), adaptive(3600, 2), &mut rig);
    assert_eq!(
        (done.ends[0].reason, done.ends[0].rounds),
        (EnoughRounds::MostRounds, 2)
    );
    assert_eq!(rig.kept.len(), 6);
}

#[test]
fn interrupted_measures_keep_their_complete_rounds() {
    let mut wild = wild();
    let mut rig = made_up(&mut wild);
    rig.stopped_after = 3 * 8 + 1;
    let done = go(plan(&[200]), adaptive(3600, 200), &mut rig);
    assert_eq!(
        (done.ends[0].reason, done.ends[0].rounds),
        (EnoughRounds::Interrupted, 8)
    );
    assert_eq!((rig.kept.len(), done.rounds), (25, 9));
}

#[test]
fn a_single_server_needs_the_least_rounds() {
    let mut wild = wild();
    let mut rig = made_up(&mut wild);
    let alone = |server: &str, _: &Measure| server == "go";
    let plan = Plan::interleaved(&servers(), &measures(&[200]), alone, 7);
    let done = go(plan, adaptive(3600, 200), &mut rig);
    let end = &done.ends[0];
    assert_eq!((end.rounds as usize, end.widest), (LEAST_ROUNDS, None));
}

#[test]
fn a_measure_without_servers_has_no_reason_to_end() {
    let mut rate = steady;
    let mut rig = made_up(&mut rate);
    let of_the_second = |_: &str, measure: &Measure| measure.workload == "w1";
    let plan = Plan::interleaved(&servers(), &measures(&[9, 9]), of_the_second, 7);
    let done = go(plan, adaptive(3600, 9), &mut rig);
    let workloads: Vec<&str> = done.ends.iter().map(|end| end.workload.as_str()).collect();
    assert_eq!(workloads, ["w1"]);
}
