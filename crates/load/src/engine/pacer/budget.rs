//! Requests that all workers take from one number.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many requests may still be begun, by whichever worker comes first.
///
/// One cache line that all workers write: for loads whose rate a schedule bounds, not for loops that
/// send as fast as they can.
#[derive(Debug)]
pub(in crate::engine) struct SharedBudget(Option<AtomicU64>);

impl SharedBudget {
    /// So many; `None` for any number.
    pub(in crate::engine) fn new(requests: Option<u64>) -> Self {
        Self(requests.map(AtomicU64::new))
    }

    /// Takes `count`, or as many as there are.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is() {
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
