//! Time since the start of a load, in nanoseconds.

use std::time::{Duration, Instant};

/// Nanoseconds since the origin of a [`Clock`].
pub(super) type Nanoseconds = u64;

/// A monotonic clock that counts from its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    #[inline]
    pub(super) fn now(&self) -> Nanoseconds {
        nanoseconds(self.origin.elapsed())
    }
}

/// A duration in nanoseconds; longer than 584 years is 584 years.
#[inline]
pub(super) fn nanoseconds(duration: Duration) -> Nanoseconds {
    duration.as_nanos().try_into().unwrap_or(Nanoseconds::MAX)
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanoseconds: Nanoseconds) -> f64 {
    nanoseconds as f64 / 1e9
}
