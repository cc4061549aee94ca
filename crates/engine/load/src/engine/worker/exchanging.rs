//! Sends requests and takes their responses.

use std::collections::VecDeque;

use nix::errno::Errno;
use prony_model::Outcome;
use prony_traffic::Collect;

use super::Worker;
use crate::engine::clock::{Nanoseconds, nanoseconds};
use crate::engine::connection::{Activity, InFlight, Role};
use crate::engine::event_loop::{Chunk, ReadNext};
use crate::engine::flows::Flows;
use crate::engine::judge::{Kept, Sample};
use crate::engine::phase::Begin;
use crate::engine::tally::Tally;
use crate::wire::{Eaten, End, EndedResponse, Fault, Responses, Which, Whole, Wire};

impl<W: Wire> Worker<'_, W> {
    /// Gives the wire the connection's requests that it does not have yet. They go with the next flush.
    #[inline]
    pub(super) fn pass_to_wire(&mut self, index: usize) {
        let now = self.now;
        let mut deadline = Nanoseconds::MAX;
        while self.connections[index].wire.room() > 0 {
            let connection = &self.connections[index];
            let is_load = connection.role == Role::Load;
            let Some(request) = connection.in_flight.get(connection.passed) else {
                break;
            };
            // A resent request keeps its original deadline.
            let latest = if request.resent {
                request.deadline
            } else {
                self.latest_response(request.from)
            };
            let connection = &mut self.connections[index];
            let request = &mut connection.in_flight[connection.passed];
            request.deadline = latest;
            request.from.get_or_insert(now);
            if let Some(traced) = &mut request.traced {
                traced.sent(now);
            }
            match self.flows.as_mut().filter(|_| is_load) {
                None => {
                    request.sample = is_load.then(|| self.judge.keep_next(now)).flatten();
                    connection.wire.request(Which {
                        number: request.number,
                        last: request.last,
                    });
                }
                Some(flows) => {
                    let user = index - self.share.streams;
                    let timeout = flows.limits(user).timeout;
                    let most = timeout.map_or(Nanoseconds::MAX, nanoseconds);
                    request.deadline = latest.min(now.saturating_add(most));
                    request.sample = flows.sample(user, self.judge.sample_next(now));
                    connection
                        .wire
                        .request_own(flows.request(user), request.last);
                }
            }
            deadline = deadline.min(request.deadline);
            connection.passed += 1;
        }
        self.watch_deadline(index, deadline);
    }

    /// Sends what the wire has to send.
    #[inline]
    pub(super) fn flush(&mut self, index: usize) {
        let connection = &self.connections[index];
        if !connection.is_connected() {
            return;
        }
        if connection.is_open() && connection.passed < connection.in_flight.len() {
            self.pass_to_wire(index);
        }
        self.send_all(index);
        self.check_fault(index);
    }

    /// Sends what the wire has to send, as far as the socket takes it.
    #[inline]
    pub(super) fn send_all(&mut self, index: usize) {
        while self.send_some(index) {}
    }

    /// Fails a connection that cannot go on, whatever the server sends.
    #[inline]
    fn check_fault(&mut self, index: usize) {
        let connection = &self.connections[index];
        if connection.is_connected()
            && let Some(fault) = connection.wire.fault()
        {
            self.faulty(index, fault);
            self.free_soon(index);
        }
    }

    /// Sends the bytes that the wire has ready, and returns whether it may have more: a wire that encrypts does so a
    /// piece at a time.
    #[inline]
    fn send_some(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let unsent = connection.wire.unsent();
        let ready = unsent.len();
        if ready == 0 {
            return false;
        }
        match self.io.send(index, unsent) {
            Ok(length) => {
                connection.wire.sent(length);
                if connection.role == Role::Load {
                    self.tally.bytes_written += length as u64;
                }
                length == ready
            }
            // Reading reports what the server did before it closed.
            Err(Errno::EPIPE | Errno::ECONNRESET) => false,
            Err(errno) => {
                self.closed(index, Some(errno));
                self.free_soon(index);
                false
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
        self.connections[index].end_part_wait(self.now);
        let mut at = 0;
        loop {
            match self.eat(index, &chunk, at) {
                Err(fault) => self.faulty(index, fault),
                Ok(Eaten { bytes, ended }) => {
                    at += bytes;
                    let Some(ended) = ended else { break };
                    let others_due = self.connections[index].in_flight.len() > 1;
                    let may_stay = at < length || others_due || !chunk.more_follows;
                    self.ended(index, ended, may_stay);
                }
            }
            let connection = &self.connections[index];
            if !connection.is_open() || (at == length && !connection.wire.has_more()) {
                break;
            }
        }
        drop(chunk);
        self.connections[index].begin_part_wait(self.now);
        self.check_handshake(index);
        self.replace_finished(index);
        self.check_closed(index);
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
        let mut responses = Receiving {
            in_flight: &mut connection.in_flight,
            role: connection.role,
            tally: &mut self.tally,
            now: self.now,
            first_byte: self.shared.plan.first_byte,
        };
        let bytes = &self.io.bytes(chunk)[at..];
        connection.wire.eat(bytes, &mut responses)
    }

    /// Body bytes arrived that nobody had to look at.
    #[inline]
    pub(super) fn skipped(&mut self, index: usize, length: u64) {
        self.count_bytes_read(index, length);
        if let Some(ended) = self.connections[index].wire.skip(length) {
            self.ended(index, ended, true);
        }
        self.read_on(index);
    }

    #[inline]
    fn read_on(&mut self, index: usize) {
        let connection = &self.connections[index];
        if !connection.is_connected() {
            return;
        }
        let is_sampled = connection
            .in_flight
            .front()
            .and_then(|request| request.sample.as_ref())
            .is_some_and(|sample| !sample.collect.is_cut());
        let skippable = if is_sampled {
            0
        } else {
            connection.wire.skippable()
        };
        self.io.read_on(index, ReadNext { skippable });
    }

    /// A response has ended. The connection stays open if both sides want it to, and it `may_stay`.
    #[inline]
    pub(super) fn ended(&mut self, index: usize, ended: EndedResponse, may_stay: bool) {
        match ended.end {
            End::Whole(whole) => {
                self.responded(index, ended.position, whole, ended.was_sent, may_stay);
            }
            End::Failed(fault) => self.response_failed(index, ended.position, &fault),
            End::Unprocessed(fault) => self.unprocessed(index, ended.position, &fault),
        }
    }

    #[inline]
    fn responded(
        &mut self,
        index: usize,
        position: usize,
        whole: Whole,
        was_sent: bool,
        may_stay: bool,
    ) {
        let Some(request) = self.take_passed(index, position) else {
            return;
        };
        let connection = &mut self.connections[index];
        connection.responses += 1;
        connection.refusals = 0;
        let stays = whole.keep_alive && may_stay && !self.is_to_close(index, &request);
        if !stays {
            self.close_and_resend(index);
        }
        self.judge(index, request, whole, was_sent);
    }

    /// Takes a request that the wire has no more.
    #[inline]
    pub(super) fn take_passed(&mut self, index: usize, position: usize) -> Option<InFlight> {
        let connection = &mut self.connections[index];
        let request = match position {
            0 => connection.in_flight.pop_front(),
            _ => connection.in_flight.remove(position),
        };
        connection.passed = connection.passed.saturating_sub(1);
        request
    }

    /// Whether the connection ends with the response to `request`: it was the last one, or asked the server to close.
    #[inline]
    fn is_to_close(&self, index: usize, request: &InFlight) -> bool {
        let connection = &self.connections[index];
        (connection.is_used_up && connection.in_flight.is_empty())
            || self.shared.sent.closes(request.number)
    }

    /// Decides the outcome of a request that has a whole response.
    #[inline]
    fn judge(&mut self, index: usize, mut request: InFlight, whole: Whole, was_sent: bool) {
        let is_load = self.connections[index].role == Role::Load;
        if let Some(traced) = &mut request.traced {
            traced.responded(&whole);
        }
        if is_load {
            self.tally.status(whole.status);
            if let Some(status) = whole.rpc_status {
                self.tally.rpc_status(status);
            }
        }
        let sample = request.sample.take();
        let compared = sample.is_some();
        let latency = self.now.saturating_sub(request.from.unwrap_or(self.now));
        let is_late = request.deadline <= self.now;
        let verdict = match self.flows.as_mut().filter(|_| is_load) {
            None => self.verdict(index, whole, sample),
            Some(flows) => {
                let user = index - self.share.streams;
                let are_requests = flows.are_requests();
                let taken = flows.respond(user, whole.status, sample, latency);
                taken.and_then(|compared| {
                    if are_requests {
                        self.verdict(index, whole, compared)
                    } else {
                        Ok(())
                    }
                })
            }
        };
        match verdict {
            // The worker may look at a response before the timetable, although both are due.
            _ if is_late => {
                let detail = self.no_response_in_time(index);
                self.count(index, &mut request, Outcome::TimedOut, || detail);
            }
            // Counted as ok, a response to what the server has not read would be the fastest of all.
            Ok(()) if !was_sent => self.count(index, &mut request, Outcome::Malformed, || {
                "the full response arrived before the request was fully sent".into()
            }),
            Ok(()) if request.excess.is_some() => {
                if let Some(fault) = request.excess.take() {
                    self.count(index, &mut request, fault.outcome(), || fault.to_string());
                }
            }
            Ok(()) if is_load => {
                self.in_flight -= 1;
                // A flow keeps its connection for longer than each of its requests.
                if self.can_grow() && self.flows.as_ref().is_none_or(Flows::are_requests) {
                    self.growth
                        .served(self.now, self.now.saturating_sub(request.begun));
                }
                let begin = self.begin_of(index, &request);
                let is_completed = self.phase.counts(begin);
                let slow_from = &self.shared.plan.slow_from_ns;
                self.tally.ok(latency, is_completed, slow_from);
                if let Some(stage) = self.stage_of(begin.due) {
                    let in_stage = !begin.queued || self.stage_of(begin.at) == Some(stage);
                    self.tally
                        .stage(stage)
                        .ok(latency, in_stage && is_completed);
                }
                if let Some(first_byte) = request.first_byte {
                    self.tally.first_byte.record(first_byte);
                }
                // A server that waits for acknowledgements does so once in a response: then all the rest may leave.
                self.tally.ack_waits += u64::from(request.ack_waits == 1);
                if self.flows.is_some() {
                    self.tally.flows().entry_ok(request.number, latency);
                }
                self.trace(&mut request, Outcome::Ok);
                self.check_warmup_end();
            }
            Ok(()) => self.tally.streams.outcomes[Outcome::Ok] += 1,
            Err((outcome, detail)) => self.count(index, &mut request, outcome, || detail),
        }
        if compared {
            // The next response is not charged the time of the comparison.
            self.read_clock();
        }
    }

    /// The begin of a request of the load, or of the flow that it belongs to.
    #[inline]
    pub(super) fn begin_of(&self, index: usize, request: &InFlight) -> Begin {
        let flows = self.flows.as_ref();
        let flow = flows.and_then(|flows| flows.begin_of(index - self.share.streams));
        flow.unwrap_or(Begin {
            due: request.from.unwrap_or(request.begun),
            at: request.begun,
            queued: request.queued,
        })
    }

    /// The stage of the schedule in which a request was due, if the load has stages.
    #[inline]
    pub(super) fn stage_of(&self, due: Nanoseconds) -> Option<usize> {
        let is_measured = self.phase.measuring && due >= self.phase.began;
        is_measured
            .then(|| self.stages.at(due - self.phase.began))
            .flatten()
    }

    /// Counts an outcome that is not ok in the stage of its request.
    pub(super) fn count_in_stage(&mut self, index: usize, request: &InFlight, outcome: Outcome) {
        let due = self.begin_of(index, request).due;
        if let Some(stage) = self.stage_of(due) {
            self.tally.stage(stage).outcomes[outcome] += 1;
        }
    }

    /// The verdict on a whole response to a request of the set.
    #[inline]
    fn verdict(
        &mut self,
        index: usize,
        whole: Whole,
        sample: Option<Box<Sample>>,
    ) -> Result<(), (Outcome, String)> {
        let compared = sample.is_some() && self.judge.compares();
        let wire = &self.connections[index].wire;
        let kept = Kept {
            sample,
            short_body: wire.short_body(),
            message: wire.message(),
        };
        let verdict = self.judge.verdict(whole, kept);
        if compared {
            self.tally.checked.count(verdict.is_err());
        }
        verdict
    }

    /// Counts the outcome of a request that is not ok.
    #[cold]
    pub(super) fn count(
        &mut self,
        index: usize,
        request: &mut InFlight,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.trace(request, outcome);
        match self.connections[index].role {
            Role::Load => {
                self.in_flight -= 1;
                self.count_in_stage(index, request, outcome);
                match &mut self.flows {
                    None => self.tally.not_ok(outcome, detail),
                    Some(flows) => {
                        let (user, detail) = (index - self.share.streams, detail());
                        let tally = self.tally.flows();
                        flows.failed(user, request.number, tally, outcome, &detail);
                        self.tally.not_ok(outcome, || detail);
                    }
                }
                self.check_warmup_end();
            }
            Role::Stream => {
                self.tally.streams.outcomes[outcome] += 1;
                self.tally.wrong(outcome, detail);
            }
        }
    }
}

/// Notes what arrives in the responses of one connection.
struct Receiving<'a> {
    in_flight: &'a mut VecDeque<InFlight>,
    role: Role,
    tally: &'a mut Tally,
    now: Nanoseconds,
    /// Whether to measure the time to the first byte.
    first_byte: bool,
}

impl Responses for Receiving<'_> {
    #[inline]
    fn begun(&mut self, position: usize) {
        let Some(request) = self.in_flight.get_mut(position) else {
            return;
        };
        if std::mem::replace(&mut request.response_begun, true) {
            return;
        }
        if let Some(traced) = &mut request.traced {
            traced.begun(self.now);
        }
        match self.role {
            Role::Load if self.first_byte => {
                let from = request.from.unwrap_or(self.now);
                request.first_byte = Some(self.now.saturating_sub(from));
            }
            Role::Load => {}
            // From here on it may take any time.
            Role::Stream => request.deadline = Nanoseconds::MAX,
        }
    }

    #[inline]
    fn keep(&mut self, position: usize) -> Option<&mut Collect> {
        let sample = self.in_flight.get_mut(position)?.sample.as_mut()?;
        Some(&mut sample.collect)
    }

    fn events(&mut self, position: usize, count: u64) {
        let Some(request) = self.in_flight.get_mut(position) else {
            return;
        };
        let tally = match self.role {
            Role::Load => &mut self.tally.events,
            Role::Stream => &mut self.tally.streams.events,
        };
        let from = request.from.unwrap_or(self.now);
        tally.received(count, self.now, from, request.last_event);
        request.events += count;
        request.last_event = Some(self.now);
    }
}
