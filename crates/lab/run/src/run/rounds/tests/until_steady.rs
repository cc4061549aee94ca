//! Servers that are warmed up until they are steady.

use std::collections::BTreeMap;

use prony_model::{Outcome, ProcessStart, WarmUp};

use super::*;
use crate::plan::Warming::{self, Fixed, Keep, UntilSteady};
use crate::run::testing::VirtualServer;

/// How long a new process of each server takes to be warm, in seconds.
fn takes_s(server: &str) -> f64 {
    match server {
        "ceiling" => 0.0,
        "go" => 0.7,
        _ => 6.0,
    }
}

/// Trials with made-up processes, which have this rate and CPU time per response. A kept process stays as warm as it was.
fn processes<'a>(gives: impl Fn(&TrialAttempt) -> (f64, f64) + 'a) -> FakeRunner<'a> {
    let mut running = Vec::new();
    trials(move |attempt| {
        let key = (attempt.trial.server.clone(), attempt.measure);
        let runs = attempt.warming == Keep && running.contains(&key);
        let searches = attempt.warming != Fixed && !runs;
        if searches {
            running.push(key);
        }
        let warm_up = WarmUp {
            process: if runs {
                ProcessStart::Kept
            } else {
                ProcessStart::New
            },
            loaded_s: 10.0,
            searched_s: if searches { 10.0 } else { 0.0 },
            limit_s: attempt.warmup_limit.as_secs_f64(),
            time_to_warm_s: searches.then(|| takes_s(&attempt.trial.server)),
            still_improving: false,
        };
        (gives(attempt), warm_up)
    })
}

/// Trials of 1000 responses, each with this rate, CPU time per response and warm-up.
fn trials<'a>(
    mut measured: impl FnMut(&TrialAttempt) -> ((f64, f64), WarmUp) + 'a,
) -> FakeRunner<'a> {
    let mut runner = made_up(|_| 0.0);
    runner.more = Box::new(move |attempt, measurement| {
        let ((rate, cost), warm_up) = measured(attempt);
        measurement.load.rate_per_s = rate;
        measurement.load.outcomes[Outcome::Ok] = 1000;
        measurement.server.as_mut().unwrap().cpu_user_s = 1000.0 * cost;
        measurement.warm_up = Some(warm_up);
    });
    runner
}

impl FakeRunner<'_> {
    /// Runs the rounds of one measure.
    fn go(&mut self, rounds: u32, limit_s: f64) {
        let mut measures = measures(&[rounds]);
        measures[0].warmup_limit = Duration::from_secs_f64(limit_s);
        let plan = Plan::interleaved(&servers(), &measures, |_, _| true, 7);
        go(plan, None, self);
    }

    /// The process and warm-up of each attempt of a server.
    fn warmings(&self, server: &str) -> Vec<(Warming, f64)> {
        let attempts = self.attempts.iter();
        let of_it = attempts.filter(|one| one.trial.server == server);
        of_it
            .map(|one| (one.warming, one.warmup.as_secs_f64()))
            .collect()
    }

    fn warm_ups(&self, server: &str) -> Vec<WarmUp> {
        let of_it = self.stored.iter().filter(|one| one.trial.server == server);
        of_it.filter_map(|one| one.measurement()?.warm_up).collect()
    }

    /// Whether each trial of a server still improved.
    fn improving(&self, server: &str) -> Vec<bool> {
        let warm_ups = self.warm_ups(server).into_iter();
        warm_ups.map(|one| one.still_improving).collect()
    }
}

#[test]
fn the_first_trial_searches_and_later_ones_use_its_result() {
    let mut runner = processes(|_| (1000.0, 0.001));
    runner.go(3, 20.0);
    for (server, later) in [
        // The load's own warm-up is longer than it needs.
        ("ceiling", (Fixed, 0.5)),
        ("go", (Fixed, 0.7)),
        ("bun", (Keep, 0.5)),
    ] {
        assert_eq!(runner.warmings(server), [(UntilSteady, 0.5), later, later]);
    }
    assert_eq!(runner.begun, [3, 3, 3]);
}

#[test]
fn without_a_limit_there_is_no_search() {
    let mut runner = processes(|_| (1000.0, 0.001));
    runner.go(2, 0.0);
    assert!(runner.attempts.iter().all(|one| one.warming == Fixed));
}

#[test]
fn compared_servers_are_kept_together_or_not_at_all() {
    let mut runner = processes(|_| (1000.0, 0.001));
    runner.alike = ["go", "bun"].map(str::to_owned).into();
    runner.go(3, 20.0);
    for (server, later) in [("go", Keep), ("bun", Keep), ("ceiling", Fixed)] {
        let warmings = &runner.warmings(server)[1..];
        assert!(warmings.iter().all(|one| one.0 == later), "{server}");
    }
}

#[test]
fn a_server_called_warm_too_soon_is_recognised_by_its_rounds() {
    let gives = |attempt: &TrialAttempt| {
        let faster = 1.0 + 0.1 * f64::from(attempt.trial.round);
        (1000.0 * faster, 0.001 / faster)
    };
    let mut runner = processes(gives);
    runner.go(8, 20.0);
    let improving = |server| {
        runner
            .improving(server)
            .into_iter()
            .filter(|&it| it)
            .count()
    };
    assert_eq!(improving("bun"), 4, "from the fifth round on");
    // A restarted process: only the machine can make its rounds differ.
    assert_eq!(improving("go"), 0);
}

/// Servers that warm up in virtual time at these rates: those that are kept go on where their last trial ended.
fn in_virtual_time<'a>(rates: [(&'a str, &'a dyn Fn(f64) -> f64); 3]) -> FakeRunner<'a> {
    let mut all = BTreeMap::new();
    trials(move |attempt| {
        let id = &attempt.trial.server;
        let rate = rates.iter().find(|(one, _)| one == id).unwrap().1;
        let kept = all.remove(id).filter(|_| attempt.warming == Keep);
        let process = match kept {
            Some(_) => ProcessStart::Kept,
            None => ProcessStart::New,
        };
        let searches = kept.is_none() && attempt.warming != Fixed;
        let server: VirtualServer<'a> = kept.unwrap_or_else(|| VirtualServer::new(rate));
        let limit = attempt.warmup_limit;
        let searched = searches.then(|| server.search(limit, &false.into()).unwrap());
        // The load's own warm-up, and a second of measuring.
        server.load((attempt.warmup.as_secs_f64() * 10.0).round() as u64);
        let loaded_s = server.age_s();
        let figures = server.load(10);
        let warm_up = WarmUp {
            process,
            loaded_s,
            searched_s: searched.as_ref().map_or(0.0, |one| one.searched_s),
            limit_s: attempt.warmup_limit.as_secs_f64(),
            time_to_warm_s: searched.as_ref().and_then(|one| one.time_to_warm_s),
            still_improving: searched.is_some_and(|one| one.still_improving),
        };
        all.insert(id.clone(), server);
        (figures, warm_up)
    })
}

#[test]
fn searches_in_virtual_time_decide_what_is_kept_and_until_when_it_warms_up() {
    // Warm from the start; faster for 3 s; faster for 30 s, which is longer than the limit of 20 s.
    let warm = |_: f64| 1000.0;
    let quick = |age_s: f64| 500.0 + 500.0 * (age_s / 3.0).min(1.0);
    let slow = |age_s: f64| 10_000.0 * 1.2_f64.powf(age_s.min(30.0));
    let mut runner = in_virtual_time([("ceiling", &warm), ("go", &quick), ("bun", &slow)]);
    runner.go(12, 20.0);
    // A new process each time, with the load's own warm-up.
    let ceiling = runner.warm_ups("ceiling");
    assert!(ceiling.iter().all(|one| one.process == ProcessStart::New));
    assert_eq!(ceiling[1].loaded_s, 0.5);
    // It was warm after more than a second, so it is kept, and has been warm since.
    let go = runner.warm_ups("go");
    assert!(go[1..].iter().all(|one| one.process == ProcessStart::Kept));
    assert!(go.iter().all(|one| !one.still_improving), "{go:?}");
    // Each trial loads it for another second and a half.
    assert_eq!(go[2].loaded_s - go[1].loaded_s, 1.5);
    // It reached the limit, and was watched until two rounds were level, at an age of 30 s.
    let bun = runner.warm_ups("bun");
    assert_eq!((bun[0].searched_s, bun[0].time_to_warm_s), (20.0, None));
    let expected = [[true; 7].as_slice(), &[false; 5]].concat();
    assert_eq!(runner.improving("bun"), expected);
    assert_eq!(bun[7].time_to_warm_s, Some(31.0));
    let mut later = bun[8..].iter();
    assert!(later.all(|one| one.time_to_warm_s.is_none()));
}
