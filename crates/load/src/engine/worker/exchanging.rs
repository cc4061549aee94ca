//! Sending requests and taking their answers.

use nix::errno::Errno;
use prony_record::Outcome;

use super::{CLOSED, Worker};
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, Received};
use crate::engine::pacer::Pacer;
use crate::engine::poller::EventFlags;
use crate::wire::h1::{Collect, Whole};
use crate::wire::{Fault, Wire};

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    /// Sends the request that the connection is there for.
    #[inline]
    pub(super) fn ask(&mut self, index: usize, now: Nanoseconds) {
        let timeout = self.timeout;
        let connection = &mut self.connections[index];
        let Some(request) = &mut connection.request else {
            return;
        };
        if request.from.is_none() {
            request.from = Some(now);
            request.deadline = now.saturating_add(timeout);
        }
        request.sample = self
            .judge
            .samples_next()
            .then(|| Box::new(Collect::default()));
        connection.wire.request();
        connection.activity = Activity::Exchanging;
        self.send(index);
    }

    /// Sends what the wire has to send.
    #[inline]
    pub(super) fn send(&mut self, index: usize) {
        match self.connections[index].send() {
            Ok(length) => self.tally.bytes_written += length as u64,
            // What the server did before it closed, reading tells.
            Err(Errno::EPIPE | Errno::ECONNRESET) => self.on_readable(index, EventFlags::RDHUP),
            Err(errno) => self.unusable(index, || format!("cannot send: {errno}")),
        }
    }

    #[inline]
    pub(super) fn receive(&mut self, index: usize, flags: EventFlags) {
        let connection = &mut self.connections[index];
        let sent_whole = connection.wire.request_sent();
        let peer_closed = flags.intersects(CLOSED);
        match connection.receive(&mut self.buffers, peer_closed, &mut self.tally.bytes_read) {
            Received::Partly => self.flush(index),
            Received::More => {
                self.receive_later(index);
                self.flush(index);
            }
            Received::Whole(whole) if sent_whole => {
                let stays = whole.keep_alive && !peer_closed && !self.shared.plan.request.closes();
                self.answered(index, whole, stays);
            }
            Received::Whole(whole) => self.answered_early(index, whole),
            other => self.broken(index, other),
        }
    }

    /// Sends what the wire has to say of itself, such as to what it has just read.
    #[inline]
    pub(super) fn flush(&mut self, index: usize) {
        let connection = &self.connections[index];
        if connection.is_open() && !connection.wire.unsent().is_empty() {
            self.send(index);
        }
    }

    #[cold]
    fn receive_later(&mut self, index: usize) {
        if let Some(socket) = self.connections[index].socket()
            && let Err(errno) = self.poller.tell_again(socket, index)
        {
            self.unusable(index, || format!("cannot watch: {errno}"));
        }
    }

    /// Something came of a connection that no request is on its way over: the protocol's own talk,
    /// or the end. Neither is anybody's outcome.
    #[cold]
    pub(super) fn receive_idle(&mut self, index: usize, flags: EventFlags) {
        let connection = &mut self.connections[index];
        let peer_closed = flags.intersects(CLOSED);
        match connection.receive(&mut self.buffers, peer_closed, &mut self.tally.bytes_read) {
            Received::Partly if !peer_closed => self.flush(index),
            Received::More => self.receive_later(index),
            _ => connection.close(Activity::Idle),
        }
    }

    /// The answer is whole before the request is: the server has not read what it answers. Taken
    /// as ok, that would be the fastest of all.
    #[cold]
    fn answered_early(&mut self, index: usize, whole: Whole) {
        self.tally.status(whole.status);
        let request = self.connections[index].request.as_mut();
        let sample = request.and_then(|request| request.sample.take());
        let (outcome, detail) = match self.judge.verdict(whole, sample) {
            Err(wrong) => wrong,
            Ok(()) => (
                Outcome::Malformed,
                "the whole answer came before the request was sent whole".to_owned(),
            ),
        };
        self.failed(index, outcome, || detail);
    }

    #[inline]
    fn answered(&mut self, index: usize, whole: Whole, stays: bool) {
        let now = self.now();
        let connection = &mut self.connections[index];
        let Some(request) = connection.request.take() else {
            return;
        };
        connection.answers += 1;
        if !stays {
            connection.close(Activity::Idle);
        }
        self.in_flight -= 1;
        self.tally.status(whole.status);
        let compared = request.sample.is_some();
        match self.judge.verdict(whole, request.sample) {
            Ok(()) => {
                let latency = now - request.from.unwrap_or(now);
                self.tally.ok(latency, request.late);
            }
            Err((outcome, detail)) => self.tally.not_ok(outcome, || detail),
        }
        // The time that comparing took is not the next answer's.
        let now = if compared { self.now() } else { now };
        self.free(index, now);
    }

    #[cold]
    fn broken(&mut self, index: usize, received: Received) {
        let (outcome, detail) = match received {
            Received::ClosedEarly { in_answer: false } if self.may_ask_again(index) => {
                return self.ask_again(index);
            }
            Received::ClosedEarly { in_answer: false } => (
                Outcome::Reset,
                "the server closed the connection without an answer".into(),
            ),
            Received::ClosedEarly { in_answer: true } => (
                Outcome::Truncated,
                "the server closed the connection in the middle of the answer".into(),
            ),
            Received::Fault(fault @ Fault::Ended(_)) => (Outcome::Reset, fault.to_string()),
            Received::Fault(fault) => (Outcome::Malformed, fault.to_string()),
            Received::Broken(errno) => (Outcome::Reset, format!("the connection broke: {errno}")),
            Received::Partly | Received::More | Received::Whole(_) => return,
        };
        self.failed(index, outcome, || detail);
    }

    /// A server may close a connection after any whole answer, and its close and our next request
    /// may cross: then that request is sent once more, over a new connection (RFC 9112, 9.3.1), where
    /// doing it twice does no harm.
    fn may_ask_again(&self, index: usize) -> bool {
        let connection = &self.connections[index];
        let resent = connection.request.as_ref().is_none_or(|it| it.resent);
        connection.answers > 0 && !resent && self.shared.plan.request.is_idempotent()
    }

    fn ask_again(&mut self, index: usize) {
        self.counts.resent += 1;
        let connection = &mut self.connections[index];
        if let Some(request) = &mut connection.request {
            request.resent = true;
        }
        connection.close(Activity::Idle);
        self.open(index);
    }

    /// The connection is of no use any more, whatever it was doing.
    #[cold]
    fn unusable(&mut self, index: usize, detail: impl FnOnce() -> String) {
        if self.connections[index].request.is_some() {
            self.failed(index, Outcome::Reset, detail);
        } else {
            self.connections[index].close(Activity::Idle);
        }
    }

    /// The request on that connection has failed, and the connection with it.
    #[cold]
    pub(super) fn failed(
        &mut self,
        index: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.in_flight -= 1;
        self.tally.not_ok(outcome, detail);
        let connection = &mut self.connections[index];
        connection.request = None;
        connection.close(Activity::Idle);
        self.free(index, self.now());
    }
}
