//! Rounds that are added as needed.

use prony_model::{EnoughRounds, Trial};

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
    let mut runner = made_up(steady);
    let done = go(plan(&[200]), adaptive(3600, 200), &mut runner);
    assert_eq!(runner.sure, LEAST_ROUNDS * 3);
    let [end] = &done.ends[..] else {
        panic!("{done:?}");
    };
    assert_eq!((end.reason, &*end.workload), (EnoughRounds::Precise, "w0"));
    let is_early = (LEAST_ROUNDS..30).contains(&(end.rounds as usize));
    assert!(is_early, "{end:?}");
    assert!(end.widest.unwrap() <= 0.03, "{end:?}");
    assert_eq!(runner.stored.len(), 3 * end.rounds as usize);
    assert_eq!(done.rounds, end.rounds);
}

#[test]
fn imprecise_measures_get_more_rounds_with_all_their_servers() {
    let mut wild = wild();
    let mut runner = made_up(|attempt: &TrialAttempt| match &*attempt.trial.workload {
        "w0" => steady(attempt),
        _ => wild(attempt),
    });
    let done = go(plan(&[40, 40]), adaptive(3600, 40), &mut runner);
    let [precise, imprecise] = &done.ends[..] else {
        panic!("{done:?}");
    };
    assert_eq!(precise.reason, EnoughRounds::Precise);
    let all = (EnoughRounds::MostRounds, 40);
    assert_eq!((imprecise.reason, imprecise.rounds), all);
    assert!(imprecise.widest.unwrap() > 0.03);
    assert_eq!(runner.widest.len(), 40);
    assert_eq!(runner.widest[39], None, "nothing goes on");
    assert_eq!(runner.widest[38].is_some(), imprecise.widest.is_some());
    for round in 1..=40 {
        let expected = if round <= precise.rounds { 6 } else { 3 };
        assert_eq!(runner.round(round).len(), expected);
    }
}

/// Servers that never get precise: an interval of two rounds is wide even if they are steady.
#[test]
fn imprecise_measures_end_for_another_reason() {
    use EnoughRounds::{Budget, Interrupted, MostRounds};
    let quiet: &dyn Fn(&TrialAttempt) -> f64 = &|_| 0.0;
    // One trial of each round is re-run.
    let noisy: &dyn Fn(&TrialAttempt) -> f64 =
        &|attempt| f64::from(attempt.trial.server == "go" && attempt.number == 1);
    for (name, (budget_s, most), foreign, stopped_after, reason, complete, begun, trials) in [
        ("a round fits", (62, 200), quiet, 999, Budget, 20, 20, 60),
        ("re-runs count", (62, 200), noisy, 999, Budget, 15, 15, 60),
        ("two rounds at least", (1, 200), quiet, 999, Budget, 2, 2, 6),
        ("too few rounds", (3600, 2), quiet, 999, MostRounds, 2, 2, 6),
        (
            "an interrupt",
            (3600, 200),
            quiet,
            25,
            Interrupted,
            8,
            9,
            25,
        ),
    ] {
        let mut wild = wild();
        let mut runner = made_up(|attempt: &TrialAttempt| match most {
            2 => steady(attempt),
            _ => wild(attempt),
        });
        (runner.foreign, runner.stopped_after) = (foreign, stopped_after);
        let done = go(plan(&[most]), adaptive(budget_s, most), &mut runner);
        let end = &done.ends[0];
        assert_eq!((end.reason, end.rounds), (reason, complete), "{name}");
        assert_eq!(
            (done.rounds, runner.stored.len()),
            (begun, trials),
            "{name}"
        );
        assert_eq!(runner.clock_s, trials as u64, "{name}");
        assert!(end.widest.unwrap() > 0.03, "{name}");
    }
}

#[test]
fn a_single_server_needs_the_least_rounds() {
    let alone = |server: &str, _: &Measure| server == "go";
    let plan = Plan::interleaved(&servers(), &measures(&[200]), alone, 7);
    let done = go(plan, adaptive(3600, 200), &mut made_up(wild()));
    let end = &done.ends[0];
    assert_eq!((end.rounds as usize, end.widest), (LEAST_ROUNDS, None));
}

#[test]
fn a_measure_without_servers_has_no_reason_to_end() {
    let of_the_second = |_: &str, measure: &Measure| measure.workload == "w1";
    let plan = Plan::interleaved(&servers(), &measures(&[9, 9]), of_the_second, 7);
    let done = go(plan, adaptive(3600, 9), &mut made_up(steady));
    let workloads: Vec<&str> = done.ends.iter().map(|end| &*end.workload).collect();
    assert_eq!(workloads, ["w1"]);
}

/// A verdict on them would be inconclusive.
#[test]
fn rounds_that_are_noisy_in_every_attempt_do_not_make_a_measure_precise() {
    let busy_at_first = |attempt: &TrialAttempt| f64::from(attempt.trial.round <= 10);
    let mut runner = made_up(steady);
    runner.foreign = &busy_at_first;
    let done = go(plan(&[200]), adaptive(3600, 200), &mut runner);
    let end = &done.ends[0];
    assert_eq!((end.reason, end.rounds), (EnoughRounds::Precise, 16));
}

/// A server without figures ends the measures of those that it is compared with, and no others.
#[test]
fn a_comparison_that_has_no_figures_ends_early() {
    let all = [adaptive(3600, 5), None];
    for adaptive in all {
        for (is_compared, failing_rounds, expected) in [
            (true, 5, [2, 5]),
            (true, 2, [2, 5]),
            // The second round shows that it can be measured.
            (true, 1, [5, 5]),
            (false, 5, [5, 5]),
        ] {
            let fails = |attempt: &TrialAttempt| {
                let Trial {
                    server,
                    workload,
                    round,
                    ..
                } = &attempt.trial;
                server == "go" && workload == "w0" && *round <= failing_rounds
            };
            let mut runner = made_up(steady);
            runner.fails = &fails;
            if is_compared {
                runner.alike = vec!["bun".into(), "go".into()];
            }
            let done = go(plan(&[5, 5]), adaptive, &mut runner);
            let rounds = |workload: &str| {
                let trials = runner.stored.iter().map(|one| &one.trial);
                let of_it = trials.filter(|one| one.workload == workload);
                of_it.map(|one| one.round).max().unwrap()
            };
            assert_eq!(["w0", "w1"].map(rounds), expected, "{failing_rounds}");
            if expected == [2, 5] && adaptive.is_some() {
                assert_eq!(done.ends[0].reason, EnoughRounds::Interrupted);
            }
        }
    }
}
