//! One worker thread: an event loop, its connections, and the requests they carry.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use prony_record::{Ended, Outcome};

use super::clock::{Clock, Nanoseconds, nanoseconds};
use super::connection::{Activity, Buffers, Connection, NEVER, Received};
use super::judge::Judge;
use super::pacer::{Next, Pacer};
use super::phase::{Phase, PhaseResult};
use super::poller::Poller;
use super::progress::WorkerProgress;
use super::tally::Tally;
use crate::plan::LoadPlan;
use crate::wire::h1::{Collect, Whole};

/// How often timeouts, retries and the end of the load are looked at.
const TICK: Nanoseconds = 10_000_000;
/// How often a worker tells how far it is.
const PUBLISH: Nanoseconds = 200_000_000;
/// The pause after a failure to connect, doubled with each further one up to the longest.
const FIRST_RETRY: Nanoseconds = 10_000_000;
const LONGEST_RETRY: Nanoseconds = 1_000_000_000;

/// How many connections are begun before those that are there have their turn: otherwise thousands
/// would overrun the server's queue, and each would seem to take as long as all.
const OPEN_AT_ONCE: usize = 64;

/// What the kernel says of a connection that the server has closed.
const CLOSED: EpollFlags = EpollFlags::EPOLLRDHUP
    .union(EpollFlags::EPOLLHUP)
    .union(EpollFlags::EPOLLERR);
/// What the kernel says where there is something to read, were it only the end.
const READABLE: EpollFlags = CLOSED.union(EpollFlags::EPOLLIN);

/// What one worker gave.
#[derive(Debug)]
pub(super) struct WorkerResult {
    pub(super) warmup: Option<PhaseResult>,
    pub(super) measured: PhaseResult,
    pub(super) ended: Ended,
    pub(super) connections_opened: u64,
    pub(super) reconnects: u64,
}

/// What a worker shares with the rest of the process.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a LoadPlan,
    pub(super) clock: Clock,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) progress: &'a WorkerProgress,
}

pub(super) struct Worker<'a, P> {
    shared: Shared<'a>,
    poller: Poller,
    connections: Vec<Connection>,
    buffers: Buffers,
    pacer: P,
    judge: Judge<'a>,
    tally: Tally,
    phase: Phase,
    warmup: Option<PhaseResult>,
    in_flight: u64,
    connections_opened: u64,
    reconnects: u64,
    timeout: Nanoseconds,
}

impl<'a, P: Pacer> Worker<'a, P> {
    pub(super) fn new(shared: Shared<'a>, poller: Poller, connections: u64, pacer: P) -> Self {
        let plan = shared.plan;
        let answers_head = plan.request.is_head();
        Self {
            poller,
            connections: (0..connections)
                .map(|_| Connection::new(answers_head))
                .collect(),
            buffers: Buffers::new(),
            pacer,
            judge: Judge::new(plan.sampling.as_ref()),
            tally: Tally::new(),
            phase: Phase::begin(shared.clock.now(), plan),
            warmup: None,
            in_flight: 0,
            connections_opened: 0,
            reconnects: 0,
            timeout: nanoseconds(plan.timeout),
            shared,
        }
    }

    /// Makes the load until it ends.
    pub(super) fn run(mut self) -> Result<WorkerResult, Errno> {
        let mut next_tick = self.now() + TICK;
        let mut next_publish = self.now() + PUBLISH;
        let mut unopened = 0..self.connections.len();
        loop {
            unopened
                .by_ref()
                .take(OPEN_AT_ONCE)
                .for_each(|index| self.open(index));
            let until = if unopened.is_empty() {
                next_tick.min(self.phase.ends)
            } else {
                0
            };
            let count = self.poller.wait(until.saturating_sub(self.now()))?;
            for at in 0..count {
                let (index, flags) = self.poller.event(at);
                self.on_event(index, flags);
            }
            let now = self.now();
            if now >= self.phase.ends && !self.phase.measuring {
                self.begin_measuring(now);
            }
            if let Some(ended) = self.ended(now) {
                return Ok(self.end(now, ended));
            }
            if now >= next_tick {
                next_tick = now + TICK;
                self.tick(now);
            }
            if now >= next_publish {
                next_publish = now + PUBLISH;
                self.shared
                    .progress
                    .publish(&self.tally, self.phase.measuring);
            }
        }
    }

    #[inline]
    fn now(&self) -> Nanoseconds {
        self.shared.clock.now()
    }

    /// Ends the warm-up: what ends from here on is measured.
    fn begin_measuring(&mut self, now: Nanoseconds) {
        let tally = std::mem::replace(&mut self.tally, Tally::new());
        self.warmup = Some(self.phase.close(now, tally));
        self.phase = Phase::begin_measuring(now, self.shared.plan);
        self.judge.begin_phase();
        self.pacer.begin_measuring(self.in_flight);
    }

    fn ended(&self, now: Nanoseconds) -> Option<Ended> {
        if self.shared.interrupt.load(Relaxed) {
            Some(Ended::Interrupted)
        } else if now >= self.phase.ends {
            Some(Ended::Duration)
        } else if self.in_flight == 0 && self.pacer.exhausted() {
            Some(Ended::Requests)
        } else {
            None
        }
    }

    fn end(mut self, now: Nanoseconds, ended: Ended) -> WorkerResult {
        self.tally.outcomes[Outcome::Unfinished] += self.in_flight;
        self.shared
            .progress
            .publish(&self.tally, self.phase.measuring);
        let last = self.phase.close(now, self.tally);
        // Interrupted in the warm-up, there is nothing measured.
        let (warmup, measured) = if self.phase.measuring {
            (self.warmup, last)
        } else {
            (Some(last), PhaseResult::nothing())
        };
        WorkerResult {
            warmup,
            measured,
            ended,
            connections_opened: self.connections_opened,
            reconnects: self.reconnects,
        }
    }

    fn on_event(&mut self, index: usize, flags: EpollFlags) {
        match self.connections[index].activity {
            Activity::Awaiting { since } => self.receive(index, since, flags),
            Activity::Sending { since, sent } => {
                self.send(index, since, sent);
                self.on_readable(index, flags);
            }
            Activity::Connecting { since } => {
                self.on_connected(index, since);
                self.on_readable(index, flags);
            }
            Activity::Idle => self.on_readable(index, flags),
            Activity::Closed { .. } => {}
        }
    }

    /// Reads what came with the event that let the connection send: it makes no edge of its own.
    /// Where the sending has failed, the connection is another one by now, of which nothing was told.
    fn on_readable(&mut self, index: usize, flags: EpollFlags) {
        if !flags.intersects(READABLE) {
            return;
        }
        match self.connections[index].activity {
            Activity::Sending { since, .. } | Activity::Awaiting { since } => {
                self.receive(index, since, flags);
            }
            Activity::Idle if flags.intersects(CLOSED) => self.connections[index].close(NEVER),
            _ => {}
        }
    }

    fn open(&mut self, index: usize) {
        let now = self.now();
        let address = self.shared.plan.address;
        let watched = self.connections[index]
            .open(address, now)
            .and_then(|socket| self.poller.watch(socket, index).map_err(Into::into));
        if let Err(error) = watched {
            self.refused(index, &error);
        }
    }

    fn on_connected(&mut self, index: usize, since: Nanoseconds) {
        if let Err(error) = self.connections[index].connect_result() {
            return self.refused(index, &error);
        }
        let now = self.now();
        self.connections_opened += 1;
        self.tally.connect.record(now - since);
        let connection = &mut self.connections[index];
        connection.refusals = 0;
        self.reconnects += u64::from(connection.was_connected);
        connection.was_connected = true;
        self.next_request(index, now);
    }

    /// No connection: the request that it was for has failed.
    #[cold]
    fn refused(&mut self, index: usize, error: &std::io::Error) {
        if self.pacer.next() == Next::Now {
            self.tally
                .not_ok(Outcome::Refused, || format!("cannot connect: {error}"));
        }
        self.retry_later(index);
    }

    fn retry_later(&mut self, index: usize) {
        let now = self.now();
        let connection = &mut self.connections[index];
        let pause = FIRST_RETRY << connection.refusals.min(7);
        connection.refusals += 1;
        connection.close(now + pause.min(LONGEST_RETRY));
    }

    #[inline]
    fn next_request(&mut self, index: usize, now: Nanoseconds) {
        match self.pacer.next() {
            Next::Now => {
                self.in_flight += 1;
                self.connections[index].sample = self
                    .judge
                    .samples_next()
                    .then(|| Box::new(Collect::default()));
                self.send(index, now, 0);
            }
            Next::Never => self.connections[index].activity = Activity::Idle,
        }
    }

    /// Sends what is left of the request after `sent` bytes.
    #[inline]
    fn send(&mut self, index: usize, since: Nanoseconds, sent: usize) {
        let connection = &mut self.connections[index];
        let bytes = self.shared.plan.request.bytes();
        match connection.send(&bytes[sent..]) {
            Ok(length) => {
                self.tally.bytes_written += length as u64;
                let sent = sent + length;
                connection.activity = if sent == bytes.len() {
                    Activity::Awaiting { since }
                } else {
                    Activity::Sending { since, sent }
                };
            }
            // What the server did before it closed, reading tells.
            Err(Errno::EPIPE | Errno::ECONNRESET) => {
                connection.activity = Activity::Sending { since, sent };
                self.receive(index, since, EpollFlags::EPOLLRDHUP);
            }
            Err(errno) => self.failed(index, Outcome::Reset, || format!("cannot send: {errno}")),
        }
    }

    #[inline]
    fn receive(&mut self, index: usize, since: Nanoseconds, flags: EpollFlags) {
        let connection = &mut self.connections[index];
        let sent_whole = matches!(connection.activity, Activity::Awaiting { .. });
        let peer_closed = flags.intersects(CLOSED);
        match connection.receive(&mut self.buffers, peer_closed, &mut self.tally.bytes_read) {
            Received::Partly => {}
            Received::More => self.receive_later(index),
            Received::Whole(whole) if sent_whole => {
                let stays = whole.keep_alive && !peer_closed && !self.shared.plan.request.closes();
                self.answered(index, since, whole, stays);
            }
            Received::Whole(whole) => self.answered_early(index, whole),
            other => self.broken(index, &other),
        }
    }

    #[cold]
    fn receive_later(&mut self, index: usize) {
        if let Some(socket) = self.connections[index].socket()
            && let Err(errno) = self.poller.tell_again(socket, index)
        {
            self.failed(index, Outcome::Reset, || format!("cannot watch: {errno}"));
        }
    }

    /// The answer is whole before the request is: the server has not read what it answers. Taken
    /// as ok, that would be the fastest of all.
    #[cold]
    fn answered_early(&mut self, index: usize, whole: Whole) {
        self.tally.status(whole.status);
        let sample = self.connections[index].sample.take();
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
    fn answered(&mut self, index: usize, since: Nanoseconds, whole: Whole, stays: bool) {
        let now = self.now();
        self.in_flight -= 1;
        self.tally.status(whole.status);
        let sample = self.connections[index].sample.take();
        let compared = sample.is_some();
        match self.judge.verdict(whole, sample) {
            Ok(()) => self.tally.ok(now - since),
            Err((outcome, detail)) => self.tally.not_ok(outcome, || detail),
        }
        if stays {
            // The time that comparing took is not the next answer's.
            let now = if compared { self.now() } else { now };
            self.next_request(index, now);
        } else {
            self.reopen(index);
        }
    }

    #[cold]
    fn broken(&mut self, index: usize, received: &Received) {
        let (outcome, detail) = match received {
            Received::ClosedEarly { in_answer: false } => (
                Outcome::Reset,
                "the server closed the connection without an answer".into(),
            ),
            Received::ClosedEarly { in_answer: true } => (
                Outcome::Truncated,
                "the server closed the connection in the middle of the answer".into(),
            ),
            Received::Excess => (
                Outcome::Malformed,
                crate::wire::h1::Malformed::ExcessBytes.to_string(),
            ),
            Received::Malformed(malformed) => (Outcome::Malformed, malformed.to_string()),
            Received::Broken(errno) => (Outcome::Reset, format!("the connection broke: {errno}")),
            Received::Partly | Received::More | Received::Whole(_) => return,
        };
        self.failed(index, outcome, || detail);
    }

    /// The request on that connection has failed, and the connection with it.
    #[cold]
    fn failed(&mut self, index: usize, outcome: Outcome, detail: impl FnOnce() -> String) {
        self.in_flight -= 1;
        self.tally.not_ok(outcome, detail);
        self.reopen(index);
    }

    /// Closes the connection, and makes it anew where there is something left to send.
    fn reopen(&mut self, index: usize) {
        self.connections[index].close(NEVER);
        if !self.pacer.exhausted() {
            self.open(index);
        }
    }

    /// Looks after what no event tells of: timeouts and retries.
    fn tick(&mut self, now: Nanoseconds) {
        for index in 0..self.connections.len() {
            match self.connections[index].activity {
                Activity::Closed { retry_at } if retry_at <= now => self.open(index),
                Activity::Connecting { since } if now - since >= self.timeout => {
                    if self.pacer.next() == Next::Now {
                        self.tally.not_ok(Outcome::TimedOut, || {
                            format!("no connection within {:?}", self.shared.plan.timeout)
                        });
                    }
                    self.retry_later(index);
                }
                Activity::Sending { since, .. } | Activity::Awaiting { since }
                    if now - since >= self.timeout =>
                {
                    let timeout = self.shared.plan.timeout;
                    self.failed(index, Outcome::TimedOut, || {
                        format!("no whole answer within {timeout:?}")
                    });
                }
                _ => {}
            }
        }
    }
}
