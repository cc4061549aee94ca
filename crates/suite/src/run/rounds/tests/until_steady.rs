//! Servers that are warmed up until they are steady.

use std::collections::BTreeMap;

use prony_model::{Outcome, ProcessStart, WarmUp};

use super::*;
use crate::plan::Warming;

/// How long a new process of each server takes to be warm, in seconds; `None` for longer than the limit.
fn takes_s(server: &str) -> Option<f64> {
    match server {
        "ceiling" => Some(0.0),
        "go" => Some(0.7),
        _ => Some(6.0),
    }
}

/// Trials with made-up processes. A kept one stays as warm as it was.
struct Processes<'a> {
    takes_s: &'a dyn Fn(&str) -> Option<f64>,
    /// The rate and the CPU time per response of an attempt.
    gives: &'a dyn Fn(&TrialAttempt) -> (f64, f64),
    kept: Vec<TrialRecord>,
    attempts: Vec<TrialAttempt>,
    running: Vec<(String, usize)>,
    needed: Vec<usize>,
}

fn processes<'a>() -> Processes<'a> {
    Processes {
        takes_s: &takes_s,
        gives: &|_| (1000.0, 0.001),
        kept: Vec::new(),
        attempts: Vec::new(),
        running: Vec::new(),
        needed: Vec::new(),
    }
}

/// A trial of 1000 responses with this rate and CPU time per response.
fn measured(attempt: &TrialAttempt, (rate, cost): (f64, f64), warm_up: WarmUp) -> TrialRecord {
    let mut measurement = testing::measurement(rate);
    measurement.load.load = attempt.load();
    measurement.load.outcomes[Outcome::Ok] = 1000;
    measurement.server.as_mut().unwrap().cpu_user_s = 1000.0 * cost;
    measurement.warm_up = Some(warm_up);
    TrialRecord {
        trial: attempt.trial.clone(),
        result: TrialResult::Measured(measurement),
        ..testing::record("", 1, 0.0)
    }
}

/// Runs the rounds of one measure.
fn go_with(rig: &mut dyn Rig, rounds: u32, limit_s: f64, alike: &[String]) {
    let mut measures = measures(&[rounds]);
    measures[0].warmup_limit_s = limit_s;
    let servers = servers();
    let rule = Rule {
        adaptive: None,
        baseline: None,
        servers: &servers,
        alike,
    };
    let plan = Plan::interleaved(&servers, &measures, |_, _| true, 7);
    run(plan, &rule, rig, &mut Done::default()).unwrap();
}

impl Rig for Processes<'_> {
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord> {
        let key = (attempt.trial.server.clone(), attempt.measure);
        let runs = attempt.warming == Warming::Keep && self.running.contains(&key);
        let found_s = (self.takes_s)(&attempt.trial.server);
        let searches = attempt.warming != Warming::Fixed && !runs;
        let (rate, cost) = (self.gives)(attempt);
        let warm_up = WarmUp {
            process: match runs {
                true => ProcessStart::Kept,
                false => ProcessStart::New,
            },
            loaded_s: 10.0,
            searched_s: if searches { 10.0 } else { 0.0 },
            limit_s: attempt.warmup_limit_s,
            time_to_warm_s: found_s.filter(|_| searches),
            still_improving: searches && found_s.is_none(),
        };
        if searches {
            self.running.push(key);
        }
        self.attempts.push(attempt.clone());
        Some(measured(attempt, (rate, cost), warm_up))
    }

    fn begin_round(&mut self, trials: &[Planned]) {
        self.needed.push(trials.len());
    }

    fn keep(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        self.kept.push(record);
        Ok(())
    }

    fn clock(&self) -> Duration {
        Duration::ZERO
    }

    fn report(&mut self, _: RunEvent<'_>) {}
}

impl Processes<'_> {
    fn go(&mut self, rounds: u32, limit_s: f64, alike: &[String]) {
        go_with(self, rounds, limit_s, alike);
    }

    /// The process and warm-up of each attempt of a server.
    fn warmings(&self, server: &str) -> Vec<(Warming, f64)> {
        let attempts = self.attempts.iter();
        let of_it = attempts.filter(|one| one.trial.server == server);
        of_it.map(|one| (one.warming, one.warmup_s)).collect()
    }

    fn warm_ups(&self, server: &str) -> Vec<WarmUp> {
        let of_it = self.kept.iter().filter(|one| one.trial.server == server);
        let measured = of_it.filter_map(|one| match &one.result {
            TrialResult::Measured(measurement) => measurement.warm_up,
            TrialResult::Failed { .. } => None,
        });
        measured.collect()
    }
}

#[test]
fn the_first_trial_searches_and_later_ones_use_its_result() {
    let mut rig = processes();
    rig.go(3, 20.0, &[]);
    use Warming::{Fixed, Keep, UntilSteady};
    // The load's own warm-up is longer than it needs.
    assert_eq!(
        rig.warmings("ceiling"),
        [(UntilSteady, 0.5), (Fixed, 0.5), (Fixed, 0.5)]
    );
    assert_eq!(
        rig.warmings("go"),
        [(UntilSteady, 0.5), (Fixed, 0.7), (Fixed, 0.7)]
    );
    assert_eq!(
        rig.warmings("bun"),
        [(UntilSteady, 0.5), (Keep, 0.5), (Keep, 0.5)]
    );
    assert_eq!(rig.needed, [3, 3, 3]);
}

#[test]
fn without_a_limit_there_is_no_search() {
    let mut rig = processes();
    rig.go(2, 0.0, &[]);
    assert!(rig.attempts.iter().all(|one| one.warming == Warming::Fixed));
}

#[test]
fn compared_servers_are_kept_together_or_not_at_all() {
    let alike = ["go".to_owned(), "bun".to_owned()];
    let mut rig = processes();
    rig.go(3, 20.0, &alike);
    for server in ["go", "bun"] {
        let later = &rig.warmings(server)[1..];
        assert!(later.iter().all(|one| one.0 == Warming::Keep), "{server}");
    }
    assert_eq!(rig.warmings("ceiling")[1].0, Warming::Fixed);
}

#[test]
fn a_server_that_reached_the_limit_is_watched_until_its_rounds_are_level() {
    let mut rig = processes();
    rig.takes_s = &|_| None;
    // It gets faster by a fifth each round, up to the fourth.
    rig.gives = &|attempt| {
        let faster = 1.2_f64.powi(attempt.trial.round.min(4) as i32);
        (1000.0 * faster, 0.001 / faster)
    };
    rig.go(6, 20.0, &[]);
    for server in SERVERS {
        let warm_ups = rig.warm_ups(server);
        let improving: Vec<bool> = warm_ups.iter().map(|one| one.still_improving).collect();
        assert_eq!(
            improving,
            [true, true, true, true, false, false],
            "{server}"
        );
        let found: Vec<bool> = warm_ups
            .iter()
            .map(|one| one.time_to_warm_s.is_some())
            .collect();
        assert_eq!(found, [false, false, false, false, true, false], "{server}");
    }
}

#[test]
fn a_server_called_warm_too_soon_is_recognised_by_its_rounds() {
    let mut rig = processes();
    rig.gives = &|attempt| {
        let faster = 1.0 + 0.1 * f64::from(attempt.trial.round);
        (1000.0 * faster, 0.001 / faster)
    };
    rig.go(8, 20.0, &[]);
    let improving = rig
        .warm_ups("bun")
        .iter()
        .filter(|one| one.still_improving)
        .count();
    assert_eq!(improving, 4, "from the fifth round on");
    // A restarted process: only the machine can make its rounds differ.
    assert!(rig.warm_ups("go").iter().all(|one| !one.still_improving));
}

/// Servers that warm up in virtual time: those that are kept go on where their last trial ended.
struct VirtualRig<'a> {
    rates: [(&'a str, &'a dyn Fn(f64) -> f64); 3],
    kept: BTreeMap<String, testing::VirtualServer<'a>>,
    warm_ups: Vec<(String, WarmUp)>,
}

impl Rig for VirtualRig<'_> {
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord> {
        let id = &attempt.trial.server;
        let rate = self.rates.iter().find(|(one, _)| one == id).unwrap().1;
        let kept = self.kept.remove(id);
        let kept = kept.filter(|_| attempt.warming == Warming::Keep);
        let process = if kept.is_some() {
            ProcessStart::Kept
        } else {
            ProcessStart::New
        };
        let searches = kept.is_none() && attempt.warming != Warming::Fixed;
        let server = kept.unwrap_or_else(|| testing::VirtualServer::new(rate));
        let limit = Duration::from_secs_f64(attempt.warmup_limit_s);
        let searched = searches.then(|| server.search(limit, &false.into()).unwrap());
        // The load's own warm-up, and a second of measuring.
        server.load((attempt.warmup_s * 10.0).round() as u64);
        let loaded_s = server.age_s();
        let figures = server.load(10);
        let warm_up = WarmUp {
            process,
            loaded_s,
            searched_s: searched.as_ref().map_or(0.0, |one| one.searched_s),
            limit_s: attempt.warmup_limit_s,
            time_to_warm_s: searched.as_ref().and_then(|one| one.time_to_warm_s),
            still_improving: searched.is_some_and(|one| one.still_improving),
        };
        self.kept.insert(id.clone(), server);
        Some(measured(attempt, figures, warm_up))
    }

    fn keep(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        let warm_up = record.measurement().unwrap().warm_up.unwrap();
        self.warm_ups.push((record.trial.server, warm_up));
        Ok(())
    }

    fn clock(&self) -> Duration {
        Duration::ZERO
    }

    fn report(&mut self, _: RunEvent<'_>) {}
}

#[test]
fn searches_in_virtual_time_decide_what_is_kept_and_until_when_it_warms_up() {
    // Warm from the start; faster for 3 s; faster for 30 s, which is longer than the limit of 20 s.
    let warm = |_: f64| 1000.0;
    let quick = |age_s: f64| 500.0 + 500.0 * (age_s / 3.0).min(1.0);
    let slow = |age_s: f64| 10_000.0 * 1.2_f64.powf(age_s.min(30.0));
    let mut rig = VirtualRig {
        rates: [("ceiling", &warm), ("go", &quick), ("bun", &slow)],
        kept: BTreeMap::new(),
        warm_ups: Vec::new(),
    };
    go_with(&mut rig, 12, 20.0, &[]);
    let of = |server: &str| -> Vec<WarmUp> {
        let of_it = rig.warm_ups.iter().filter(|(one, _)| one == server);
        of_it.map(|(_, warm_up)| *warm_up).collect()
    };
    // A new process each time, with the load's own warm-up.
    let ceiling = of("ceiling");
    assert!(ceiling.iter().all(|one| one.process == ProcessStart::New));
    assert_eq!(ceiling[1].loaded_s, 0.5);
    // It was warm after more than a second, so it is kept, and has been warm since.
    let go = of("go");
    assert!(go[1..].iter().all(|one| one.process == ProcessStart::Kept));
    assert!(go.iter().all(|one| !one.still_improving), "{go:?}");
    // Each trial loads it for another second and a half.
    assert_eq!(go[2].loaded_s - go[1].loaded_s, 1.5);
    // It reached the limit, and was watched until two rounds were level, at an age of 30 s.
    let bun = of("bun");
    assert_eq!((bun[0].searched_s, bun[0].time_to_warm_s), (20.0, None));
    let improving: Vec<bool> = bun.iter().map(|one| one.still_improving).collect();
    let since = improving.iter().position(|improves| !improves).unwrap();
    assert_eq!(
        improving,
        [vec![true; since], vec![false; 12 - since]].concat()
    );
    assert_eq!((since, bun[since].time_to_warm_s), (7, Some(31.0)));
}
