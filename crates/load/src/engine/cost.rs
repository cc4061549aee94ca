//! What the load costs the thread that makes it.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use prony_kernel::CounterValues;

use super::clock::Nanoseconds;

/// What a worker has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerCost {
    pub(super) cpu: ThreadCpu,
    pub(super) system_calls: u64,
    /// CPU time spent in busy-waiting.
    pub(super) spun: Nanoseconds,
    /// Cycles and instructions, where they are counted.
    pub(super) counted: Option<CounterValues>,
}

impl WorkerCost {
    /// What was used between `earlier` and this.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.since(&earlier.cpu),
            system_calls: self.system_calls - earlier.system_calls,
            spun: self.spun - earlier.spun,
            counted: self
                .counted
                .zip(earlier.counted)
                .map(|(now, then)| CounterValues {
                    cycles: now.cycles.saturating_sub(then.cycles),
                    instructions: now.instructions.saturating_sub(then.instructions),
                }),
        }
    }
}

/// CPU time of the calling thread, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadCpu {
    pub(super) user_s: f64,
    pub(super) system_s: f64,
}

impl ThreadCpu {
    /// CPU time up to now.
    pub(super) fn now() -> Self {
        // The kernel refuses this call only for an unknown `who`.
        getrusage(UsageWho::RUSAGE_THREAD).map_or_else(
            |_| Self::default(),
            |usage| Self {
                user_s: to_seconds(usage.user_time()),
                system_s: to_seconds(usage.system_time()),
            },
        )
    }

    fn since(&self, earlier: &ThreadCpu) -> Self {
        Self {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
        }
    }

    pub(super) fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

fn to_seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}
