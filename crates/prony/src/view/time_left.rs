//! How long a run will still take.
//!
//! The first trial of a server in a measure takes longer than later ones, because Prony finds out how long the server
//! takes to warm up. So a trial's time is taken apart: the search, the start, the warm-up of the load, and the rest, which
//! every trial like it has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use prony_live::screen::CellId;
use prony_model::{
    LoadShape, LoadSpec, MeasuredBy, NoiseCause, ProcessStart, Schedule, TrialRecord, WarmUp,
};
use prony_run::run::{ExplainPlan, most_re_runs};
use prony_run::{Measure, TrialAttempt};
use prony_stats::LEAST_WARM_UP_S;

/// How long a trial takes besides its load, to start, to be ready and to stop, until that is known.
const BESIDE_THE_LOAD: Duration = Duration::from_millis(500);
/// How long a load of unknown length takes.
const UNKNOWN: Duration = Duration::from_secs(2);
/// From this many trials on, the share that was re-run tells how many more will be.
const ENOUGH_TRIALS: u32 = 4;

/// The remaining trials of a run, and how long the finished ones took. Measures are the columns of cells.
#[derive(Default)]
pub(super) struct TimeLeft {
    measures: Vec<Measure>,
    trials: Vec<CellId>,
    known: BTreeMap<CellId, Known>,
    /// The first trials of the measure's servers, which are those with a search.
    first_of_measure: HashMap<usize, Mean>,
    /// First attempts that are over, and re-runs because of something outside of the server.
    first_attempts: u32,
    disturbed: u32,
    /// All re-runs, and those among the remaining trials.
    re_runs: u32,
    re_runs_left: u32,
    planned: u32,
    /// How long a trial that counts instructions may take, until one shows how long it does.
    pub(crate) counted_trial: Option<Duration>,
}

/// What the trials of a server in a measure showed.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Without search, start and warm-up.
    rest: Mean,
    /// How long the server takes to start; not part of a trial if its process is kept.
    start: Mean,
    /// How long it is warmed up in each trial; only if no process can be kept, which then is warmed up each time.
    search: Mean,
    /// The warm-up of the next trial's load.
    warm_up: Duration,
    is_kept: bool,
}

impl Known {
    fn next(&self) -> Duration {
        let own = self.rest.get() + self.search.get() + self.warm_up;
        if self.is_kept {
            own
        } else {
            own + self.start.get()
        }
    }

    fn take(&mut self, attempt: &TrialAttempt, record: &TrialRecord, took: Duration) {
        let Some(measurement) = record.measurement() else {
            // The next one probably fails in the same way.
            let parts = self.next().saturating_sub(self.rest.get());
            self.rest.add(took.saturating_sub(parts));
            return;
        };
        let warm_up = measurement.warm_up;
        let searched = seconds(warm_up.map_or(0.0, |it| it.searched_s));
        let started = measurement.startup_ns.map(Duration::from_nanos);
        let own = if measurement.load.load.warmup.is_zero() {
            Duration::ZERO
        } else {
            *attempt.warmup
        };
        let beside = searched + own + started.unwrap_or_default();
        self.rest.add(took.saturating_sub(beside));
        if let Some(started) = started {
            self.start.add(started);
        }
        if warm_up.is_some_and(|it| it.process == ProcessStart::Restarted) {
            self.search.add(searched);
        }
        self.is_kept |= warm_up.as_ref().is_some_and(WarmUp::is_slow);
        let learned = warm_up.and_then(|it| it.time_to_warm_s);
        let learned = learned.filter(|_| !self.is_kept).map(seconds);
        self.warm_up = own.max(learned.unwrap_or_default());
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: Duration,
    count: u32,
}

impl Mean {
    fn add(&mut self, one: Duration) {
        self.sum += one;
        self.count += 1;
    }

    fn get(&self) -> Duration {
        self.sum / self.count.max(1)
    }
}

impl TimeLeft {
    /// For trials of these measures, of which none is expected yet.
    pub(super) fn new(measures: Vec<Measure>) -> Self {
        Self {
            measures,
            ..Self::default()
        }
    }

    pub(super) fn expect(&mut self, trial: CellId) {
        self.trials.push(trial);
        self.planned += 1;
    }

    /// A trial is over, after this time since the one before it was; `again` if it is re-run.
    pub(super) fn done(
        &mut self,
        cell: CellId,
        attempt: &TrialAttempt,
        record: &TrialRecord,
        took: Duration,
        again: bool,
    ) {
        if let Some(place) = self.trials.iter().position(|one| *one == cell) {
            self.trials.remove(place);
        }
        if !self.known.contains_key(&cell) {
            let first = self.first_of_measure.entry(cell.column).or_default();
            first.add(took);
        }
        let known = self.known.entry(cell).or_default();
        known.take(attempt, record, took);
        match attempt.number {
            1 => self.first_attempts += 1,
            _ => self.re_runs_left = self.re_runs_left.saturating_sub(1),
        }
        if again {
            self.trials.push(cell);
            self.re_runs += 1;
            self.re_runs_left += 1;
            let is_outside = record.noisy.iter().any(NoiseCause::is_from_outside);
            self.disturbed += u32::from(is_outside);
        }
    }

    /// How long the remaining trials take, with as many re-runs as so far: as long as finished ones like them, or else as
    /// long as their loads say. One of them has been running for `so_far`.
    pub(super) fn left(&self, running: Option<(CellId, Duration)>) -> Duration {
        let all = self.expected_all();
        let running = running.filter(|(cell, _)| self.trials.contains(cell));
        let so_far = running.map_or(Duration::ZERO, |(cell, so_far)| {
            // It takes no time away from the others, even if it takes longer than expected.
            so_far.min(self.expected(cell, !self.known.contains_key(&cell)))
        });
        (all + self.expected_re_runs(all)).saturating_sub(so_far)
    }

    pub(super) fn round(&self, trials: impl Iterator<Item = CellId>) -> Duration {
        trials.map(|trial| self.expected(trial, false)).sum()
    }

    fn expected_all(&self) -> Duration {
        let mut met = BTreeSet::new();
        let expected = self.trials.iter().map(|&trial| {
            let is_first = !self.known.contains_key(&trial) && met.insert(trial);
            self.expected(trial, is_first)
        });
        expected.sum()
    }

    /// How long those trials take that are not planned yet, because something will disturb others.
    fn expected_re_runs(&self, all: Duration) -> Duration {
        if self.first_attempts < ENOUGH_TRIALS || self.trials.is_empty() {
            return Duration::ZERO;
        }
        let first = (self.trials.len() as u32).saturating_sub(self.re_runs_left);
        let share = f64::from(self.disturbed) / f64::from(self.first_attempts);
        let most = u32::try_from(most_re_runs(self.planned as usize)).unwrap_or(u32::MAX);
        let more = (share * f64::from(first)).min(f64::from(most.saturating_sub(self.re_runs)));
        all.mul_f64(more / self.trials.len() as f64)
    }

    /// How long a trial takes. The first one of its server in the measure also warms that up.
    fn expected(&self, trial: CellId, is_first: bool) -> Duration {
        if let Some(known) = self.known.get(&trial) {
            return known.next();
        }
        let like_it = if is_first {
            self.first_of_measure.get(&trial.column).map(Mean::get)
        } else {
            self.others(trial.column)
        };
        like_it.unwrap_or_else(|| {
            let measure = &self.measures[trial.column];
            let load = match measure.load.by {
                MeasuredBy::Time => planned(&measure.load),
                MeasuredBy::Instructions => self.counted_trial,
            };
            let search = if is_first {
                least_search(measure)
            } else {
                Duration::ZERO
            };
            load.map_or(UNKNOWN, |load| load + BESIDE_THE_LOAD) + search
        })
    }

    /// How long the measure's next trials of other servers take, in the mean.
    fn others(&self, measure: usize) -> Option<Duration> {
        let mut mean = Mean::default();
        let known = self.known.iter().filter(|(cell, _)| cell.column == measure);
        known.for_each(|(_, known)| mean.add(known.next()));
        (mean.count > 0).then(|| mean.get())
    }
}

/// How long the first trial of a server under this measure warms it up at least, besides the warm-up of its load.
fn least_search(measure: &Measure) -> Duration {
    let is_warmed_up = !measure.load.warmup.is_zero() && measure.load.by == MeasuredBy::Time;
    if is_warmed_up {
        measure.warmup_limit.min(seconds(LEAST_WARM_UP_S))
    } else {
        Duration::ZERO
    }
}

/// How long the explanations of a run take: of this many servers under a measure each.
pub(super) fn explaining(plan: &ExplainPlan, explained: u32) -> Duration {
    // A round loads a server twice.
    let rounds = (plan.duration + BESIDE_THE_LOAD) * 2 * plan.rounds;
    let profile = plan
        .profile
        .map_or(Duration::ZERO, |it| it.duration + BESIDE_THE_LOAD);
    (rounds + profile + seconds(LEAST_WARM_UP_S) * 2) * explained
}

/// How long a load takes, if that does not depend on the server.
fn planned(load: &LoadSpec) -> Option<Duration> {
    let scheduled_s = |requests: u64| match &load.shape {
        LoadShape::UsersOpen { think_time } => {
            Some(requests as f64 * think_time.as_secs_f64() / load.connections as f64)
        }
        LoadShape::Rate(schedule) => seconds_until_due(schedule, requests as f64),
        // Here each request waits for the response to the one before.
        LoadShape::Closed | LoadShape::UsersClosed { .. } => None,
    };
    let duration = load.duration.map(|duration| *duration);
    let measured = match load.requests {
        None => duration?,
        Some(requests) => {
            let scheduled = Duration::try_from_secs_f64(scheduled_s(requests)?);
            scheduled.ok().into_iter().chain(duration).min()?
        }
    };
    load.warmup.checked_add(measured)
}

/// When this many requests of a schedule will have been due, in seconds from its start; `None` if never.
fn seconds_until_due(schedule: &Schedule, requests: f64) -> Option<f64> {
    let (mut left, mut seconds) = (requests, 0.0);
    for stage in &schedule.stages {
        let in_stage = stage.requests();
        if left <= in_stage {
            return Some(seconds + stage.seconds_until(left));
        }
        left -= in_stage;
        seconds += stage.duration_s.unwrap_or(f64::INFINITY);
    }
    let goes_on_at = schedule.stages.last()?.to_per_s;
    (goes_on_at > 0.0).then(|| seconds + left / goes_on_at)
}

#[cfg(test)]
mod tests;
