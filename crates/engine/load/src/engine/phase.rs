//! The phases of a load: the warm-up, whose figures are reported separately, and the measured part.

use prony_model::Ended;
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, nanoseconds};
use super::cost::WorkerCost;
use super::pacer::DueInstants;
use super::tally::Tally;
use crate::plan::LoadPlan;

/// The phase that a worker is in.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) began: Nanoseconds,
    cost: WorkerCost,
    /// When it ends by time.
    pub(super) ends: Nanoseconds,
    /// Whether it is the measured part.
    pub(super) measuring: bool,
}

/// A worker that notices the end of the warm-up this late was not running.
const STANDSTILL: Nanoseconds = 50_000_000;

/// The phases of one worker's load: which one it is in, and what ends it.
#[derive(Debug)]
pub(super) struct Phases {
    pub(super) current: Phase,
    is_open_loop: bool,
    /// How long a load waits for responses when its time is up.
    patience: Nanoseconds,
    /// How many responses a closed loop waits for if none has ended in time, because otherwise it would have no result.
    overtime: Option<u64>,
    /// The end of a warm-up whose time is up.
    warmup_end: Option<WarmupEnd>,
    /// Whether no request had ended when the time was up; `None` until then.
    ended_none_in_time: Option<bool>,
}

/// A warm-up whose time is up. If more requests are in flight than are to be measured, those that end first still belong
/// to it.
#[derive(Clone, Copy, Debug)]
struct WarmupEnd {
    /// When measuring begins; `None` if that is when the warm-up is over.
    at: Option<Nanoseconds>,
    /// How many of the requests, or flows, in progress to measure.
    measured: u64,
}

impl Phases {
    /// Those of a worker with that many connections, which begins now.
    pub(super) fn of(plan: &LoadPlan, connections: usize, now: Nanoseconds) -> Self {
        Self {
            current: Phase::begin(now, plan, WorkerCost::default()),
            is_open_loop: plan.load.shape.is_open(),
            patience: nanoseconds(plan.load.timeout),
            overtime: plan.overtime.then_some(connections as u64),
            warmup_end: None,
            ended_none_in_time: None,
        }
    }

    /// Requests due before this may begin: now, but within the phase.
    #[inline]
    pub(super) fn horizon(&self, now: Nanoseconds) -> Nanoseconds {
        now.min(self.current.ends.saturating_sub(1))
    }

    /// When the phase ends by time. After that only late responses remain.
    pub(super) fn next_end(&self, now: Nanoseconds) -> Nanoseconds {
        if now < self.current.ends {
            self.current.ends
        } else {
            Nanoseconds::MAX
        }
    }

    /// Whether the time of the phase is up.
    pub(super) fn time_is_up(&self, now: Nanoseconds) -> bool {
        now >= self.current.ends
    }

    /// The time of the warm-up is up: measures `measured` of what is in progress, and what begins from now on.
    pub(super) fn end_warmup(&mut self, now: Nanoseconds, in_progress: u64, measured: u64) {
        let ends = std::mem::replace(&mut self.current.ends, Nanoseconds::MAX);
        let is_late = now - ends > STANDSTILL || in_progress > measured;
        // Every worker sees the end a little late, and a schedule runs by the clock. Otherwise the measured time must not
        // be over before it starts.
        let at = (self.is_open_loop || !is_late).then_some(ends);
        self.warmup_end = Some(WarmupEnd { at, measured });
    }

    #[inline]
    pub(super) fn is_ending_warmup(&self) -> bool {
        self.warmup_end.is_some()
    }

    /// When measuring begins, once the time of the warm-up is up and no more is in progress than is to be measured.
    pub(super) fn take_warmup_end(
        &mut self,
        now: Nanoseconds,
        in_progress: u64,
    ) -> Option<Nanoseconds> {
        let end = self.warmup_end.take_if(|end| in_progress <= end.measured)?;
        Some(end.at.unwrap_or(now))
    }

    /// Whether a load whose time is up ends. An open loop waits until `none_left`, of the requests that have begun or
    /// should have: without them the slowest responses would be missing from the figures. A closed loop just ends,
    /// unless none of its requests, of which `ended` have, ended in time.
    pub(super) fn are_over(&mut self, now: Nanoseconds, none_left: bool, ended: u64) -> bool {
        let none_in_time = *self.ended_none_in_time.get_or_insert(ended == 0);
        let too_long = now >= self.current.ends.saturating_add(self.patience);
        let is_enough = match self.overtime {
            _ if self.is_open_loop => none_left,
            Some(enough) => !none_in_time || ended >= enough,
            None => true,
        };
        is_enough || too_long
    }
}

/// The result of one phase of one worker.
#[derive(Debug, Default)]
pub(super) struct PhaseResult {
    pub(super) tally: Tally,
    pub(super) duration: Nanoseconds,
    pub(super) due: DueTime,
    pub(super) cost: WorkerCost,
}

/// When a request or flow began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begin {
    /// When it was due; when it began, if it was not due at an instant.
    pub(super) due: Nanoseconds,
    /// When it began.
    pub(super) at: Nanoseconds,
    /// Whether it was due before its user became free. Otherwise only the generator can have delayed it.
    pub(super) queued: bool,
}

/// How long requests of an open loop were due, from the start of the phase.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct DueTime {
    /// The latest instant at which one was due.
    last: Nanoseconds,
    /// The earliest at which another would have been: `n` requests take `n` intervals.
    next: Nanoseconds,
}

impl DueTime {
    pub(super) fn until(end: Nanoseconds) -> Self {
        Self {
            last: end,
            next: end,
        }
    }

    /// The times of several workers or agents together. They take the arrivals in turn, but perhaps not in order.
    pub(super) fn merged(times: impl Iterator<Item = Self>) -> Self {
        let both = |one: Self, other: Self| Self {
            last: one.last.max(other.last),
            next: one.next.min(other.next),
        };
        times.reduce(both).unwrap_or_default()
    }

    pub(super) fn nanoseconds(&self) -> Nanoseconds {
        self.last.max(self.next)
    }
}

impl Phase {
    /// Starts the load with its warm-up, if it has one. `cost` is what the calling thread has used so far.
    pub(super) fn begin(now: Nanoseconds, plan: &LoadPlan, cost: WorkerCost) -> Self {
        if plan.load.warmup.is_zero() {
            Self::begin_measuring(now, plan, cost)
        } else {
            Self::new(now, nanoseconds(plan.load.warmup), false, cost)
        }
    }

    /// Starts the measured part.
    pub(super) fn begin_measuring(now: Nanoseconds, plan: &LoadPlan, cost: WorkerCost) -> Self {
        let duration = plan.load.duration.map_or(Nanoseconds::MAX, nanoseconds);
        Self::new(now, duration, true, cost)
    }

    fn new(now: Nanoseconds, duration: Nanoseconds, measuring: bool, cost: WorkerCost) -> Self {
        Self {
            began: now,
            cost,
            ends: now.saturating_add(duration),
            measuring,
        }
    }

    /// Whether `at` is in the second half of a phase of known length.
    #[inline]
    pub(super) fn is_second_half(&self, at: Nanoseconds) -> bool {
        self.ends != Nanoseconds::MAX && at > self.began + (self.ends - self.began) / 2
    }

    /// Whether a request counts for the rate: if it was due in the phase, and did not have to wait for a busy user until its
    /// time was over.
    #[inline]
    pub(super) fn counts(&self, begin: Begin) -> bool {
        begin.due >= self.began && !(begin.queued && begin.at >= self.ends)
    }

    pub(super) fn close(&self, now: Nanoseconds, cost: WorkerCost, tally: Tally) -> PhaseResult {
        PhaseResult {
            tally,
            // An interrupt may come before a rate begins.
            duration: now.saturating_sub(self.began),
            due: DueTime::default(),
            cost: cost.since(&self.cost),
        }
    }

    /// How long requests were due in it. It ended at `now`, and the pacer had `due`.
    pub(super) fn due_time(&self, now: Nanoseconds, ended: Ended, due: DueInstants) -> DueTime {
        let planned = match self.ends {
            Nanoseconds::MAX => Nanoseconds::MAX,
            ends => ends - self.began,
        };
        let lasted = now.saturating_sub(self.began).min(planned);
        let in_phase = |at: Nanoseconds| at.saturating_sub(self.began).min(planned);
        match (ended, due.next) {
            (Ended::Duration, _) => DueTime::until(planned),
            (Ended::Interrupted, _) | (Ended::Requests, Nanoseconds::MAX) => DueTime::until(lasted),
            (Ended::Requests, next) => DueTime {
                last: in_phase(due.last),
                next: in_phase(next),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    /// When requests were due, of a worker that took arrivals until `last` and would take the next at `next`.
    fn taken(last: Nanoseconds, next: Nanoseconds) -> DueTime {
        DueTime { last, next }
    }

    /// A phase that ends at 1 s.
    fn phases(is_open_loop: bool, overtime: Option<u64>, measuring: bool) -> Phases {
        Phases {
            current: Phase::new(0, 1000 * MS, measuring, WorkerCost::default()),
            is_open_loop,
            patience: 500 * MS,
            overtime,
            warmup_end: None,
            ended_none_in_time: None,
        }
    }

    #[test]
    fn a_load_whose_time_is_up_waits_only_for_what_its_figures_need() {
        for (case, is_open_loop, overtime, none_left, ended, expected) in [
            ("a closed loop", false, Some(4), false, [7, 7], [true, true]),
            ("without overtime", false, None, false, [0, 0], [true, true]),
            ("no response", false, Some(4), false, [0, 3], [false, false]),
            ("one each", false, Some(4), false, [0, 4], [false, true]),
            ("an open loop", true, Some(4), false, [7, 7], [false, false]),
            ("nothing left", true, Some(4), true, [0, 0], [true, true]),
        ] {
            let mut phases = phases(is_open_loop, overtime, true);
            let mut are_over = |at_ms, ended| phases.are_over(at_ms * MS, none_left, ended);
            let over = [are_over(1000, ended[0]), are_over(1499, ended[1])];
            assert_eq!(over, expected, "{case}");
            assert!(
                are_over(1500, ended[1]),
                "{case}: not longer than the timeout"
            );
        }
    }

    #[test]
    fn measuring_begins_when_the_warmup_should_have_ended_unless_that_was_missed() {
        for (case, is_open_loop, seen_ms, measured, begins_ms) in [
            ("in time", false, 1003, 5, 1000),
            ("a standstill", false, 1051, 5, 1051),
            ("a schedule goes on", true, 1051, 5, 1000),
            ("fewer are measured", false, 1003, 2, 1009),
        ] {
            let mut phases = phases(is_open_loop, None, false);
            assert_eq!(phases.take_warmup_end(999 * MS, 0), None, "{case}");
            phases.end_warmup(seen_ms * MS, 5, measured);
            assert!(
                !phases.time_is_up(seen_ms * MS),
                "{case}: it ends only once"
            );
            let begins = phases.take_warmup_end(seen_ms * MS, 5);
            let begins = begins.or_else(|| phases.take_warmup_end(1009 * MS, 2));
            assert_eq!(begins, Some(begins_ms * MS), "{case}");
            assert_eq!(phases.take_warmup_end(1010 * MS, 0), None, "{case}");
        }
    }

    #[test]
    fn only_a_wait_for_a_busy_user_keeps_a_request_from_counting() {
        let phase = Phase::new(100, 100, true, WorkerCost::default());
        for (due, at, queued, counts) in [
            (100, 100, false, true),
            (199, 199, true, true),
            // The generator was late.
            (199, 205, false, true),
            (150, 200, true, false),
            // Of the warm-up.
            (99, 100, false, false),
        ] {
            let begin = Begin { due, at, queued };
            assert_eq!(phase.counts(begin), counts, "{begin:?}");
        }
    }

    #[test]
    fn workers_share_the_intervals_of_a_schedule() {
        for (case, workers, expected) in [
            ("one", vec![taken(900, 1000)], 1000),
            ("in turn", vec![taken(900, 1100), taken(800, 1000)], 1000),
            ("one was late", vec![taken(900, 1000), taken(100, 300)], 900),
            ("both to the end", vec![DueTime::until(700); 2], 700),
            ("none", vec![], 0),
        ] {
            let merged = DueTime::merged(workers.into_iter());
            assert_eq!(merged.nanoseconds(), expected, "{case}");
        }
    }
}
