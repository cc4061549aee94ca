//! The connections of a worker: opens them, carries requests over them, and sees that each request gets its outcome.

use std::fmt::Display;
use std::io;

use nix::errno::Errno;
use prony_model::Outcome;

use super::deadlines::Deadlines;
use super::growth::Growth;
use super::idle::IdleQueue;
use super::ledger::Ledger;
use super::receiving::Receiving;
use super::shared::{ConnectionCounts, Share, Shared};
use crate::engine::clock::{Nanoseconds, Timetable, nanoseconds};
use crate::engine::connection::{Activity, Connection, InFlight, TimedHandshake};
use crate::engine::event_loop::{Chunk, EventLoop, FirstEventLoop, LONG_BODY, SocketEvent};
use crate::engine::flows::Flows;
use crate::engine::source_address::SourceAddresses;
use crate::engine::tally::StreamCourse;
use crate::plan::LoadPlan;
use crate::request::EncodedTraffic;
use crate::target::{is_port_shortage, was_reset};
use crate::wire::tls::Agreement;
use crate::wire::{Eaten, End, EndedResponse, Fault, OnClose, Which, Whole, Wire};

/// The pause after a failure to connect; each further failure doubles it, up to the longest.
const FIRST_RETRY: Nanoseconds = 10_000_000;
const LONGEST_RETRY: Nanoseconds = 1_000_000_000;
/// The pause before a stream that has ended is requested again: short responses must not become a load of their own.
const STREAM_PAUSE: Nanoseconds = 10_000_000;

const NO_CONNECTION: &str = "connection";
const NO_HANDSHAKE: &str = "finished handshake";
const NO_FREE_STREAM: &str = "free stream";
const NO_RESPONSE: &str = "the server closed the connection without a response";
const CUT_SHORT: &str = "the server closed the connection in the middle of the response";

pub(in crate::engine) struct Connections<'a, W> {
    plan: &'a LoadPlan,
    sent: &'a EncodedTraffic<'a>,
    pub(super) io: EventLoop,
    /// After how many responses the event loop is chosen; `None` if that is settled.
    chooses_after: Option<u64>,
    new_wire: &'a dyn Fn() -> W,
    /// First the held streams, then the load's connections.
    pub(super) all: Vec<Connection<W>>,
    /// How many there may be.
    slots: usize,
    sources: SourceAddresses,
    deadlines: Deadlines,
    /// Connections to retry, and until when one of the load's waits for that.
    retries: Timetable,
    retries_until: Nanoseconds,
    pub(super) idle: IdleQueue,
    pub(super) growth: Growth,
    pub(super) ledger: Ledger<'a>,
    pub(super) counts: ConnectionCounts,
    /// What the first handshake agreed on.
    pub(super) agreement: Option<Agreement>,
    /// How many connections of the load are open.
    pub(super) open: u64,
}

impl<'a, W: Wire> Connections<'a, W> {
    pub(in crate::engine) fn new(
        shared: &Shared<'a>,
        FirstEventLoop { io, chooses_after }: FirstEventLoop,
        share: Share,
        new_wire: &'a dyn Fn() -> W,
        ledger: Ledger<'a>,
    ) -> Self {
        let initial = share.streams + share.connections;
        let plan = shared.plan;
        Self {
            plan,
            sent: shared.sent,
            io,
            chooses_after,
            new_wire,
            all: (0..initial).map(|_| Connection::new(new_wire())).collect(),
            slots: share.slots(),
            sources: SourceAddresses::of(plan),
            deadlines: Deadlines::default(),
            retries: Timetable::default(),
            retries_until: 0,
            idle: IdleQueue::default(),
            growth: Growth::new(
                share.connections,
                share.most_connections,
                plan.load.pipeline,
            ),
            ledger,
            counts: ConnectionCounts::default(),
            agreement: None,
            open: 0,
        }
    }

    /// Adds a connection of the load, which is not open.
    pub(super) fn add(&mut self) -> usize {
        self.all.push(Connection::new((self.new_wire)()));
        self.growth.added();
        self.all.len() - 1
    }

    /// How many connections from `first` on are not open yet, but will be.
    pub(super) fn connecting(&self, first: usize) -> usize {
        let waits = |it: &&Connection<W>| !it.is_open() && !it.is_retrying();
        self.all[first..].iter().filter(waits).count()
    }

    /// Whether each request has a connection of its own.
    fn is_without_keep_alive(&self) -> bool {
        self.plan.load.requests_per_connection == Some(1) || self.sent.closes(0)
    }

    /// Whether each arrival opens a connection of its own: because none carries a second request, or none is open that could
    /// become free for it.
    pub(super) fn opens_for_each_arrival(&self) -> bool {
        let none_is_left_open = self.open == 0 || self.is_without_keep_alive();
        none_is_left_open && self.growth.is_possible()
    }

    /// Whether a connection of the load waits to be tried again.
    pub(super) fn is_retrying(&self) -> bool {
        self.retries_until > self.ledger.now
    }

    /// When the next deadline, or pause before a retry, may be over.
    pub(super) fn next_check(&self) -> Nanoseconds {
        self.deadlines.next().min(self.retries.next())
    }

    #[inline]
    pub(super) fn on_event(&mut self, index: usize, event: SocketEvent) {
        match event {
            SocketEvent::Received(chunk) => self.received(index, chunk),
            SocketEvent::Skipped(length) => self.skipped(index, length),
            SocketEvent::Writable => self.flush(index),
            SocketEvent::Connected(result) => self.connected(index, result),
            SocketEvent::Closed => self.closed(index, None),
            SocketEvent::Broken(errno) => self.closed(index, Some(errno)),
        }
    }

    /// Settles the event loop, once enough responses have shown how long they are. The worker started with epoll.
    pub(super) fn choose_event_loop(&mut self) {
        let Some(enough) = self.chooses_after else {
            return;
        };
        let tally = &self.ledger.tally;
        let of = |outcome| tally.outcomes[outcome];
        let responses = of(Outcome::Ok) + of(Outcome::WrongStatus) + of(Outcome::WrongBody);
        if responses < enough {
            return;
        }
        self.chooses_after = None;
        if tally.bytes_read < responses * LONG_BODY {
            self.io.switch_to_io_uring(self.slots);
            // Send what epoll had no room for.
            (0..self.all.len()).for_each(|index| self.flush(index));
        }
    }

    pub(super) fn open(&mut self, index: usize) {
        let is_load = !self.ledger.is_stream(index);
        let now = self.ledger.now;
        let connection = &mut self.all[index];
        let is_again = connection.was_connected || connection.refusals > 0;
        let source = self.sources.take(is_again);
        connection.wire.open();
        connection.activity = Activity::Connecting { since: now };
        if is_load {
            connection.set_up_since = Some(now);
            self.growth.begins_set_up();
        }
        match self.io.open(index, &self.plan.endpoint, source) {
            Ok(()) => self.watch_deadlines(index),
            Err(error) => self.not_connected(index, &error),
        }
    }

    /// Handles the end of an attempt to connect.
    fn connected(&mut self, index: usize, result: Result<(), Errno>) {
        let Activity::Connecting { since } = self.all[index].activity else {
            return;
        };
        let reset = match result.map_err(io::Error::from) {
            Ok(()) => false,
            Err(error) if was_reset(&error) => true,
            Err(error) => return self.not_connected(index, &error),
        };
        let now = self.ledger.read_clock();
        let connection = &mut self.all[index];
        if !self.ledger.is_stream(index) {
            self.counts.opened += 1;
            self.counts.reconnects += u64::from(connection.was_connected);
            self.open += 1;
            self.counts.most = self.counts.most.max(self.open);
            self.ledger.tally.connect.record(now - since);
        }
        connection.was_connected = true;
        if connection.wire.is_ready() {
            self.begin_sending(index);
        } else {
            connection.activity = Activity::Handshaking { since: now };
            self.watch_deadlines(index);
        }
        if reset {
            // It was open, however briefly: its requests count as reset, as if that had been noticed later.
            self.closed(index, Some(Errno::ECONNRESET));
        }
    }

    /// Ends the handshake of a connection once its wire is ready.
    fn check_handshake(&mut self, index: usize) {
        let connection = &self.all[index];
        let Activity::Handshaking { since } = connection.activity else {
            return;
        };
        if !connection.wire.is_ready() {
            return;
        }
        let now = self.ledger.read_clock();
        let connection = &mut self.all[index];
        if let Some(handshake) = connection.wire.handshake()
            && !self.ledger.is_stream(index)
        {
            connection.handshake = Some(TimedHandshake {
                resumed: handshake.resumed,
                took: now.saturating_sub(since),
            });
            self.agreement.get_or_insert(handshake.agreement);
        }
        self.begin_sending(index);
    }

    /// Counts the handshake of a connection, which the server has not refused after all.
    fn count_handshake(&mut self, index: usize) {
        if let Some(handshake) = self.all[index].handshake.take() {
            let TimedHandshake { resumed, took } = handshake;
            self.ledger.tally.handshakes.record(resumed, took);
        }
    }

    /// Counts the handshakes of connections that stay open: they belong to the phase that ends now.
    fn count_handshakes(&mut self) {
        (0..self.all.len()).for_each(|index| self.count_handshake(index));
    }

    fn begin_sending(&mut self, index: usize) {
        let now = self.ledger.now;
        let connection = &mut self.all[index];
        connection.activity = Activity::Open;
        if let Some(since) = connection.set_up_since.take() {
            self.growth.ends_set_up(now, Some(now - since));
        }
        self.drop_unsent(index, NO_CONNECTION);
        self.all[index].carry_only_these();
        self.pass_to_wire(index);
    }

    /// Fails the requests of a connection that could not be opened; but a shortage of local ports is not the server's
    /// fault.
    #[cold]
    fn not_connected(&mut self, index: usize, error: &io::Error) {
        if is_port_shortage(error) {
            self.counts.port_waits += 1;
        } else if was_reset(error) {
            let detail = "the server reset the connection right after accepting it";
            self.give_up(index, Outcome::Reset, detail);
        } else {
            let detail = format_args!("cannot connect: {error}");
            self.give_up(index, Outcome::Refused, detail);
        }
        self.retry_later(index);
    }

    /// Fails the requests of a connection whose handshake failed. The next attempt follows after a pause.
    #[cold]
    fn handshake_failed(&mut self, index: usize, fault: &Fault) {
        self.all[index].handshake = None;
        if self.all[index].in_flight.is_empty() {
            self.ledger.tally.wrong(fault.outcome(), fault);
        }
        self.give_up(index, fault.outcome(), fault);
        self.send_all(index);
        self.retry_later(index);
    }

    fn give_up(&mut self, index: usize, outcome: Outcome, detail: impl Display) {
        while let Some(request) = self.all[index].in_flight.pop_front() {
            self.not_ok(index, request, outcome, &detail);
        }
    }

    fn retry_later(&mut self, index: usize) {
        let refusals = self.all[index].refusals;
        let pause = FIRST_RETRY << refusals.min(7);
        self.all[index].refusals += 1;
        let at = self.ledger.now + pause.min(LONGEST_RETRY);
        if !self.ledger.is_stream(index) {
            self.retries_until = self.retries_until.max(at);
        }
        self.rest(index, at);
    }

    /// Closes the connection, which is tried again then.
    fn rest(&mut self, index: usize, at: Nanoseconds) {
        self.close(index, Activity::Retrying { at });
        self.retries.add(at, index);
    }

    /// Takes a connection whose pause is over.
    pub(super) fn take_retry(&mut self) -> Option<usize> {
        let now = self.ledger.now;
        while let Some(index) = self.retries.take_due(now) {
            let connection = &mut self.all[index];
            if matches!(connection.activity, Activity::Retrying { at } if at <= now) {
                connection.activity = Activity::Closed;
                return Some(index);
            }
        }
        None
    }

    /// Begins a request, whose latency runs from its due time if there is one. `queued` says whether it was due before
    /// its user became free.
    #[inline]
    pub(super) fn begin(
        &mut self,
        index: usize,
        number: usize,
        due: Option<Nanoseconds>,
        queued: bool,
    ) {
        let ledger = &mut self.ledger;
        let now = ledger.now;
        ledger.in_flight += 1;
        let limits = ledger.limits;
        let latest_send = due.map_or(Nanoseconds::MAX, |at| limits.latest_send(at));
        // Until it is sent.
        let deadline = limits.latest_response(now, due).min(latest_send);
        let user = index - ledger.streams;
        let trace = ledger.recorder.trace.as_mut();
        let traced = trace.and_then(|trace| trace.begin(user, number, due, now));
        let connection = &mut self.all[index];
        connection.requests += 1;
        let most = self.plan.load.requests_per_connection;
        let last = most.is_some_and(|most| connection.requests >= most);
        connection.in_flight.push_back(InFlight {
            number,
            from: due,
            begun: now,
            deadline,
            queued,
            excess: connection.excess.take(),
            last,
            traced,
            ..InFlight::default()
        });
        connection.is_used_up = last;
        match connection.activity {
            Activity::Open if connection.wire.room() > 0 => self.pass_to_wire(index),
            Activity::Closed => self.open(index),
            _ => self.deadlines.watch(index, deadline),
        }
    }

    /// Requests a stream.
    pub(super) fn begin_stream(&mut self, index: usize, number: usize) {
        let connection = &mut self.all[index];
        connection.in_flight.push_back(InFlight {
            number,
            deadline: self.ledger.now.saturating_add(self.ledger.limits.timeout),
            resent: true,
            ..InFlight::default()
        });
        if connection.is_open() {
            self.pass_to_wire(index);
            self.flush(index);
        } else {
            self.open(index);
        }
    }

    /// Gives the wire the connection's requests that it does not have yet. They go with the next flush.
    #[inline]
    fn pass_to_wire(&mut self, index: usize) {
        let ledger = &mut self.ledger;
        let now = ledger.now;
        let is_load = !ledger.is_stream(index);
        let connection = &mut self.all[index];
        let mut deadline = Nanoseconds::MAX;
        while connection.wire.room() > 0
            && let Some(request) = connection.in_flight.get_mut(connection.passed)
        {
            // A resent request keeps its original deadline.
            if !request.resent {
                request.deadline = ledger.limits.latest_response(now, request.from);
            }
            request.from.get_or_insert(now);
            if let Some(traced) = &mut request.traced {
                traced.sent(now);
            }
            match ledger.flows.as_mut().filter(|_| is_load) {
                None => {
                    request.sample = is_load.then(|| ledger.judge.keep_next(now)).flatten();
                    connection.wire.request(Which {
                        number: request.number,
                        last: request.last,
                    });
                }
                Some(flows) => {
                    let user = index - ledger.streams;
                    let timeout = flows.limits(user).timeout;
                    let most = timeout.map_or(Nanoseconds::MAX, nanoseconds);
                    request.deadline = request.deadline.min(now.saturating_add(most));
                    request.sample = flows.sample(user, ledger.judge.sample_next(now));
                    connection
                        .wire
                        .request_own(flows.request(user), request.last);
                }
            }
            deadline = deadline.min(request.deadline);
            connection.passed += 1;
        }
        self.deadlines.watch(index, deadline);
    }

    /// Sends what the wire has to send.
    #[inline]
    pub(super) fn flush(&mut self, index: usize) {
        let connection = &self.all[index];
        if !connection.is_connected() {
            return;
        }
        if connection.is_open() && connection.passed < connection.in_flight.len() {
            self.pass_to_wire(index);
        }
        self.send_all(index);
        self.check_fault(index);
    }

    /// Sends what the wire has to send, as far as the socket takes it. One that encrypts does so a piece at a time.
    #[inline]
    fn send_all(&mut self, index: usize) {
        loop {
            let connection = &mut self.all[index];
            let unsent = connection.wire.unsent();
            let ready = unsent.len();
            if ready == 0 {
                return;
            }
            match self.io.send(index, unsent) {
                Ok(length) => {
                    connection.wire.sent(length);
                    if !self.ledger.is_stream(index) {
                        self.ledger.tally.bytes_written += length as u64;
                    }
                    if length < ready {
                        return;
                    }
                }
                // Reading reports what the server did before it closed.
                Err(Errno::EPIPE | Errno::ECONNRESET) => return,
                Err(errno) => {
                    self.closed(index, Some(errno));
                    return self.free_soon(index);
                }
            }
        }
    }

    /// Fails a connection that cannot go on, whatever the server sends.
    #[inline]
    fn check_fault(&mut self, index: usize) {
        let connection = &self.all[index];
        if connection.is_connected()
            && let Some(fault) = connection.wire.fault()
        {
            self.faulty(index, fault);
            self.free_soon(index);
        }
    }

    /// The connection was lost while it was given something to do: continue with it in the next turn.
    #[cold]
    fn free_soon(&mut self, index: usize) {
        let connection = &self.all[index];
        if connection.activity == Activity::Closed && connection.in_flight.is_empty() {
            self.rest(index, self.ledger.now);
        }
    }

    #[inline]
    fn received(&mut self, index: usize, chunk: Chunk) {
        let length = self.io.bytes(&chunk).len();
        self.count_bytes_read(index, length as u64);
        self.all[index].end_part_wait(self.ledger.now);
        let mut at = 0;
        loop {
            match self.eat(index, &chunk, at) {
                Err(fault) => self.faulty(index, fault),
                Ok(Eaten { bytes, ended }) => {
                    at += bytes;
                    let Some(ended) = ended else { break };
                    let others_due = self.all[index].in_flight.len() > 1;
                    let may_stay = at < length || others_due || !chunk.more_follows;
                    self.ended(index, ended, may_stay);
                }
            }
            let connection = &self.all[index];
            if !connection.is_open() || (at == length && !connection.wire.has_more()) {
                break;
            }
        }
        drop(chunk);
        self.all[index].begin_part_wait(self.ledger.now);
        self.check_handshake(index);
        self.replace_finished(index);
        self.check_closed(index);
        self.read_on(index);
    }

    #[inline]
    fn count_bytes_read(&mut self, index: usize, length: u64) {
        if !self.ledger.is_stream(index) {
            self.ledger.tally.bytes_read += length;
        }
    }

    #[inline]
    fn eat(&mut self, index: usize, chunk: &Chunk, at: usize) -> Result<Eaten, Fault> {
        let connection = &mut self.all[index];
        let mut responses = Receiving {
            in_flight: &mut connection.in_flight,
            is_stream: self.ledger.is_stream(index),
            now: self.ledger.now,
            tally: &mut self.ledger.tally,
            first_byte: self.plan.load.first_byte,
        };
        let bytes = &self.io.bytes(chunk)[at..];
        connection.wire.eat(bytes, &mut responses)
    }

    /// Body bytes arrived that nobody had to look at.
    #[inline]
    fn skipped(&mut self, index: usize, length: u64) {
        self.count_bytes_read(index, length);
        if let Some(ended) = self.all[index].wire.skip(length) {
            self.ended(index, ended, true);
        }
        self.read_on(index);
    }

    #[inline]
    fn read_on(&mut self, index: usize) {
        let connection = &self.all[index];
        if connection.is_connected() {
            self.io.read_on(index, connection.skippable());
        }
    }

    /// A response has ended. The connection stays open if both sides want it to, and it `may_stay`.
    #[inline]
    fn ended(&mut self, index: usize, ended: EndedResponse, may_stay: bool) {
        match ended.end {
            End::Whole(whole) => {
                self.responded(index, ended.position, whole, ended.was_sent, may_stay);
            }
            // The connection stays usable.
            End::Failed(fault) => {
                if let Some(request) = self.all[index].take_passed(ended.position) {
                    self.not_ok(index, request, fault.outcome(), &fault);
                }
            }
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
        let connection = &mut self.all[index];
        let Some(request) = connection.take_passed(position) else {
            return;
        };
        connection.responses += 1;
        connection.refusals = 0;
        // It was the last one, or asked the server to close.
        let is_last = connection.is_through() || self.sent.closes(request.number);
        if !whole.keep_alive || !may_stay || is_last {
            self.close_and_resend(index);
        }
        let (begun, is_sampled) = (request.begun, request.sample.is_some());
        let ledger = &mut self.ledger;
        let is_ok = ledger.responded(index, &self.all[index], request, whole, was_sent);
        // A flow keeps its connection for longer than each of its requests.
        if self.growth.is_possible()
            && is_ok
            && !ledger.is_stream(index)
            && ledger.flows.as_ref().is_none_or(Flows::are_requests)
        {
            let now = ledger.now;
            self.growth.served(now, now.saturating_sub(begun));
        }
        self.check_warmup_end();
        if is_sampled {
            // The next response is not charged the time of the comparison.
            self.ledger.read_clock();
        }
    }

    /// Counts the outcome of a request that is not ok.
    #[cold]
    fn not_ok(&mut self, index: usize, request: InFlight, outcome: Outcome, detail: impl Display) {
        self.ledger.not_ok(index, request, outcome, detail);
        self.check_warmup_end();
    }

    /// Starts measuring after the warm-up, once no more requests are in flight than are to be measured.
    #[inline]
    pub(super) fn check_warmup_end(&mut self) {
        if let Some(at) = self.ledger.take_warmup_end() {
            self.begin_measuring(at);
        }
    }

    #[cold]
    fn begin_measuring(&mut self, at: Nanoseconds) {
        self.count_handshakes();
        self.ledger.begin_measuring(at, self.io.system_calls());
    }

    /// Makes sure that the connection's deadlines are checked.
    pub(super) fn watch_deadlines(&mut self, index: usize) {
        let at = self.all[index].next_deadline(self.ledger.limits.timeout);
        self.deadlines.watch(index, at);
    }

    /// Gives up requests of a connection that got no response in time; returns it to be used for others.
    pub(super) fn give_up_late(&mut self) -> Option<usize> {
        let now = self.ledger.now;
        while let Some(index) = self.deadlines.take_due(now) {
            if self.all[index].next_deadline(self.ledger.limits.timeout) <= now {
                self.timed_out(index);
                return Some(index);
            }
            self.watch_deadlines(index);
        }
        None
    }

    #[cold]
    fn timed_out(&mut self, index: usize) {
        match self.all[index].activity {
            Activity::Open => {
                self.drop_unsent(index, NO_FREE_STREAM);
                self.give_up_overdue(index);
            }
            Activity::Handshaking { .. } => self.connecting_timed_out(index, NO_HANDSHAKE),
            _ => self.connecting_timed_out(index, NO_CONNECTION),
        }
        self.replace_finished(index);
    }

    /// The time that requests of the connection had, or that it had itself, is over before it is established. The
    /// requests fail, but the attempt goes on as long as it may: otherwise short deadlines would prevent the connection.
    fn connecting_timed_out(&mut self, index: usize, missing: &str) {
        self.drop_unsent(index, missing);
        let connection = &mut self.all[index];
        connection.carry_only_these();
        let deadline = connection.connecting_deadline(self.ledger.limits.timeout);
        if deadline.is_some_and(|at| at <= self.ledger.now) {
            self.retry_later(index);
        }
    }

    /// Drops the overdue requests of a connection that the wire does not have. Those that are too late to send are shed.
    fn drop_unsent(&mut self, index: usize, missing: &str) {
        while let Some(request) = self.all[index].take_overdue_unsent(self.ledger.now) {
            let (outcome, detail) = self.ledger.not_sent_in_time(&request, missing);
            self.not_ok(index, request, outcome, detail);
        }
    }

    /// Gives up the overdue requests that the wire of an open connection has. It goes on without them if it can.
    fn give_up_overdue(&mut self, index: usize) {
        loop {
            let now = self.ledger.now;
            let connection = &mut self.all[index];
            let mut requests = connection.in_flight.iter();
            let Some(position) = requests.position(|it| it.deadline <= now) else {
                return;
            };
            let detail = self.ledger.no_response_in_time(index);
            if !connection.wire.cancel(position) {
                return self.failed(index, position, Outcome::TimedOut, detail);
            }
            let Some(request) = connection.take_passed(position) else {
                return;
            };
            self.not_ok(index, request, Outcome::TimedOut, detail);
        }
    }

    /// The server has closed the connection, or it broke.
    #[cold]
    fn closed(&mut self, index: usize, errno: Option<Errno>) {
        let connection = &mut self.all[index];
        if connection.in_flight.is_empty() && !connection.is_handshaking() {
            // Between two requests a close is not an outcome.
            return self.close(index, Activity::Closed);
        }
        let broke = errno.filter(|errno| !matches!(errno, Errno::ECONNRESET | Errno::EPIPE));
        if let Some(errno) = broke {
            let detail = format_args!("the connection broke: {errno}");
            return self.failed(index, 0, Outcome::Reset, detail);
        }
        match connection.wire.close() {
            // Only an orderly close can be the end of a response.
            OnClose::Whole(whole) if errno.is_none() => {
                self.responded(index, 0, whole, true, false);
            }
            OnClose::BeforeResponse if self.may_resend(index) => self.close_and_resend(index),
            OnClose::BeforeResponse => self.failed(index, 0, Outcome::Reset, NO_RESPONSE),
            OnClose::Whole(_) | OnClose::Truncated => {
                let mut requests = self.all[index].in_flight.iter();
                let position = requests.position(|it| it.response_begun).unwrap_or(0);
                self.failed(index, position, Outcome::Truncated, CUT_SHORT);
            }
            OnClose::Failed(fault) => self.faulty(index, fault),
        }
    }

    /// The server has not processed a request: it is sent again once, over this connection or the next one.
    #[cold]
    fn unprocessed(&mut self, index: usize, position: usize, fault: &Fault) {
        let connection = &mut self.all[index];
        let Some(mut request) = connection.take_passed(position) else {
            return;
        };
        if request.resent {
            return self.not_ok(index, request, Outcome::Reset, fault);
        }
        self.counts.resent += 1;
        request.prepare_resend();
        connection.in_flight.push_back(request);
    }

    /// Replaces a connection that is of no further use: its server takes no more, or it has carried its last request.
    #[inline]
    fn replace_finished(&mut self, index: usize) {
        let connection = &self.all[index];
        let is_finished = connection.is_through() || connection.wire.is_finished();
        if !connection.is_open() || !is_finished {
            return;
        }
        let served_nothing = connection.passed == 0 && connection.responses == 0;
        if served_nothing && !connection.in_flight.is_empty() {
            // At once it would only be the same again.
            return self.retry_later(index);
        }
        self.close_and_resend(index);
    }

    /// Does not wait for the server to close a connection over which it sends no more: it may never do so, and if it
    /// closes without reading everything, that resets the connection.
    #[inline]
    fn check_closed(&mut self, index: usize) {
        let connection = &self.all[index];
        if connection.is_open() && connection.wire.is_closed() {
            self.say_goodbye(index);
        }
    }

    #[cold]
    fn say_goodbye(&mut self, index: usize) {
        // The server may wait for a response to its close. Nothing depends on it.
        let unsent = self.all[index].wire.unsent();
        let _ = self.io.send(index, unsent);
        self.closed(index, None);
    }

    /// Handles bytes that are not a valid response.
    #[cold]
    fn faulty(&mut self, index: usize, fault: Fault) {
        let connection = &self.all[index];
        if connection.is_handshaking() || connection.is_late_refusal(&fault) {
            self.handshake_failed(index, &fault);
        } else if connection.in_flight.is_empty() {
            self.faulty_while_idle(index, fault);
        } else {
            self.failed(index, 0, fault.outcome(), &fault);
        }
    }

    /// Bytes arrived while no response was due. Unless they are an orderly end, the next request is sent over a new
    /// connection and is not ok, whatever its response: had it been sent already, its response would start with them.
    fn faulty_while_idle(&mut self, index: usize, fault: Fault) {
        self.close(index, Activity::Closed);
        if self.ledger.is_stream(index) || matches!(fault, Fault::Ended(_)) {
            return;
        }
        self.all[index].excess = Some(Box::new(fault));
        // After its turn the load might be over.
        self.idle.prefer(index);
    }

    /// Fails the request at that position, and the connection. Its other requests are resent if that does no harm.
    #[cold]
    fn failed(&mut self, index: usize, position: usize, outcome: Outcome, detail: impl Display) {
        let connection = &mut self.all[index];
        let sent = connection.sent_requests();
        if let Some(request) = connection.take_passed(position) {
            self.not_ok(index, request, outcome, &detail);
        }
        let others = sent - usize::from(position < sent);
        self.resend_or_fail(index, others, outcome, &detail.to_string());
    }

    /// A server may close a connection after any whole response, and its close may cross our next request: that request
    /// is then resent once over a new connection (RFC 9112, 9.3.1), if it is idempotent or was not sent at all.
    fn may_resend(&self, index: usize) -> bool {
        let connection = &self.all[index];
        let first = connection.in_flight.front();
        let is_repeatable = first.is_some_and(|it| is_repeatable(self.plan, self.ledger.now, it));
        connection.responses > 0 && (is_repeatable || connection.sent_requests() == 0)
    }

    /// The server will not respond over that connection any more: its requests move to another one.
    #[cold]
    fn close_and_resend(&mut self, index: usize) {
        let sent = self.all[index].sent_requests();
        self.resend_or_fail(index, sent, Outcome::Reset, NO_RESPONSE);
    }

    /// Closes the connection, and reopens it for its requests, of which the first `sent` were sent. Those that must not
    /// be sent twice fail as the connection did; but if that was cut, as far as their responses had come.
    fn resend_or_fail(&mut self, index: usize, sent: usize, outcome: Outcome, detail: &str) {
        self.close(index, Activity::Closed);
        let (plan, now) = (self.plan, self.ledger.now);
        let lost = self.all[index].take_lost(sent, |request| is_repeatable(plan, now, request));
        self.counts.resent += lost.resent;
        let as_it_did = (outcome, detail);
        let (of_begun, of_not_begun) = match outcome {
            Outcome::Reset => ((Outcome::Truncated, CUT_SHORT), as_it_did),
            Outcome::Truncated => (as_it_did, (Outcome::Reset, NO_RESPONSE)),
            _ => (as_it_did, as_it_did),
        };
        for (failed, (outcome, detail)) in [(lost.begun, of_begun), (lost.not_begun, of_not_begun)]
        {
            for request in failed {
                self.not_ok(index, request, outcome, detail);
            }
        }
        if !self.all[index].in_flight.is_empty() {
            self.open(index);
        }
    }

    fn close(&mut self, index: usize, activity: Activity) {
        self.io.close(index);
        self.count_handshake(index);
        let connection = &mut self.all[index];
        let is_load = !self.ledger.is_stream(index);
        self.open -= u64::from(connection.is_connected() && is_load);
        if connection.set_up_since.take().is_some() {
            self.growth.ends_set_up(self.ledger.now, None);
        }
        connection.disconnect(activity);
        if activity != Activity::Closed {
            self.idle.remove(index);
        }
    }

    /// A stream that has ended is requested again, after a pause.
    pub(super) fn continue_stream(&mut self, index: usize) {
        let connection = &self.all[index];
        if connection.in_flight.is_empty() && !connection.is_retrying() {
            self.rest(index, self.ledger.now + STREAM_PAUSE);
        } else {
            self.flush(index);
        }
    }

    /// Counts what the connections have in flight at the end of the load.
    pub(super) fn end(&mut self) {
        let streams = self.ledger.streams;
        for index in streams..self.all.len() {
            for request in std::mem::take(&mut self.all[index].in_flight) {
                self.ledger.unfinished(index, request);
            }
        }
        let now = self.ledger.now;
        let tally = &mut self.ledger.tally.streams;
        for connection in &self.all[..streams] {
            let requests = connection.in_flight.iter();
            let sent = requests.filter(|request| request.from.is_some()).count();
            tally.outcomes[Outcome::Unfinished] += sent as u64;
            let held = connection.in_flight.front();
            let held = held.filter(|it| it.response_begun && connection.is_open());
            self.counts.streams_at_end += u64::from(held.is_some());
            tally.slower(held.map(|it| StreamCourse {
                events: it.events,
                held: now.saturating_sub(it.from.unwrap_or(now)),
            }));
        }
        self.count_handshakes();
    }
}

/// Whether a request may be sent a second time.
fn is_repeatable(plan: &LoadPlan, now: Nanoseconds, request: &InFlight) -> bool {
    let in_time = request.deadline > now;
    in_time && !request.resent && plan.request.is_idempotent(request.number)
}
