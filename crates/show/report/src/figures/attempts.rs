//! The attempts behind a row: how often they were noisy, and how the server was warmed up.

use std::time::Duration;

use prony_model::{CountedRounds, Measurement, NoiseCause, ProcessStart, TrialRecord};
use prony_stats::Estimate;

use super::over_rounds::over;

/// How often the trials of a row were noisy, and what its figures rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Trials that were noisy, every attempt counted.
    pub noisy: usize,
    /// Trials that were re-run after a noisy one.
    pub again: usize,
    /// Rounds in which every attempt was noisy: their figures are those of the least disturbed one.
    pub(crate) rounds_on_noisy: usize,
    /// What disturbed these rounds, without duplicates.
    pub causes: Vec<&'static str>,
    /// The longest warm-up of any attempt, if it was clearly longer than the suite's.
    pub(crate) longer_warmup: Option<Duration>,
}

impl Attempts {
    pub(super) fn of(rounds: &CountedRounds<'_>) -> Self {
        let attempts = rounds.attempts();
        let mut causes: Vec<&str> = Vec::new();
        for cause in rounds.noisy().flat_map(|record| &record.noisy).map(cause) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        Self {
            noisy: attempts
                .iter()
                .filter(|record| !record.noisy.is_empty())
                .count(),
            again: attempts.len() - rounds.len(),
            rounds_on_noisy: rounds.noisy().count(),
            causes,
            longer_warmup: attempts
                .iter()
                .filter_map(|record| longer_warmup(record))
                .max(),
        }
    }
}

/// The warm-up of a trial, if its server needed a clearly longer one than the suite's: what was learnt from a first trial
/// is never exactly the suite's.
fn longer_warmup(record: &TrialRecord) -> Option<Duration> {
    let used = *record.measurement()?.load.load.warmup;
    let configured_s = record.trial.load.warmup.as_secs_f64();
    (used.as_secs_f64() > 1.1 * configured_s).then_some(used)
}

/// A trial whose server had not finished warming up.
pub(crate) const WARMING_UP: &str = "still warming up";

/// What disturbed a trial, in a few words.
pub(super) fn cause(cause: &NoiseCause) -> &'static str {
    match cause {
        NoiseCause::Steal { .. } => "CPU steal",
        NoiseCause::OtherPrograms { .. } => "other programs",
        NoiseCause::WarmUp { .. } => WARMING_UP,
    }
}

/// How a row's server was warmed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmingFigures {
    /// How long a new process was under load until it stopped getting faster, in nanoseconds, over the processes for
    /// which a trial measured it; a process that already ran is not new.
    pub time_to_warm_ns: Option<Estimate>,
    /// The longest warm-up allowed, in seconds; `None` if no trial waited until its server was warm.
    pub limit_s: Option<f64>,
    /// Whether the server was kept running from round to round.
    pub kept: bool,
    /// How often a kept process was replaced by a new one.
    pub restarts: usize,
}

impl WarmingFigures {
    /// Evaluates every attempt, because a process belongs to a server whether its attempts count or not.
    pub(super) fn of(rounds: &CountedRounds<'_>) -> Self {
        let attempted: Vec<&Measurement> = rounds.attempted().collect();
        let warm_ups = || attempted.iter().filter_map(|one| one.warm_up);
        let with = |process| warm_ups().filter(move |one| one.process == process);
        Self {
            time_to_warm_ns: over(&attempted, |one| {
                let own = one.warm_up.filter(|it| it.process != ProcessStart::Outside);
                Some(own?.time_to_warm_s? * 1e9)
            }),
            limit_s: warm_ups()
                .filter(|one| one.searched_s > 0.0)
                .map(|one| one.limit_s)
                .reduce(f64::max),
            kept: with(ProcessStart::Kept).next().is_some(),
            restarts: with(ProcessStart::Restarted).count(),
        }
    }
}

/// From the spawn of a process to its first expected response, for processes that were started by a trial that counts. A kept
/// process may have been started by an attempt that does not count; if there is nothing else, those are used.
pub(super) fn startup(rounds: &CountedRounds<'_>) -> Option<Estimate> {
    let own = |one: &Measurement| one.startup_ns.map(|ns| ns as f64);
    over(&rounds.measurements(), own).or_else(|| over(&rounds.attempted().collect::<Vec<_>>(), own))
}
