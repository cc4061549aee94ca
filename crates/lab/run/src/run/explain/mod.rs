//! Explains what a request costs each server: loads of their own, which are never ranked.
//!
//! Every round loads each server twice: once while only counters run that cost the server nothing, and once while
//! system calls are traced. After the last round each server is profiled once, in a process of its own, because runtimes
//! give the names of their functions only if they were started so.

mod cost;
mod instruments;
mod plan;
mod segments;
mod units;

use std::iter;
use std::time::Duration;

use prony_insight::profile::NAMING_ENVIRONMENT;
use prony_model::{
    CostFigure, CostRound, CostUnit, Explanation, LoadSpec, MeasuredBy, Measurement, ProcessStart,
    Seconds, ServerRecord, Trial, TrialResult, Unavailable,
};
use prony_server::{Wrapper, WrapperVariable};

use self::cost::plain_cost;
use self::instruments::{Counters, Profiling, Tracing, unavailable};
pub use self::plan::{ExplainPlan, ProfilePlan};
use self::segments::segments;
use self::units::units;
use super::event::RunEvent;
use super::instrument::Instrument;
use super::server_pool::Running;
use super::session::Session;
use super::trial;
use crate::plan::{Measure, TrialAttempt, Warming};

/// Starts a server so that its runtime names its functions.
fn names_functions() -> Wrapper {
    let variables = NAMING_ENVIRONMENT.iter().map(|one| WrapperVariable {
        name: one.name.to_owned(),
        value: one.value.to_owned(),
        separator: one.separator,
    });
    Wrapper {
        env: variables.collect(),
        ..Wrapper::default()
    }
}

/// One server under one load, and what is known of it so far.
struct Explained<'a> {
    session: &'a Session<'a>,
    plan: &'a ExplainPlan,
    measure: &'a Measure,
    /// The index of the measure.
    index: usize,
    explanation: Explanation,
    /// How many CPUs it kept busy in each round.
    busy_cpus: Vec<f64>,
    /// Its process, kept from round to round so that it stays warm.
    running: Option<Running>,
    has_failed: bool,
}

/// Explains each server with each measure that it takes part in. After an interrupt, what is known so far remains.
pub(super) fn explain<'a>(
    plan: &'a ExplainPlan,
    servers: &[ServerRecord],
    session: &'a Session<'_>,
) -> Vec<Explanation> {
    let mut explained = Vec::new();
    for (index, measure) in session.request.measures.iter().enumerate() {
        let servers = servers.iter();
        let verified = servers.filter(|server| server.is_verified(&measure.workload));
        explained.extend(verified.map(|server| Explained {
            session,
            plan,
            measure,
            index,
            explanation: empty(server.id.clone(), measure, plan, session),
            busy_cpus: Vec::new(),
            running: None,
            has_failed: false,
        }));
    }
    let each = plan.rounds as usize + usize::from(plan.profile.is_some());
    let steps = explained.len() * each;
    let mut done = 0..;
    for round in 1..=plan.rounds {
        for (one, done) in explained.iter_mut().zip(&mut done) {
            let step = format!("round {round} of {}", plan.rounds);
            one.report(&step, done, steps);
            one.round(round);
        }
    }
    for one in &mut explained {
        one.stop();
    }
    if let Some(profile) = &plan.profile {
        for (one, done) in explained.iter_mut().zip(done) {
            one.report("profile", done, steps);
            one.profile(profile);
        }
    }
    let is_known = |one: &Explained<'_>| !one.explanation.rounds.is_empty() || one.has_failed;
    explained.retain(is_known);
    explained.into_iter().map(|one| one.explanation).collect()
}

fn empty(
    server: String,
    measure: &Measure,
    plan: &ExplainPlan,
    session: &Session<'_>,
) -> Explanation {
    let task = session.task(&measure.workload);
    let is_stream = task.is_some_and(|task| task.workload.is_stream());
    Explanation {
        server,
        workload: measure.workload.clone(),
        load: load_for(measure, plan.duration),
        unit: if is_stream {
            CostUnit::Event
        } else {
            CostUnit::Request
        },
        rounds: Vec::new(),
        on_cpu: None,
        off_cpu: None,
        unavailable: Vec::new(),
    }
}

/// The load of a measure, for this long. Where instructions are counted, the server is explained without the emulator.
fn load_for(measure: &Measure, duration: Duration) -> LoadSpec {
    let mut load = measure.load.clone();
    if load.by == MeasuredBy::Instructions {
        load.by = MeasuredBy::Time;
        load.requests = None;
        load.duration = Some(Seconds(duration));
    }
    if load.duration.is_some() {
        load.duration = Some(Seconds(duration));
    }
    load
}

impl Explained<'_> {
    fn report(&self, step: &str, done: usize, steps: usize) {
        if self.has_failed || self.session.is_interrupted() {
            return;
        }
        self.session.report(RunEvent::Explaining {
            server: &self.explanation.server,
            workload: &self.explanation.workload,
            step,
            done,
            steps,
        });
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }

    /// One round: the load with counters alone, then the traced one.
    fn round(&mut self, round: u32) {
        let duration = self.plan.duration;
        let mut counted = Counters::default();
        let Some(plain) = self.load(round, duration, None, &mut counted) else {
            return;
        };
        let mut cost = CostRound::default();
        let busy_cpus = plain.server_cpu_s().map(|cpu_s| cpu_s / plain.loaded_s());
        self.busy_cpus.extend(busy_cpus);
        let unit = self.explanation.unit;
        cost.figures.extend(plain_cost(&plain, &counted, unit));
        self.miss(counted.unavailable());
        self.add_segments(&mut cost);
        let mut tracing = Tracing::new(&self.session.testbed().cpus.load);
        if let Some(traced) = self.load(round, duration, None, &mut tracing) {
            tracing.add_to(&mut cost, &traced, unit);
            self.miss(tracing.into_unavailable());
        }
        self.explanation.rounds.push(cost);
    }

    /// Bytes and segments of a response, from requests in sequence over a connection of their own.
    fn add_segments(&mut self, cost: &mut CostRound) {
        let Some(running) = &mut self.running else {
            return;
        };
        let Some(task) = self.session.task(&self.explanation.workload) else {
            return;
        };
        match segments(task, &mut running.server, self.explanation.unit) {
            Ok(figures) => cost.figures.extend(figures),
            Err(why) => self.miss([unavailable("bytes and segments", task.hide_in_error(&why))]),
        }
    }

    fn profile(&mut self, plan: &ProfilePlan) {
        let busy_cpus = prony_stats::median(&self.busy_cpus);
        let duration = busy_cpus.map_or(plan.duration, |busy| plan.duration_for(busy));
        let wrapper = names_functions();
        let mut profiling = Profiling::new(plan, &self.session.testbed().cpus.load);
        let round = self.explanation.rounds.len() as u32 + 1;
        let profiled = self.load(round, duration, Some(&wrapper), &mut profiling);
        self.stop();
        let (profiles, unavailable) = profiling.into_result();
        self.miss(unavailable);
        let (Some(measurement), Some(mut profiles)) = (profiled, profiles) else {
            return;
        };
        let unit = self.explanation.unit;
        let cost = self.cost_beside(&measurement, unit);
        for profile in iter::once(&mut profiles.on_cpu).chain(&mut profiles.off_cpu) {
            profile.units = units(&measurement, unit).unwrap_or(0.0);
            profile.cost = cost;
        }
        self.explanation.on_cpu = Some(profiles.on_cpu);
        self.explanation.off_cpu = profiles.off_cpu;
    }

    /// How much more CPU time a request took than in the rounds, as a share.
    fn cost_beside(&self, measurement: &Measurement, unit: CostUnit) -> Option<f64> {
        let rounds = self.explanation.rounds.iter();
        let plain: Vec<f64> = rounds
            .filter_map(|it| it.figures.get(&CostFigure::Cpu).copied())
            .collect();
        let plain = prony_stats::median(&plain)?;
        let cost = measurement.server.as_ref()?.cpu_s() / units(measurement, unit)?;
        Some(cost / plain - 1.0)
    }

    /// Loads the server. `None`, with the reason kept, if that failed, now or earlier.
    fn load(
        &mut self,
        round: u32,
        duration: Duration,
        wrapper: Option<&Wrapper>,
        instrument: &mut dyn Instrument,
    ) -> Option<Measurement> {
        let session = self.session;
        if self.has_failed || session.has_ended() {
            return None;
        }
        let attempt = self.attempt(round, load_for(self.measure, duration));
        let kept = self.running.take();
        let process = match &kept {
            Some(_) => ProcessStart::Kept,
            None => ProcessStart::New,
        };
        let trial = trial::Trial::explaining(session, &attempt, process, wrapper)?;
        let (record, running) = trial.run(kept, instrument)?;
        self.running = running;
        match record.result {
            TrialResult::Measured(measurement) => Some(measurement),
            TrialResult::Failed { message, .. } => {
                self.has_failed = true;
                self.miss([unavailable("the load", message)]);
                None
            }
        }
    }

    fn attempt(&self, round: u32, load: LoadSpec) -> TrialAttempt {
        TrialAttempt {
            number: 1,
            measure: self.index,
            // Every process is warmed up once, until it is steady, and kept.
            warming: if self.measure.warmup_limit.is_zero() {
                Warming::Fixed
            } else {
                Warming::Keep
            },
            warmup_limit: self.measure.warmup_limit,
            warmup: load.warmup,
            allowed: None,
            trial: Trial {
                sequence: round,
                server: self.explanation.server.clone(),
                workload: self.measure.workload.clone(),
                load,
                round,
            },
        }
    }

    /// Notes what could not be measured, each only once.
    fn miss(&mut self, unavailable: impl IntoIterator<Item = Unavailable>) {
        for one in unavailable {
            if !self.explanation.unavailable.contains(&one) {
                self.explanation.unavailable.push(one);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_lasts_until_it_has_enough_samples() {
        let (one, two) = (ProfilePlan::for_servers(1), ProfilePlan::for_servers(2));
        for (plan, busy_cpus, seconds) in [
            (one, 0.01, 3.0),
            (two, 1.0, 5000.0 / 997.0),
            (two, 8.0, 3.0),
            (two, 0.25, 20000.0 / 997.0),
            (two, 0.001, 30.0),
            (two, 0.0, 30.0),
        ] {
            let duration = plan.duration_for(busy_cpus).as_secs_f64();
            assert!((duration - seconds).abs() < 1e-6, "{busy_cpus}: {duration}");
        }
    }
}
