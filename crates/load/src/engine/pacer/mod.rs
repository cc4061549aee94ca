//! When the next request is due: the shapes of a load are values behind one small trait.

mod budget;
mod overdue;
mod random;
mod rate;
mod stages;
mod users;

pub(super) use budget::SharedBudget;
pub(super) use overdue::Overdue;
pub(super) use random::source as random_source;
pub(super) use rate::{Part, Rate};
pub(super) use users::{ClosedUser, OpenUser, Users};

use super::clock::Nanoseconds;

/// What a user (a connection with whoever sits before it) does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It sends a request at once.
    Now(Arrival),
    /// Its next request is due then: it asks again when that instant has come.
    At(Nanoseconds),
    /// It waits until it is given an arrival that belongs to nobody.
    Wait,
    /// There is nothing left to send.
    Never,
}

/// A request that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// As soon as it can be: its latency runs from the send.
    Free,
    /// By a schedule: its latency runs from the scheduled instant, whatever kept it.
    Scheduled {
        /// The scheduled instant.
        at: Nanoseconds,
        /// Since when its user is free: what it is late by that is not the generator's doing.
        free_since: Nanoseconds,
    },
}

/// Says when the next request is due.
pub(super) trait Pacer {
    /// Whether its connections are made before it starts: its arrivals belong to nobody, and would
    /// find none.
    const NEEDS_CONNECTIONS: bool = false;

    /// The load starts now.
    fn start(&mut self, now: Nanoseconds);

    /// User `user` is free, or an instant that it was told has come: what now? Each `Now` is one
    /// request, which will have one outcome.
    fn next(&mut self, user: usize, now: Nanoseconds) -> Next;

    /// The earliest arrival that belongs to nobody and was not taken; the end of time where there is
    /// none.
    fn next_arrival(&self) -> Nanoseconds {
        Nanoseconds::MAX
    }

    /// Takes that arrival, for a connection that is free. False where there is none left after all.
    fn take_arrival(&mut self) -> bool {
        false
    }

    /// Whether nothing will ever be due any more.
    fn exhausted(&self) -> bool;

    /// The load is over: takes the requests that were due by `now` and never begun, because their users were still
    /// waiting for earlier responses, and counts them. The phase that ends began at `began`.
    fn overdue(&mut self, _now: Nanoseconds, _began: Nanoseconds) -> Overdue {
        Overdue::NONE
    }

    /// Measuring begins with `in_flight` requests in flight, which count as measured ones: they
    /// must not be more than may be measured.
    fn begin_measuring(&mut self, in_flight: u64, now: Nanoseconds);
}

/// The closed loop: a connection sends its next request when it has the response to its last one.
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
