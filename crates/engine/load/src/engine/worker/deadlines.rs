//! Responses that do not arrive in time.

use std::collections::BTreeSet;

use prony_model::{Outcome, Seconds};

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::Activity;
use crate::engine::flows::Limits;
use crate::wire::Wire;

/// What a request waited for that was never sent.
pub(super) const NO_CONNECTION: &str = "connection";
const NO_HANDSHAKE: &str = "finished handshake";
const NO_FREE_STREAM: &str = "free stream";

/// When to check the deadlines of each connection that has any, the earliest first: one entry per connection.
#[derive(Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(Nanoseconds, usize)>);

impl Deadlines {
    /// The time of the earliest; the end of time if there is none.
    pub(super) fn next(&self) -> Nanoseconds {
        self.0.first().map_or(Nanoseconds::MAX, |&(at, _)| at)
    }

    /// Takes a connection that is to be checked by `now`.
    fn take_due(&mut self, now: Nanoseconds) -> Option<usize> {
        let is_due = self.next() <= now;
        is_due.then(|| self.0.pop_first()).flatten().map(|it| it.1)
    }
}

impl<W: Wire> Worker<'_, W> {
    /// Makes sure that the connection's deadlines are checked at `at` or before.
    ///
    /// A connection's entry moves only when it comes up, or if a request may take less time than those before it: nearly
    /// always the response arrived long before, so a request costs nothing.
    #[inline]
    pub(super) fn watch_deadline(&mut self, index: usize, at: Nanoseconds) {
        let connection = &mut self.connections[index];
        if at < connection.watched {
            self.deadlines.0.remove(&(connection.watched, index));
            connection.watched = at;
            self.deadlines.0.insert((at, index));
        }
    }

    /// Gives up requests that got no response in time.
    pub(super) fn check_deadlines(&mut self) {
        while let Some(index) = self.deadlines.take_due(self.now) {
            self.connections[index].watched = Nanoseconds::MAX;
            match self.next_deadline(index) {
                Some(deadline) if deadline <= self.now => self.timed_out(index),
                Some(deadline) => self.watch_deadline(index, deadline),
                None => {}
            }
        }
    }

    /// When the next request of that connection times out.
    pub(super) fn next_deadline(&self, index: usize) -> Option<Nanoseconds> {
        let requests = self.connections[index].in_flight.iter();
        let responses = requests.map(|it| it.deadline).min();
        let connected = self.connecting_deadline(index);
        responses.into_iter().chain(connected).min()
    }

    /// When the attempt to open that connection times out, if there is one.
    pub(super) fn connecting_deadline(&self, index: usize) -> Option<Nanoseconds> {
        match self.connections[index].activity {
            Activity::Connecting { since } | Activity::Handshaking { since } => {
                Some(since.saturating_add(self.timeout))
            }
            _ => None,
        }
    }

    #[cold]
    fn timed_out(&mut self, index: usize) {
        match self.connections[index].activity {
            Activity::Open => {
                self.drop_unsent(index, NO_FREE_STREAM);
                self.give_up_overdue(index);
            }
            Activity::Handshaking { .. } => self.connecting_timed_out(index, NO_HANDSHAKE),
            _ => self.connecting_timed_out(index, NO_CONNECTION),
        }
        self.replace_finished(index);
        self.free(index);
        let deadline = self.next_deadline(index).unwrap_or(Nanoseconds::MAX);
        self.watch_deadline(index, deadline);
    }

    /// Drops the overdue requests of a connection that the wire does not have. Those that are too late to send are shed.
    pub(super) fn drop_unsent(&mut self, index: usize, missing: &str) {
        let mut position = self.connections[index].passed;
        while let Some(request) = self.connections[index].in_flight.get(position) {
            if request.deadline > self.now {
                position += 1;
                continue;
            }
            let scheduled = request.from.filter(|_| !request.resent);
            let outcome = if scheduled.is_some_and(|at| self.latest_send(at) <= self.now) {
                Outcome::Shed
            } else {
                Outcome::TimedOut
            };
            let plan = self.shared.plan;
            let detail = || match (outcome, plan.load.deadline) {
                (Outcome::Shed, Some(deadline)) => {
                    format!("no {missing} within {deadline:?} of its due time")
                }
                _ => format!("no {missing} within {:?}", plan.load.timeout),
            };
            if let Some(mut request) = self.connections[index].in_flight.remove(position) {
                self.count(index, &mut request, outcome, detail);
            }
        }
    }

    /// Gives up the overdue requests that the wire of an open connection has. It goes on without them if it can.
    fn give_up_overdue(&mut self, index: usize) {
        let now = self.now;
        loop {
            let connection = &mut self.connections[index];
            let mut requests = connection.in_flight.iter();
            let Some(position) = requests.position(|it| it.deadline <= now) else {
                return;
            };
            if !connection.wire.cancel(position) {
                let detail = self.no_response_in_time(index);
                return self.failed_at(index, position, Outcome::TimedOut, || detail);
            }
            let Some(mut request) = self.take_passed(index, position) else {
                return;
            };
            let detail = self.no_response_in_time(index);
            self.count(index, &mut request, Outcome::TimedOut, || detail);
        }
    }

    /// Why a request that was sent over that connection has timed out.
    pub(super) fn no_response_in_time(&self, index: usize) -> String {
        let plan = self.shared.plan;
        let limits = match &self.flows {
            None => Limits::of_every_request(),
            Some(flows) => flows.limits(index - self.share.streams),
        };
        let longest = limits
            .timeout
            .map_or(plan.load.timeout, Seconds)
            .min(plan.load.timeout);
        match plan.load.deadline {
            Some(deadline)
                if self.deadline_binds_responses && limits.is_due && deadline < longest =>
            {
                format!("no whole response within {deadline:?} of its due time")
            }
            _ => format!("no whole response within {longest:?}"),
        }
    }
}
