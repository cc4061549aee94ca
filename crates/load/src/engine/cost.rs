//! What the load costs the thread that makes it.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

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

    /// CPU time between `earlier` and this.
    pub(super) fn since(&self, earlier: &ThreadCpu) -> Self {
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
