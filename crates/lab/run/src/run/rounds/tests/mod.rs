//! Rounds of made-up trials, with made-up rates, noise and durations.

mod adaptive;
mod re_run;
mod until_steady;
mod warm_up;

use prony_model::sample::plain_trial;
use prony_model::{CpuNoise, FailureKind, LoadSpec, Measurement, Timeline};

use super::*;
use crate::plan::Measure;
use crate::run::testing;

type More<'a> = dyn FnMut(&TrialAttempt, &mut Measurement) + 'a;

/// Trials of a second each.
struct FakeRunner<'a> {
    rate: Box<dyn FnMut(&TrialAttempt) -> f64 + 'a>,
    /// The share of the server's CPUs that another program uses.
    foreign: &'a dyn Fn(&TrialAttempt) -> f64,
    /// Whether the rate still rises when measuring begins.
    is_cold: &'a dyn Fn(&TrialAttempt) -> bool,
    /// Whether an attempt has no figures.
    fails: &'a dyn Fn(&TrialAttempt) -> bool,
    /// What else an attempt measures.
    more: Box<More<'a>>,
    /// Servers that are compared with each other.
    alike: Vec<String>,
    /// After how many attempts the run is stopped.
    stopped_after: usize,
    clock_s: u64,
    stored: Vec<TrialRecord>,
    attempts: Vec<TrialAttempt>,
    /// How many trials each round began with.
    begun: Vec<usize>,
    /// What was reported: the number of planned trials, and the widest interval after each round.
    sure: usize,
    widest: Vec<Option<f64>>,
    re_run: usize,
}

fn made_up<'a>(rate: impl FnMut(&TrialAttempt) -> f64 + 'a) -> FakeRunner<'a> {
    FakeRunner {
        rate: Box::new(rate),
        foreign: &|_| 0.0,
        is_cold: &|_| false,
        fails: &|_| false,
        more: Box::new(|_, _| ()),
        alike: Vec::new(),
        stopped_after: usize::MAX,
        clock_s: 0,
        stored: Vec::new(),
        attempts: Vec::new(),
        begun: Vec::new(),
        sure: 0,
        widest: Vec::new(),
        re_run: 0,
    }
}

impl TrialRunner for FakeRunner<'_> {
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord> {
        if self.stored.len() == self.stopped_after {
            return None;
        }
        self.clock_s += 1;
        self.attempts.push(attempt.clone());
        let mut measurement = testing::measurement((self.rate)(attempt));
        measurement.load.load = attempt.load();
        measurement.noise.server_cpus = Some(CpuNoise {
            steal_share: 0.0,
            foreign_share: (self.foreign)(attempt),
        });
        measurement.load.timeline = Some(course((self.is_cold)(attempt)));
        (self.more)(attempt, &mut measurement);
        let failed = TrialResult::Failed {
            kind: FailureKind::NotReady,
            message: "it did not start".into(),
        };
        let has_failed = (self.fails)(attempt);
        let result = if has_failed {
            failed
        } else {
            TrialResult::Measured(measurement)
        };
        Some(plain_trial(attempt.trial.clone(), result))
    }

    fn store(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        self.stored.push(record);
        Ok(())
    }

    fn clock(&self) -> Duration {
        Duration::from_secs(self.clock_s)
    }

    fn report(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Planned(trials) => self.sure = trials.len(),
            RunEvent::Round(trials) => self.begun.push(trials.len()),
            RunEvent::RoundOver { widest, .. } => self.widest.push(widest),
            RunEvent::TrialOver { again, .. } => self.re_run += usize::from(again),
            _ => {}
        }
    }
}

impl FakeRunner<'_> {
    /// The stored trials of a round: server and attempt, in order.
    fn round(&self, round: u32) -> Vec<(&str, u32)> {
        let of_it = self.stored.iter().filter(|one| one.trial.round == round);
        of_it
            .map(|one| (one.trial.server.as_str(), one.attempt))
            .collect()
    }
}

/// The course of a load: level, or with a rate that doubles.
fn course(rises: bool) -> Timeline {
    let level = |i: u64| if rises && i < 20 { 50 } else { 100 };
    Timeline {
        interval_s: 0.01,
        measured_from_s: 0.0,
        ok: (0..80).map(|i| level(i) + i % 3).collect(),
        latency_mean_ns: vec![0.0; 80],
        ..Timeline::default()
    }
}

const SERVERS: [&str; 3] = ["ceiling", "bun", "go"];

fn servers() -> Vec<String> {
    SERVERS.map(str::to_owned).into()
}

fn measures(rounds: &[u32]) -> Vec<Measure> {
    let measure = |(i, &rounds): (usize, &u32)| Measure {
        workload: format!("w{i}"),
        load: LoadSpec {
            warmup_s: 0.5,
            ..LoadSpec::default()
        },
        rounds,
        warmup_limit_s: 0.0,
    };
    rounds.iter().enumerate().map(measure).collect()
}

fn plan(rounds: &[u32]) -> Plan {
    Plan::interleaved(&servers(), &measures(rounds), |_, _| true, 7)
}

/// Runs the rounds and returns how they went.
fn go(plan: Plan, adaptive: Option<AdaptiveRounds>, runner: &mut FakeRunner<'_>) -> RoundsRun {
    let alike = std::mem::take(&mut runner.alike);
    let rule = RoundRules {
        adaptive,
        baseline: None,
        servers: &servers(),
        alike: &alike,
    };
    let mut done = RoundsRun::default();
    run(plan, &rule, runner, &mut done).unwrap();
    done
}
