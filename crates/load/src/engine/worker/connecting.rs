//! Opens and reopens connections.

use std::io;

use nix::errno::Errno;
use prony_model::Outcome;

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, Role};
use crate::engine::pacer::Pacer;
use crate::target::was_reset;
use crate::wire::Wire;

/// The pause after a failure to connect; each further failure doubles it, up to the longest.
const FIRST_RETRY: Nanoseconds = 10_000_000;
const LONGEST_RETRY: Nanoseconds = 1_000_000_000;

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    pub(super) fn open(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let is_again = connection.was_connected || connection.refusals > 0;
        let source = self.sources.take(is_again);
        connection.wire.open();
        connection.requests = connection.in_flight.len() as u64;
        connection.activity = Activity::Connecting { since: self.now };
        let deadline = self.next_deadline(index).unwrap_or(Nanoseconds::MAX);
        match self.io.open(index, &self.shared.plan.endpoint, source) {
            Ok(()) => self.watch_deadline(index, deadline),
            Err(error) => self.not_connected(index, &error),
        }
    }

    /// Handles the end of an attempt to connect.
    pub(super) fn connected(&mut self, index: usize, result: Result<(), Errno>) {
        let Activity::Connecting { since } = self.connections[index].activity else {
            return;
        };
        let reset = match result.map_err(io::Error::from) {
            Ok(()) => false,
            Err(error) if was_reset(&error) => true,
            Err(error) => return self.not_connected(index, &error),
        };
        self.read_clock();
        let connection = &mut self.connections[index];
        connection.refusals = 0;
        if connection.role == Role::Load {
            self.counts.opened += 1;
            self.counts.reconnects += u64::from(connection.was_connected);
            self.open += 1;
            self.counts.most = self.counts.most.max(self.open);
            self.tally.connect.record(self.now - since);
        }
        connection.was_connected = true;
        connection.activity = Activity::Open;
        self.shed_late_requests(index);
        self.pass_to_wire(index);
        if reset {
            // It was open, however briefly: its requests count as reset, as if that had been noticed later.
            self.closed(index, Some(Errno::ECONNRESET));
        }
    }

    /// Fails the requests of a connection that could not be opened; but a shortage of local ports is not the server's
    /// fault.
    #[cold]
    fn not_connected(&mut self, index: usize, error: &io::Error) {
        if is_port_shortage(error) {
            self.counts.port_waits += 1;
        } else if was_reset(error) {
            self.give_up(index, Outcome::Reset, || {
                "the server reset the connection right after accepting it".into()
            });
        } else {
            self.give_up(index, Outcome::Refused, || {
                format!("cannot connect: {error}")
            });
        }
        self.retry_later(index);
    }

    fn give_up(&mut self, index: usize, outcome: Outcome, detail: impl Fn() -> String) {
        while self.connections[index].in_flight.pop_front().is_some() {
            self.count(index, outcome, &detail);
        }
    }

    /// Drops requests that waited for their connection until it was too late to send them.
    fn shed_late_requests(&mut self, index: usize) {
        let Some(after) = self.deadline else {
            return;
        };
        let now = self.now;
        let connection = &mut self.connections[index];
        let before = connection.in_flight.len();
        connection.in_flight.retain(|request| {
            let scheduled = request.from.filter(|_| !request.resent);
            scheduled.is_none_or(|at| at.saturating_add(after) > now)
        });
        let shed = before - connection.in_flight.len();
        (0..shed).for_each(|_| {
            self.count(index, Outcome::Shed, || {
                "its connection was established only after its deadline".into()
            });
        });
    }

    /// The connection was not established within the time that its requests had.
    #[cold]
    pub(super) fn connecting_timed_out(&mut self, index: usize, detail: impl Fn() -> String) {
        self.shed_late_requests(index);
        let now = self.now;
        let connection = &mut self.connections[index];
        let before = connection.in_flight.len();
        connection.in_flight.retain(|it| it.deadline > now);
        let timed_out = before - connection.in_flight.len();
        (0..timed_out).for_each(|_| self.count(index, Outcome::TimedOut, &detail));
        self.retry_later(index);
    }

    fn retry_later(&mut self, index: usize) {
        let refusals = self.connections[index].refusals;
        let pause = FIRST_RETRY << refusals.min(7);
        self.connections[index].refusals += 1;
        let at = self.now + pause.min(LONGEST_RETRY);
        self.close(index, Activity::Retrying { at });
        self.retries.add(at, index);
    }

    /// Retries the connections whose pause is over.
    pub(super) fn retry_due(&mut self) {
        while let Some(index) = self.retries.take_due(self.now) {
            let connection = &mut self.connections[index];
            match connection.activity {
                Activity::Retrying { at } if at <= self.now => {}
                _ => continue,
            }
            connection.activity = Activity::Closed;
            match (connection.in_flight.is_empty(), connection.role) {
                (false, _) => self.open(index),
                (true, Role::Stream) => self.begin_stream(index),
                (true, Role::Load) => self.free(index),
            }
        }
    }
}

fn is_port_shortage(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32)
}
