//! Making connections, and making them again.

use std::io;

use nix::errno::Errno;
use prony_record::Outcome;

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::Activity;
use crate::engine::pacer::Pacer;
use crate::wire::Wire;

/// The pause after a failure to connect, doubled with each further one up to the longest.
const FIRST_RETRY: Nanoseconds = 10_000_000;
const LONGEST_RETRY: Nanoseconds = 1_000_000_000;

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    /// Connects, for the request that has begun.
    pub(super) fn open(&mut self, index: usize) {
        let now = self.now();
        let address = self.shared.plan.address;
        let connection = &mut self.connections[index];
        // Only what is made again and again, or in great number, can use up the ports.
        let source = if connection.was_connected || connection.refusals > 0 {
            self.sources.take()
        } else {
            None
        };
        let watched = connection
            .open(address, source, now)
            .and_then(|socket| self.poller.watch(socket, index).map_err(Into::into));
        match watched {
            Ok(()) => {}
            Err(error) if is_port_shortage(&error) => self.wait_for_port(index),
            Err(error) => self.refused(index, &error),
        }
    }

    pub(super) fn on_connected(&mut self, index: usize, since: Nanoseconds) {
        match self.connections[index].connect_result() {
            Ok(()) => {}
            Err(error) if is_port_shortage(&error) => return self.wait_for_port(index),
            Err(error) => return self.refused(index, &error),
        }
        let now = self.now();
        self.counts.opened += 1;
        self.tally.connect.record(now - since);
        let connection = &mut self.connections[index];
        connection.refusals = 0;
        self.counts.reconnects += u64::from(connection.was_connected);
        connection.was_connected = true;
        self.ask(index, now);
    }

    /// No connection: the request that it was for has failed.
    #[cold]
    fn refused(&mut self, index: usize, error: &io::Error) {
        self.not_connected(index, Outcome::Refused, || {
            format!("cannot connect: {error}")
        });
    }

    /// The request has failed before there was a connection for it; its user tries again later.
    #[cold]
    pub(super) fn not_connected(
        &mut self,
        index: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.in_flight -= 1;
        self.tally.not_ok(outcome, detail);
        self.connections[index].request = None;
        self.retry_later(index);
    }

    /// No local port is free: that is not the server's doing, so the request waits for one.
    #[cold]
    fn wait_for_port(&mut self, index: usize) {
        self.counts.port_waits += 1;
        self.retry_later(index);
    }

    fn retry_later(&mut self, index: usize) {
        let now = self.now();
        let connection = &mut self.connections[index];
        let pause = FIRST_RETRY << connection.refusals.min(7);
        connection.refusals += 1;
        connection.close(Activity::Retrying {
            at: now + pause.min(LONGEST_RETRY),
        });
    }

    /// Tries again: for the request that waits for it, or for the next one.
    pub(super) fn retry(&mut self, index: usize) {
        if self.connections[index].request.is_some() {
            self.open(index);
        } else {
            self.free(index, self.now());
        }
    }
}

fn is_port_shortage(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32)
}
