//! One worker thread: an event loop, its connections, and the requests they carry.

mod arrivals;
mod connecting;
mod exchanging;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::errno::Errno;
use prony_record::{Ended, Outcome};

use super::clock::{Clock, Nanoseconds, nanoseconds};
use super::connection::{Activity, Buffers, Connection};
use super::judge::Judge;
use super::pacer::Pacer;
use super::phase::{Phase, PhaseResult};
use super::poller::{EventFlags, Poller};
use super::progress::WorkerProgress;
use super::source_address::SourceAddresses;
use super::tally::Tally;
use super::timetable::Timetable;
use crate::plan::LoadPlan;
use crate::wire::Wire;

/// How often timeouts, retries and the end of the load are looked at.
const TICK: Nanoseconds = 10_000_000;
/// How often a worker tells how far it is.
const PUBLISH: Nanoseconds = 200_000_000;
/// How many users begin before those that have begun have their turn: otherwise thousands of
/// connections would overrun the server's queue, and each would seem to take as long as all.
const BEGIN_AT_ONCE: usize = 64;

/// What the kernel says of a connection that the server has closed.
const CLOSED: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);
/// What the kernel says where there is something to read, were it only the end.
const READABLE: EventFlags = CLOSED.union(EventFlags::IN);

/// What one worker gave.
#[derive(Debug)]
pub(super) struct WorkerResult {
    pub(super) warmup: Option<PhaseResult>,
    pub(super) measured: PhaseResult,
    pub(super) ended: Ended,
    pub(super) connections: ConnectionCounts,
}

/// How connections fared, warm-up included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionCounts {
    /// Made.
    pub(super) opened: u64,
    /// Of these, made again.
    pub(super) reconnects: u64,
    /// Requests that went over another connection, because the server had closed theirs.
    pub(super) resent: u64,
    /// Waits for a local port.
    pub(super) port_waits: u64,
}

/// What a worker shares with the rest of the process.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a LoadPlan,
    pub(super) clock: Clock,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) progress: &'a WorkerProgress,
}

pub(super) struct Worker<'a, P, W> {
    shared: Shared<'a>,
    poller: Poller,
    connections: Vec<Connection<W>>,
    buffers: Buffers,
    sources: SourceAddresses,
    pacer: P,
    timetable: Timetable,
    judge: Judge<'a>,
    tally: Tally,
    phase: Phase,
    warmup: Option<PhaseResult>,
    /// Requests that have begun and have no outcome yet.
    in_flight: u64,
    counts: ConnectionCounts,
    timeout: Nanoseconds,
}

impl<'a, P: Pacer, W: Wire> Worker<'a, P, W> {
    /// A worker with a connection for each of `wires`.
    pub(super) fn new(
        shared: Shared<'a>,
        poller: Poller,
        wires: impl Iterator<Item = W>,
        pacer: P,
    ) -> Self {
        let plan = shared.plan;
        Self {
            poller,
            connections: wires.map(Connection::new).collect(),
            buffers: Buffers::new(),
            sources: SourceAddresses::towards(plan.address),
            pacer,
            timetable: Timetable::default(),
            judge: Judge::new(plan.sampling.as_ref()),
            tally: Tally::new(),
            phase: Phase::begin(shared.clock.now(), plan),
            warmup: None,
            in_flight: 0,
            counts: ConnectionCounts::default(),
            timeout: nanoseconds(plan.timeout),
            shared,
        }
    }

    /// Makes the load until it ends.
    pub(super) fn run(mut self) -> Result<WorkerResult, Errno> {
        let mut next_tick = self.now() + TICK;
        let mut next_publish = self.now() + PUBLISH;
        let mut not_begun = 0..self.connections.len();
        loop {
            not_begun
                .by_ref()
                .take(BEGIN_AT_ONCE)
                .for_each(|index| self.free(index, self.now()));
            let until = if not_begun.is_empty() {
                next_tick.min(self.phase.ends).min(self.timetable.next())
            } else {
                0
            };
            let count = self.poller.wait(until.saturating_sub(self.now()))?;
            for at in 0..count {
                let (index, flags) = self.poller.event(at);
                self.on_event(index, flags);
            }
            let now = self.now();
            self.begin_what_is_due(now);
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
        self.tally.outcomes[Outcome::Unfinished] += self.unfinished() + self.pacer.overdue(now);
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
            connections: self.counts,
        }
    }

    /// Requests on their way. One that waits for its connection and that no schedule asked for was
    /// never sent: it is none.
    fn unfinished(&self) -> u64 {
        let requests = self.connections.iter().filter_map(|it| it.request.as_ref());
        requests.filter(|request| request.from.is_some()).count() as u64
    }

    fn on_event(&mut self, index: usize, flags: EventFlags) {
        let connection = &self.connections[index];
        match connection.activity {
            Activity::Exchanging if connection.wire.unsent().is_empty() => {
                self.receive(index, flags);
            }
            Activity::Exchanging => {
                self.send(index);
                self.on_readable(index, flags);
            }
            Activity::Connecting { since } => {
                self.on_connected(index, since);
                self.on_readable(index, flags);
            }
            Activity::Idle => {
                self.on_readable(index, flags);
                self.flush(index);
            }
            Activity::Retrying { .. } => {}
        }
    }

    /// Reads what came with the event that let the connection send: it makes no edge of its own.
    /// Where the sending has failed, the connection is another one by now, of which nothing was told.
    fn on_readable(&mut self, index: usize, flags: EventFlags) {
        if !flags.intersects(READABLE) {
            return;
        }
        match self.connections[index].activity {
            Activity::Exchanging => self.receive(index, flags),
            Activity::Idle => self.receive_idle(index, flags),
            _ => {}
        }
    }
}
