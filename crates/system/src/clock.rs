//! The monotonic clock that Prony, its supervisor and its servers share.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: the same in every process of this machine.
pub fn monotonic_ns() -> u64 {
    // The call fails only for clocks that do not exist; this one always does.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
        u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_nsec()).unwrap_or(0)
    })
}
