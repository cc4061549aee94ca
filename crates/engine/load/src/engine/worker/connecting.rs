//! Opens and reopens connections.

use std::io;

use nix::errno::Errno;
use prony_model::Outcome;

use super::Worker;
use super::deadlines::NO_CONNECTION;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, Role, TimedHandshake};
use crate::target::{is_port_shortage, was_reset};
use crate::wire::{Fault, Wire};

/// The pause after a failure to connect; each further failure doubles it, up to the longest.
const FIRST_RETRY: Nanoseconds = 10_000_000;
const LONGEST_RETRY: Nanoseconds = 1_000_000_000;

impl<W: Wire> Worker<'_, W> {
    pub(super) fn open(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let is_again = connection.was_connected || connection.refusals > 0;
        let source = self.sources.take(is_again);
        connection.wire.open();
        connection.activity = Activity::Connecting { since: self.now };
        if connection.role == Role::Load {
            connection.set_up_since = Some(self.now);
            self.growth.begins_set_up();
        }
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
        if connection.role == Role::Load {
            self.counts.opened += 1;
            self.counts.reconnects += u64::from(connection.was_connected);
            self.open += 1;
            self.counts.most = self.counts.most.max(self.open);
            self.tally.connect.record(self.now - since);
        }
        connection.was_connected = true;
        if connection.wire.is_ready() {
            self.begin_sending(index);
        } else {
            connection.activity = Activity::Handshaking { since: self.now };
            let deadline = self.next_deadline(index).unwrap_or(Nanoseconds::MAX);
            self.watch_deadline(index, deadline);
        }
        if reset {
            // It was open, however briefly: its requests count as reset, as if that had been noticed later.
            self.closed(index, Some(Errno::ECONNRESET));
        }
    }

    /// Ends the handshake of a connection once its wire is ready.
    pub(super) fn check_handshake(&mut self, index: usize) {
        let connection = &self.connections[index];
        let Activity::Handshaking { since } = connection.activity else {
            return;
        };
        if !connection.wire.is_ready() {
            return;
        }
        self.read_clock();
        let connection = &mut self.connections[index];
        if let Some(handshake) = connection.wire.handshake()
            && connection.role == Role::Load
        {
            connection.handshake = Some(TimedHandshake {
                resumed: handshake.resumed,
                took: self.now.saturating_sub(since),
            });
            self.agreement.get_or_insert(handshake.agreement);
        }
        self.begin_sending(index);
    }

    /// Counts the handshake of a connection, which the server has not refused after all.
    pub(super) fn count_handshake(&mut self, index: usize) {
        if let Some(handshake) = self.connections[index].handshake.take() {
            let TimedHandshake { resumed, took } = handshake;
            self.tally.handshakes.record(resumed, took);
        }
    }

    /// Counts the handshakes of connections that stay open: they belong to the phase that ends now.
    pub(super) fn count_handshakes(&mut self) {
        (0..self.connections.len()).for_each(|index| self.count_handshake(index));
    }

    fn begin_sending(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.activity = Activity::Open;
        if let Some(since) = connection.set_up_since.take() {
            self.growth.ends_set_up(self.now, Some(self.now - since));
        }
        self.drop_unsent(index, NO_CONNECTION);
        self.connections[index].carry_only_these();
        self.pass_to_wire(index);
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

    /// Fails the requests of a connection whose handshake failed. The next attempt follows after a pause.
    #[cold]
    pub(super) fn handshake_failed(&mut self, index: usize, fault: &Fault) {
        self.connections[index].handshake = None;
        if self.connections[index].in_flight.is_empty() {
            self.tally.wrong(fault.outcome(), || fault.to_string());
        }
        self.give_up(index, fault.outcome(), || fault.to_string());
        self.send_all(index);
        self.retry_later(index);
    }

    fn give_up(&mut self, index: usize, outcome: Outcome, detail: impl Fn() -> String) {
        while let Some(mut request) = self.connections[index].in_flight.pop_front() {
            self.count(index, &mut request, outcome, &detail);
        }
    }

    /// The time that requests of the connection had, or that it had itself, is over before it is established. The
    /// requests fail, but the attempt goes on as long as it may: otherwise short deadlines would prevent the connection.
    #[cold]
    pub(super) fn connecting_timed_out(&mut self, index: usize, missing: &str) {
        self.drop_unsent(index, missing);
        self.connections[index].carry_only_these();
        let deadline = self.connecting_deadline(index);
        if deadline.is_some_and(|at| at <= self.now) {
            self.retry_later(index);
        }
    }

    pub(super) fn retry_later(&mut self, index: usize) {
        let refusals = self.connections[index].refusals;
        let pause = FIRST_RETRY << refusals.min(7);
        self.connections[index].refusals += 1;
        let at = self.now + pause.min(LONGEST_RETRY);
        if self.connections[index].role == Role::Load {
            self.retries_until = self.retries_until.max(at);
        }
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
