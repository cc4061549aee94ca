//! When the next request is due: the shapes of a load are values behind one small trait.

/// What a free connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send a request at once.
    Now,
    /// There is nothing left to send.
    Never,
}

/// Says when the next request is due.
pub(super) trait Pacer {
    /// A connection is free: what now? Each `Now` is one request, which will have one outcome.
    fn next(&mut self) -> Next;

    /// Whether nothing will ever be due any more.
    fn exhausted(&self) -> bool;

    /// Measuring begins with `in_flight` requests on their way, which count as measured ones: they
    /// must not be more than may be measured.
    fn begin_measuring(&mut self, in_flight: u64);
}

/// The closed loop: a connection sends its next request when it has the answer to its last one.
#[derive(Debug)]
pub(super) struct Closed {
    /// Measured requests that may be started, over the whole load.
    requests: Option<u64>,
    /// Requests that may be started still; `None` for any number.
    left: Option<u64>,
}

impl Closed {
    pub(super) fn new(requests: Option<u64>, has_warmup: bool) -> Self {
        let left = if has_warmup { None } else { requests };
        Self { requests, left }
    }
}

impl Pacer for Closed {
    #[inline]
    fn next(&mut self) -> Next {
        match &mut self.left {
            None => Next::Now,
            Some(0) => Next::Never,
            Some(left) => {
                *left -= 1;
                Next::Now
            }
        }
    }

    #[inline]
    fn exhausted(&self) -> bool {
        self.left == Some(0)
    }

    fn begin_measuring(&mut self, in_flight: u64) {
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
        let mut pacer = Closed::new(Some(5), true);
        assert!((0..100).all(|_| pacer.next() == Next::Now));
        pacer.begin_measuring(3);
        let after: Vec<Next> = (0..3).map(|_| pacer.next()).collect();
        assert_eq!(after, [Next::Now, Next::Now, Next::Never]);
    }
}
