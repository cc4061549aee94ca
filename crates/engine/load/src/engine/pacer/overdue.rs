//! Requests that were due and never begun. There may be any number of them, so they are counted by arithmetic.

use super::random::poisson_count;
use crate::engine::clock::Nanoseconds;

/// Requests that were due and never begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Overdue {
    /// How many.
    pub(in crate::engine) count: u64,
    /// How many of them were due in the phase that ends.
    pub(in crate::engine) in_phase: u64,
    /// When the first was due; the end of time if there is none.
    pub(in crate::engine) first: Nanoseconds,
}

impl Overdue {
    pub(super) const NONE: Self = Self {
        count: 0,
        in_phase: 0,
        first: Nanoseconds::MAX,
    };

    /// Adds requests that were due at `at` or later.
    pub(super) fn add(&mut self, count: u64, at: Nanoseconds, in_phase: bool) {
        if count > 0 {
            self.count = self.count.saturating_add(count);
            self.in_phase += if in_phase { count } else { 0 };
            self.first = self.first.min(at);
        }
    }
}

/// Counts the arrivals of random processes: the first ones one by one, the rest as one random number. While it counts
/// one by one, the same seed gives the same number of arrivals regardless of the responses.
#[derive(Debug)]
pub(super) struct Walk {
    left: u32,
}

/// A few milliseconds of work.
const MOST_WALKED: u32 = 100_000;

impl Walk {
    pub(super) fn new() -> Self {
        Self { left: MOST_WALKED }
    }

    /// Counts the arrivals within `length` of a process whose first arrival is at `to_first`, and returns the first one
    /// after `length`. `step` draws the distance between two arrivals: exponential, with mean `mean`.
    pub(super) fn count(
        &mut self,
        random: &mut fastrand::Rng,
        to_first: f64,
        length: f64,
        mean: f64,
        step: impl Fn(&mut fastrand::Rng) -> f64,
    ) -> (u64, f64) {
        let (mut count, mut at) = (0, to_first);
        while at <= length && self.left > 0 {
            self.left -= 1;
            count += 1;
            at += step(random);
        }
        if at > length {
            return (count, at);
        }
        // The arrival at `at`, and those after it, which are independent of all before.
        let rest = poisson_count(random, (length - at) / mean);
        (count + 1 + rest, length + step(random))
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::exponential;
    use super::*;

    #[test]
    fn counting_one_by_one_and_drawing_have_the_same_mean() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut walk = Walk::new();
        let (count, next) = walk.count(&mut random, 1.0, 1000.0, 1.0, exponential);
        assert!((850..1150).contains(&count) && next > 1000.0, "{count}");
        assert_eq!(walk.left, MOST_WALKED - count as u32, "each is counted");
        let (count, _) = walk.count(&mut random, 1.0, 1e12, 1.0, exponential);
        assert_eq!(walk.left, 0);
        // A standard deviation is a million.
        assert!((count as f64 - 1e12).abs() < 6e6, "{count}");
        let none = walk.count(&mut random, 5.0, 4.0, 1.0, exponential);
        assert_eq!(none, (0, 5.0));
    }
}
