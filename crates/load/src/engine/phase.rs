//! The phases of a load: the warm-up, whose figures are reported separately, and the measured part.

use super::clock::{Nanoseconds, nanoseconds};
use super::cost::WorkerCost;
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
    pub(super) cost: WorkerCost,
}

impl Phase {
    /// Starts the load with its warm-up, if it has one. `cost` is what the calling thread has used so far.
    pub(super) fn begin(now: Nanoseconds, plan: &LoadPlan, cost: WorkerCost) -> Self {
        if plan.warmup.is_zero() {
            Self::begin_measuring(now, plan, cost)
        } else {
            Self::new(now, nanoseconds(plan.warmup), false, cost)
        }
    }

    /// Starts the measured part.
    pub(super) fn begin_measuring(now: Nanoseconds, plan: &LoadPlan, cost: WorkerCost) -> Self {
        let duration = plan.duration.map_or(Nanoseconds::MAX, nanoseconds);
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

    pub(super) fn close(&self, now: Nanoseconds, cost: WorkerCost, tally: Tally) -> PhaseResult {
        PhaseResult {
            tally,
            // An interrupt may come before a rate begins.
            duration: now.saturating_sub(self.began),
            cost: cost.since(&self.cost),
        }
    }
}
