//! The phases of a load: the warm-up, where there is one, and the measured part.

use super::clock::{Nanoseconds, nanoseconds};
use super::cost::ThreadCpu;
use super::tally::Tally;
use crate::plan::LoadPlan;

/// The phase that a worker is in.
#[derive(Debug)]
pub(super) struct Phase {
    began: Nanoseconds,
    cpu: ThreadCpu,
    /// When it ends by time.
    pub(super) ends: Nanoseconds,
    /// Whether it is the measured part.
    pub(super) measuring: bool,
}

/// What one phase of one worker gave.
#[derive(Debug)]
pub(super) struct PhaseResult {
    pub(super) tally: Tally,
    pub(super) duration: Nanoseconds,
    pub(super) cpu: ThreadCpu,
}

impl Phase {
    /// Begins the load: with its warm-up, where it has one. CPU time is that of the calling thread.
    pub(super) fn begin(now: Nanoseconds, plan: &LoadPlan) -> Self {
        if plan.warmup.is_zero() {
            Self::begin_measuring(now, plan)
        } else {
            Self::new(now, nanoseconds(plan.warmup), false)
        }
    }

    /// Begins the measured part.
    pub(super) fn begin_measuring(now: Nanoseconds, plan: &LoadPlan) -> Self {
        let duration = plan.duration.map_or(Nanoseconds::MAX, nanoseconds);
        Self::new(now, duration, true)
    }

    fn new(now: Nanoseconds, duration: Nanoseconds, measuring: bool) -> Self {
        Self {
            began: now,
            cpu: ThreadCpu::now(),
            ends: now.saturating_add(duration),
            measuring,
        }
    }

    /// Ends it, having counted `tally`.
    pub(super) fn close(&self, now: Nanoseconds, tally: Tally) -> PhaseResult {
        PhaseResult {
            tally,
            duration: now - self.began,
            cpu: ThreadCpu::now().since(&self.cpu),
        }
    }
}

impl PhaseResult {
    /// Of a phase that was never begun.
    pub(super) fn nothing() -> Self {
        Self {
            tally: Tally::new(),
            duration: 0,
            cpu: ThreadCpu::default(),
        }
    }
}
