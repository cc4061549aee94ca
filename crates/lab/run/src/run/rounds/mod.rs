//! Runs round after round: its trials, then the noisy ones again, and decides whether another round is needed.

mod stopping;
#[cfg(test)]
mod tests;
mod warm_ups;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use prony_model::{MeasuredBy, NoiseCause, RoundsEnd, TrialRecord, TrialResult};
use prony_store::StoreError;

use self::stopping::Stopping;
use self::warm_ups::{Configured, WarmUps};
use super::event::RunEvent;
use super::noisy::noise_causes;
use crate::adaptive::AdaptiveRounds;
use crate::plan::{Plan, Planned, TrialAttempt, Warming};
use prony_stats::LEAST_ROUNDS;

/// The most attempts at a trial.
const MOST_ATTEMPTS: u32 = 3;
/// Prony re-runs at most this many trials, and one more for every [`TRIALS_PER_RE_RUN`] planned ones, so that a noisy
/// machine does not double the run.
const FREE_RE_RUNS: usize = 2;
const TRIALS_PER_RE_RUN: usize = 3;

/// A server that is to be compared and has no figure in this many rounds of a measure ends the measure.
const ROUNDS_WITHOUT_FIGURES: u32 = 2;

/// The most trials that are re-run out of this many planned ones.
pub fn most_re_runs(planned: usize) -> usize {
    FREE_RE_RUNS + planned / TRIALS_PER_RE_RUN
}

/// Runs trials. In tests, servers and loads are made up.
pub trait TrialRunner {
    /// Runs a trial. `None` if the run was stopped.
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord>;

    /// Stores its result durably.
    fn store(&mut self, record: TrialRecord) -> Result<(), StoreError>;

    /// The time since some fixed instant.
    fn clock(&self) -> Duration;

    /// Reports an event to the observer.
    fn report(&mut self, event: RunEvent<'_>);
}

/// What decides the number of rounds.
pub struct RoundRules<'a> {
    /// How rounds are added as needed; `None` for a fixed number.
    pub adaptive: Option<AdaptiveRounds>,
    /// The server chosen to compare the others with.
    pub baseline: Option<&'a str>,
    /// The servers, in the run's order.
    pub servers: &'a [String],
    /// Servers that are compared with each other: they are kept running together or not at all, and measured only
    /// together.
    pub alike: &'a [String],
}

/// How the rounds went.
#[derive(Debug, Default, PartialEq)]
pub struct RoundsRun {
    /// How many began.
    pub rounds: u32,
    /// If rounds were added as needed, why each measure got no more of them.
    pub ends: Vec<RoundsEnd>,
}

/// Runs all rounds of a plan.
///
/// # Errors
/// If a trial cannot be stored. No further trial runs then, and `done` describes the rounds so far.
pub fn run(
    plan: Plan,
    rule: &RoundRules<'_>,
    runner: &mut dyn TrialRunner,
    done: &mut RoundsRun,
) -> Result<(), StoreError> {
    let sure = match rule.adaptive {
        Some(_) => {
            let least = plan.measures().iter().map(stopping::least_rounds);
            least.max().unwrap_or(LEAST_ROUNDS) as u32
        }
        None => u32::MAX,
    };
    runner.report(RunEvent::Planned(&plan.trials(sure)));
    let adaptive = rule.adaptive;
    let per_round = plan.trials(1).len();
    let counted_trial = adaptive.map(|adaptive| adaptive.counted_trial(per_round));
    let measures = plan.measures().to_vec();
    let stopping =
        adaptive.map(|adaptive| Stopping::new(adaptive, rule.baseline, rule.servers, &measures));
    let mut rounds = RoundRunner {
        plan,
        stopping,
        counted_trial,
        warm_ups: WarmUps::new(rule.alike),
        alike: rule.alike,
        measured: BTreeSet::new(),
        attempts: 0,
        planned: 0,
        re_run: 0,
    };
    let ended = rounds.run(runner, done);
    if let Some(stopping) = &mut rounds.stopping {
        // Measures that still go on were stopped: by the user, or because a trial could not be stored.
        stopping.interrupted();
        done.ends = stopping.ends();
    }
    ended
}

struct RoundRunner<'a> {
    plan: Plan,
    stopping: Option<Stopping<'a>>,
    /// How long a trial may take that counts instructions.
    counted_trial: Option<Duration>,
    warm_ups: WarmUps,
    alike: &'a [String],
    /// The servers that have a figure, each with the index of its measure.
    measured: BTreeSet<(String, usize)>,
    /// How many attempts ran.
    attempts: u32,
    /// How many trials have been planned so far.
    planned: usize,
    /// How many attempts were re-runs.
    re_run: usize,
}

/// An attempt to run in a round.
struct Queued {
    planned: Planned,
    number: u32,
}

impl RoundRunner<'_> {
    fn run(
        &mut self,
        runner: &mut dyn TrialRunner,
        done: &mut RoundsRun,
    ) -> Result<(), StoreError> {
        loop {
            let hopeless = self.hopeless(done.rounds);
            if let Some(stopping) = &mut self.stopping {
                stopping.give_up(&hopeless);
            }
            let stopping = self.stopping.as_ref();
            let round = self.plan.next_round(|measure| {
                !hopeless.contains(&measure)
                    && stopping.is_none_or(|stopping| stopping.goes_on(measure))
            });
            if round.is_empty() {
                return Ok(());
            }
            done.rounds += 1;
            if !self.round(round, runner)? {
                return Ok(());
            }
            if let Some(stopping) = &mut self.stopping {
                let widest = stopping.round_over();
                runner.report(RunEvent::RoundOver {
                    widest,
                    time_left: stopping.time_left(),
                });
            }
        }
    }

    /// The measures without a comparison after these rounds, because a server has no figures.
    fn hopeless(&self, rounds: u32) -> Vec<usize> {
        if rounds < ROUNDS_WITHOUT_FIGURES {
            return Vec::new();
        }
        let lacks_figures = |measure: &usize| {
            let mut servers = self.alike.iter();
            servers.any(|server| !self.measured.contains(&(server.clone(), *measure)))
        };
        let measures = 0..self.plan.measures().len();
        measures.filter(lacks_figures).collect()
    }

    /// Runs a round; false if it was stopped.
    fn round(
        &mut self,
        round: Vec<Planned>,
        runner: &mut dyn TrialRunner,
    ) -> Result<bool, StoreError> {
        self.planned += round.len();
        runner.report(RunEvent::Round(&round));
        let first = |planned| Queued { planned, number: 1 };
        let mut queue: VecDeque<Queued> = round.into_iter().map(first).collect();
        while let Some(queued) = queue.pop_front() {
            let attempt = self.attempt(&queued);
            runner.report(RunEvent::Trial(&attempt));
            let begun = runner.clock();
            let Some(mut record) = runner.measure(&attempt) else {
                return Ok(false);
            };
            self.attempts += 1;
            record.attempt = attempt.number;
            record.noisy = match &mut record.result {
                TrialResult::Measured(measurement) => {
                    let server = &attempt.trial.server;
                    self.measured.insert((server.clone(), attempt.measure));
                    self.warm_ups.learn(server, attempt.measure, measurement);
                    self.confirmed(&attempt, noise_causes(measurement))
                }
                TrialResult::Failed { .. } => Vec::new(),
            };
            if let Some(stopping) = &mut self.stopping {
                let took = runner.clock().saturating_sub(begun);
                stopping.take(queued.planned.measure, &record, took);
            }
            let again = self.is_re_run(&attempt, &record);
            runner.report(RunEvent::TrialOver {
                record: &record,
                again,
            });
            runner.store(record)?;
            if again {
                self.re_run += 1;
                // At the end of the round the disturbance may be over.
                queue.push_back(Queued {
                    number: queued.number + 1,
                    ..queued
                });
            }
        }
        Ok(true)
    }

    fn attempt(&self, queued: &Queued) -> TrialAttempt {
        let Planned { trial, measure } = &queued.planned;
        let limit_s = self.plan.measures()[*measure].warmup_limit_s;
        let configured = Configured {
            warmup_s: trial.load.warmup_s,
            limit_s,
        };
        let (warming, warmup_s) = match trial.load.by {
            MeasuredBy::Time => self.warm_ups.of(&trial.server, *measure, configured),
            MeasuredBy::Instructions => (Warming::Fixed, trial.load.warmup_s),
        };
        let counts = trial.load.by == MeasuredBy::Instructions;
        let allowed = self.counted_trial.filter(|_| counts);
        let mut trial = trial.clone();
        trial.sequence = self.attempts;
        TrialAttempt {
            number: queued.number,
            measure: *measure,
            warming,
            warmup_limit_s: limit_s,
            warmup_s,
            allowed,
            trial,
        }
    }

    /// What disturbed a trial. A rising rate counts only if it is the server's own warm-up.
    fn confirmed(
        &mut self,
        attempt: &TrialAttempt,
        mut causes: Vec<NoiseCause>,
    ) -> Vec<NoiseCause> {
        // If the machine was disturbed too, the rate may have risen because the disturbance ended.
        if !causes.iter().any(NoiseCause::is_from_outside) {
            let rose = !causes.is_empty();
            let server = &attempt.trial.server;
            if !self.warm_ups.count_rise(server, attempt.measure, rose) {
                causes.clear();
            }
        }
        causes
    }

    /// Whether to re-run a trial: something from outside disturbed it, or its warm-up was too short and can be longer.
    fn is_re_run(&mut self, attempt: &TrialAttempt, record: &TrialRecord) -> bool {
        let measurement = match record.measurement() {
            Some(measurement) if !record.noisy.is_empty() => measurement,
            _ => return false,
        };
        let is_worth_it = record.noisy.iter().any(NoiseCause::is_from_outside)
            || self.warm_ups.lengthen(
                &attempt.trial.server,
                attempt.measure,
                attempt.warmup_s,
                measurement.load.duration_s,
            );
        is_worth_it && attempt.number < MOST_ATTEMPTS && self.re_run < most_re_runs(self.planned)
    }
}
