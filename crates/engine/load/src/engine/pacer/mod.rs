//! When the next request is due: each shape of load is one implementation of a small trait.

mod batched;
mod budget;
mod overdue;
mod random;
mod rate;
mod stages;
mod users;

pub(super) use batched::Batched;
pub(super) use budget::SharedBudget;
pub(super) use overdue::Overdue;
pub(super) use random::{exponential, source as random_source};
pub(super) use rate::Rate;
pub(super) use users::{ClosedUser, OpenUser, Users};

use super::clock::Nanoseconds;

/// What a user (one connection and its requests) does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send a request at once.
    Now(Arrival),
    /// The next request is due then: ask again at that time.
    At(Nanoseconds),
    /// Wait for an arrival of the shared schedule.
    Wait,
    /// There is nothing left to send.
    Never,
}

/// How a request to send came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Without a schedule: latency runs from the send.
    Free,
    /// By a schedule: latency runs from the due time, whatever delayed the send.
    Scheduled {
        /// The due time.
        at: Nanoseconds,
        /// Since when its user is free: the generator is not to blame for a delay before that.
        free_since: Nanoseconds,
    },
}

/// The instants of a schedule that decide how long it lasted, if a number of requests ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueInstants {
    /// The latest at which a request was due and begun.
    pub(super) last: Nanoseconds,
    /// The earliest at which another would be due; the end of time if none would.
    pub(super) next: Nanoseconds,
}

impl Default for DueInstants {
    fn default() -> Self {
        Self {
            last: 0,
            next: Nanoseconds::MAX,
        }
    }
}

/// Decides when the next request is due.
pub(super) trait Pacer {
    /// Whether connections must be open before it starts: arrivals of a shared schedule go to any open connection.
    fn needs_connections(&self) -> bool {
        false
    }

    fn start(&mut self, _now: Nanoseconds) {}

    /// What user `user` does next, now that it is free or that its time from [`Next::At`] has arrived. Each `Now` is
    /// one request, which will have one outcome.
    fn next(&mut self, user: usize, now: Nanoseconds) -> Next;

    /// The earliest arrival of the shared schedule that no user has taken; the end of time if there is none.
    fn next_arrival(&self) -> Nanoseconds {
        Nanoseconds::MAX
    }

    /// About how many arrivals of the shared schedule are due by `now` and not taken.
    fn waiting(&self, _now: Nanoseconds) -> u64 {
        0
    }

    /// Takes that arrival, for a connection that is free. False if the budget is spent.
    fn take_arrival(&mut self) -> bool {
        false
    }

    /// Whether nothing will ever be due again.
    fn exhausted(&self) -> bool;

    /// When requests were due. Only an open loop has such instants.
    fn due(&self) -> DueInstants {
        DueInstants::default()
    }

    /// Called at the end of a load: counts the requests that were due by `now` but never begun, because their users
    /// were waiting for earlier responses. The phase that ends began at `began`.
    fn overdue(&mut self, _now: Nanoseconds, _began: Nanoseconds) -> Overdue {
        Overdue::NONE
    }

    /// Starts measuring with `in_flight` requests in flight, and returns how many of them to measure: all, or as many as
    /// the budget has left.
    fn begin_measuring(&mut self, in_flight: u64, now: Nanoseconds) -> u64;
}

/// The closed loop: a connection sends its next request when it has the response to its last one.
#[derive(Debug)]
pub(super) struct Closed {
    /// Measured requests that may begin, over the whole load.
    requests: Option<u64>,
    /// Requests that may still begin; `None` for any number.
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

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) -> u64 {
        let measured = self.requests.unwrap_or(u64::MAX).min(in_flight);
        self.left = self.requests.map(|requests| requests - measured);
        measured
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
        assert_eq!(pacer.begin_measuring(3, 0), 3);
        let after: Vec<Next> = (0..3).map(|user| pacer.next(user, 0)).collect();
        assert_eq!(after, [now, now, Next::Never]);
        let mut pacer = Closed::new(Some(2), true);
        assert_eq!(pacer.begin_measuring(3, 0), 2);
        assert!(pacer.exhausted());
    }
}
