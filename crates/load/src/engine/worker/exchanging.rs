//! Sends requests and takes their responses.

use nix::errno::Errno;
use prony_model::Outcome;

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, InFlight, Role};
use crate::engine::event_loop::{Chunk, ReadNext};
use crate::engine::pacer::Pacer;
use crate::wire::{Eaten, Fault, Which, Whole, Wire};

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    /// Gives the wire the connection's requests that it does not have yet. They go with the next flush.
    #[inline]
    pub(super) fn pass_to_wire(&mut self, index: usize) {
        let now = self.now;
        let mut deadline = Nanoseconds::MAX;
        loop {
            let connection = &self.connections[index];
            let is_load = connection.role == Role::Load;
            let Some(request) = connection.in_flight.get(connection.passed) else {
                break;
            };
            // A resent request keeps its original deadline.
            let latest = match request.resent {
                true => request.deadline,
                false => self.latest_response(request.from),
            };
            let connection = &mut self.connections[index];
            let request = &mut connection.in_flight[connection.passed];
            request.deadline = latest;
            request.from.get_or_insert(now);
            // A resent request is not sampled again: its sample was dropped with the first attempt.
            request.sample = is_load.then(|| self.judge.sample_next(now)).flatten();
            deadline = deadline.min(request.deadline);
            connection.wire.request(Which {
                number: request.number,
                last: request.last,
            });
            connection.passed += 1;
        }
        self.watch_deadline(index, deadline);
    }

    /// Sends what the wire has to send.
    #[inline]
    pub(super) fn flush(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.is_open() {
            return;
        }
        let unsent = connection.wire.unsent();
        if unsent.is_empty() {
            return;
        }
        match self.io.send(index, unsent) {
            Ok(length) => {
                connection.wire.sent(length);
                if connection.role == Role::Load {
                    self.tally.bytes_written += length as u64;
                }
            }
            // Reading reports what the server did before it closed.
            Err(Errno::EPIPE | Errno::ECONNRESET) => {}
            Err(errno) => {
                self.closed(index, Some(errno));
                self.free_soon(index);
            }
        }
    }

    /// The connection was lost while it was given something to do: continue with it in the next turn.
    #[cold]
    fn free_soon(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if connection.activity == Activity::Closed && connection.in_flight.is_empty() {
            connection.disconnect(Activity::Retrying { at: self.now });
            self.retries.add(self.now, index);
        }
    }

    #[inline]
    pub(super) fn received(&mut self, index: usize, chunk: Chunk) {
        let length = self.io.bytes(&chunk).len();
        self.count_bytes_read(index, length as u64);
        let mut at = 0;
        while at < length && self.connections[index].is_open() {
            match self.eat(index, &chunk, at) {
                Err(fault) => self.faulty(index, fault),
                Ok(Eaten { bytes, whole }) => {
                    at += bytes;
                    let Some(whole) = whole else { break };
                    let others_due = self.connections[index].in_flight.len() > 1;
                    let may_stay = at < length || others_due || !chunk.more_follows;
                    self.responded(index, whole, may_stay);
                }
            }
        }
        drop(chunk);
        self.read_on(index);
    }

    #[inline]
    fn count_bytes_read(&mut self, index: usize, length: u64) {
        if self.connections[index].role == Role::Load {
            self.tally.bytes_read += length;
        }
    }

    #[inline]
    fn eat(&mut self, index: usize, chunk: &Chunk, at: usize) -> Result<Eaten, Fault> {
        let connection = &mut self.connections[index];
        let sample = match connection.in_flight.front_mut() {
            Some(request) => {
                if !std::mem::replace(&mut request.response_begun, true) {
                    let from = request.from.unwrap_or(self.now);
                    if self.shared.plan.first_byte && connection.role == Role::Load {
                        self.tally.first_byte.record(self.now.saturating_sub(from));
                    }
                    if connection.role == Role::Stream {
                        // From here on it may take any time.
                        request.deadline = Nanoseconds::MAX;
                    }
                }
                request.sample.as_mut().map(|sample| &mut sample.collect)
            }
            None => None,
        };
        let bytes = &self.io.bytes(chunk)[at..];
        let eaten = connection.wire.eat(bytes, sample);
        if self.shared.plan.events {
            self.take_events_of(index);
        }
        eaten
    }

    /// Body bytes arrived that nobody had to look at.
    #[inline]
    pub(super) fn skipped(&mut self, index: usize, length: u64) {
        self.count_bytes_read(index, length);
        if let Some(whole) = self.connections[index].wire.skip(length) {
            self.responded(index, whole, true);
        }
        self.read_on(index);
    }

    #[inline]
    fn read_on(&mut self, index: usize) {
        let connection = &self.connections[index];
        if !connection.is_open() {
            return;
        }
        let is_sampled = connection
            .in_flight
            .front()
            .is_some_and(|request| request.sample.is_some());
        let skippable = if is_sampled {
            0
        } else {
            connection.wire.skippable()
        };
        self.io.read_on(index, ReadNext { skippable });
    }

    /// The first request of that connection has its whole response. The connection stays open if both sides want it to,
    /// and it `may_stay`.
    #[inline]
    pub(super) fn responded(&mut self, index: usize, whole: Whole, may_stay: bool) {
        let connection = &mut self.connections[index];
        let is_sent = connection.wire.was_sent_before_response();
        let Some(request) = connection.in_flight.pop_front() else {
            return;
        };
        connection.passed -= 1;
        connection.responses += 1;
        let stays = whole.keep_alive && may_stay && is_sent && !self.closes(&request);
        if !stays {
            self.close_and_resend(index);
        }
        self.judge(index, request, whole, is_sent);
    }

    /// Whether the request asks the server to close its connection.
    #[inline]
    fn closes(&self, request: &InFlight) -> bool {
        request.last || self.shared.plan.request.closes(request.number)
    }

    /// Decides the outcome of a request that has a whole response.
    #[inline]
    fn judge(&mut self, index: usize, request: InFlight, whole: Whole, is_sent: bool) {
        let is_load = self.connections[index].role == Role::Load;
        if is_load {
            self.tally.status(whole.status);
        }
        let compared = request.sample.is_some();
        let body = self.connections[index].wire.short_body();
        let verdict = self.judge.verdict(whole, request.sample, body);
        if compared {
            self.tally.checked.count(verdict.is_err());
        }
        match verdict {
            // Counted as ok, a response to what the server has not read would be the fastest of all.
            Ok(()) if !is_sent => self.count(index, Outcome::Malformed, || {
                "the whole response arrived before the request was fully sent".into()
            }),
            Ok(()) if is_load => {
                self.in_flight -= 1;
                let latency = self.now.saturating_sub(request.from.unwrap_or(self.now));
                self.tally.ok(latency, request.queued);
            }
            Ok(()) => self.tally.streams.outcomes[Outcome::Ok] += 1,
            Err((outcome, detail)) => self.count(index, outcome, || detail),
        }
        if compared {
            // The next response is not charged the time of the comparison.
            self.read_clock();
        }
    }

    /// Counts the outcome of a request that is not ok.
    #[cold]
    pub(super) fn count(
        &mut self,
        index: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        match self.connections[index].role {
            Role::Load => {
                self.in_flight -= 1;
                self.tally.not_ok(outcome, detail);
            }
            Role::Stream => {
                self.tally.streams.outcomes[outcome] += 1;
                self.tally.wrong(outcome, detail);
            }
        }
    }

    /// Counts the events that have arrived in a connection's response.
    fn take_events_of(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let events = connection.wire.take_events();
        let Some(request) = connection.in_flight.front_mut().filter(|_| events > 0) else {
            return;
        };
        let tally = match connection.role {
            Role::Load => &mut self.tally.events,
            Role::Stream => &mut self.tally.streams.events,
        };
        let from = request.from.unwrap_or(self.now);
        tally.received(events, self.now, from, request.last_event);
        request.last_event = Some(self.now);
    }
}
