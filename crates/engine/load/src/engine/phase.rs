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

/// The result of one phase of one worker.
#[derive(Debug, Default)]
pub(super) struct PhaseResult {
    pub(super) tally: Tally,
    pub(super) duration: Nanoseconds,
    pub(super) due: DueTime,
    pub(super) cost: WorkerCost,
}

/// The begin of a request or flow.
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

    /// When requests were due, of a worker that took arrivals until `last` and would take the next at `next`.
    fn taken(last: Nanoseconds, next: Nanoseconds) -> DueTime {
        DueTime { last, next }
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
