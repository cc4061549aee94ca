//! A number of requests that all workers share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many requests may still begin, on any worker.
///
/// All workers write to one cache line, so this is for loads whose rate a schedule bounds, not for loops that send as
/// fast as they can.
#[derive(Debug)]
pub(in crate::engine) struct SharedBudget(Option<AtomicU64>);

impl SharedBudget {
    /// `None` for any number.
    pub(in crate::engine) fn new(requests: Option<u64>) -> Self {
        Self(requests.map(AtomicU64::new))
    }

    /// Takes `count`, or as many as are left.
    pub(super) fn take(&self, count: u64) -> u64 {
        let Some(left) = &self.0 else {
            return count;
        };
        let before = left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(count)));
        before.unwrap_or(0).min(count)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.as_ref().is_some_and(|left| left.load(Relaxed) == 0)
    }
}

/// One pacer's view of the budget: the warm-up takes nothing from it.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    shared: &'a SharedBudget,
    measuring: bool,
}

impl<'a> Budget<'a> {
    pub(super) fn new(shared: &'a SharedBudget, has_warmup: bool) -> Self {
        Self {
            shared,
            measuring: !has_warmup,
        }
    }

    /// Takes one request; false if none is left.
    #[inline]
    pub(super) fn take_one(&self) -> bool {
        self.take(1) == 1
    }

    /// Takes `count` requests, or as many as are left.
    #[inline]
    pub(super) fn take(&self, count: u64) -> u64 {
        if self.measuring {
            self.shared.take(count)
        } else {
            count
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.measuring && self.shared.is_spent()
    }

    pub(super) fn is_measuring(&self) -> bool {
        self.measuring
    }

    /// Ends the warm-up with this many requests in flight, and returns how many of them to measure.
    pub(super) fn begin_measuring(&mut self, in_flight: u64) -> u64 {
        self.measuring = true;
        self.shared.take(in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_never_goes_below_zero() {
        let budget = SharedBudget::new(Some(3));
        assert_eq!((budget.take(2), budget.is_spent()), (2, false));
        assert_eq!((budget.take(2), budget.is_spent()), (1, true));
        assert_eq!(budget.take(1), 0);
        let endless = SharedBudget::new(None);
        assert_eq!(
            (endless.take(u64::MAX), endless.is_spent()),
            (u64::MAX, false)
        );
    }
}
