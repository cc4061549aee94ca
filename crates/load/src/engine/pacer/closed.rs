//! The closed loop.

use super::{Arrival, Next, Pacer};
use crate::engine::clock::Nanoseconds;

/// The closed loop: a connection sends its next request when it has the response to its last one.
#[derive(Debug)]
pub(in crate::engine) struct Closed {
    /// Measured requests that may be started, over the whole load.
    requests: Option<u64>,
    /// Requests that may be started still; `None` for any number.
    left: Option<u64>,
}

impl Closed {
    pub(in crate::engine) fn new(requests: Option<u64>, has_warmup: bool) -> Self {
        let left = if has_warmup { None } else { requests };
        Self { requests, left }
    }
}

impl Pacer for Closed {
    fn start(&mut self, _: Nanoseconds) {}

    #[inline]
    fn next(&mut self, _: usize, _: Nanoseconds) -> Next {
        match &mut self.left {
            None => Next::Now(Arrival::Free),
            Some(0) => Next::Never,
            Some(left) => {
                *left -= 1;
                Next::Now(Arrival::Free)
            }
        }
    }

    #[inline]
    fn exhausted(&self) -> bool {
        self.left == Some(0)
    }

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) {
        self.left = self
            .requests
            .map(|requests| requests.saturating_sub(in_flight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_counts_measured_requests_only() {
        let now = Next::Now(Arrival::Free);
        let mut pacer = Closed::new(Some(5), true);
        assert!((0..100).all(|user| pacer.next(user, 0) == now));
        pacer.begin_measuring(3, 0);
        let after: Vec<Next> = (0..3).map(|user| pacer.next(user, 0)).collect();
        assert_eq!(after, [now, now, Next::Never]);
    }
}
