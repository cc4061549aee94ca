//! When the next request is due: the shapes of a load are values behind one small trait.

mod budget;
mod closed;
mod users_open;

pub(super) use budget::SharedBudget;
pub(super) use closed::Closed;
pub(super) use users_open::UsersOpen;

use super::clock::Nanoseconds;

/// What a user (a connection with whoever sits before it) does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It sends a request at once.
    Now(Arrival),
    /// Its next request is due then: it asks again when that instant has come.
    At(Nanoseconds),
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
        /// Whether that had passed when the user became free.
        late: bool,
    },
}

/// Says when the next request is due.
pub(super) trait Pacer {
    /// User `user` is free, or an instant that it was told has come: what now? Each `Now` is one
    /// request, which will have one outcome.
    fn next(&mut self, user: usize, now: Nanoseconds) -> Next;

    /// Whether nothing will ever be due any more.
    fn exhausted(&self) -> bool;

    /// The load is over: requests that were due by `now` and never begun, because their users were
    /// still waiting for earlier answers.
    fn overdue(&mut self, _now: Nanoseconds) -> u64 {
        0
    }

    /// Measuring begins with `in_flight` requests on their way, which count as measured ones: they
    /// must not be more than may be measured.
    fn begin_measuring(&mut self, in_flight: u64);
}
