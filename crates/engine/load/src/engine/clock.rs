//! Time since the start of a load, in nanoseconds, and a timetable.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Nanoseconds since the origin of a [`Clock`].
pub(super) type Nanoseconds = u64;

/// A monotonic clock that counts from its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
    /// What a clock that a test owns shows.
    #[cfg(test)]
    simulated: Option<&'static AtomicU64>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            origin: Instant::now(),
            #[cfg(test)]
            simulated: None,
        }
    }

    /// A clock that shows what its test sets.
    #[cfg(test)]
    pub(super) fn simulated(time: &'static AtomicU64) -> Self {
        Self {
            simulated: Some(time),
            ..Self::start()
        }
    }

    /// What the clock shows at an instant; 0 before its origin.
    pub(super) fn at(&self, instant: Instant) -> Nanoseconds {
        nanoseconds(instant.saturating_duration_since(self.origin))
    }

    #[inline]
    pub(super) fn now(&self) -> Nanoseconds {
        #[cfg(test)]
        if let Some(time) = self.simulated {
            return time.load(Relaxed);
        }
        nanoseconds(self.origin.elapsed())
    }
}

/// A duration in nanoseconds, at most 584 years.
#[inline]
pub(super) fn nanoseconds(duration: impl Into<Duration>) -> Nanoseconds {
    duration
        .into()
        .as_nanos()
        .try_into()
        .unwrap_or(Nanoseconds::MAX)
}

pub(super) fn seconds(nanoseconds: Nanoseconds) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The users that wait for their due times, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Timetable(BinaryHeap<Reverse<(Nanoseconds, usize)>>);

impl Timetable {
    pub(super) fn add(&mut self, due: Nanoseconds, user: usize) {
        self.0.push(Reverse((due, user)));
    }

    /// The earliest due time; the end of time if nobody waits.
    pub(super) fn next(&self) -> Nanoseconds {
        self.0.peek().map_or(Nanoseconds::MAX, |entry| entry.0.0)
    }

    /// Takes a user who is due by `now`.
    pub(super) fn take_due(&mut self, now: Nanoseconds) -> Option<usize> {
        let due = self.next() <= now;
        due.then(|| self.0.pop().map(|entry| entry.0.1)).flatten()
    }
}
