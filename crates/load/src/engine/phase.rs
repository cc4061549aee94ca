//! The parts of a load: the warm-up, whose figures are shown apart, and the measured part.

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

/// What one phase of one worker gave.
#[derive(Debug, Default)]
pub(super) struct PhaseResult {
    pub(super) tally: Tally,
    pub(super) duration: Nanoseconds,
    pub(super) cost: WorkerCost,
}

impl Phase {
    /// Begins the load: with its warm-up, where it has one. `cost` is what the calling thread has
    /// used so far.
    pub(super) fn begin(now: Nanoseconds, plan: &LoadPlan, cost: WorkerCost) -> Self {
        if plan.warmup.is_zero() {
            Self::begin_measuring(now, plan, cost)
        } else {
            Self::new(now, nanoseconds(plan.warmup), false, cost)
        }
    }

    /// Begins the measured part.
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

    /// Whether an instant of it is in its second half, where its length is known.
    #[inline]
    pub(super) fn is_second_half(&self, at: Nanoseconds) -> bool {
        self.ends != Nanoseconds::MAX && at > self.began + (self.ends - self.began) / 2
    }

    /// Ends it, having counted `tally`.
    pub(super) fn close(&self, now: Nanoseconds, cost: WorkerCost, tally: Tally) -> PhaseResult {
        PhaseResult {
            tally,
            duration: now - self.began,
            cost: cost.since(&self.cost),
        }
    }
}
