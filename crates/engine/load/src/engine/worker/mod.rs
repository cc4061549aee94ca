//! One worker thread: its connections, and the requests that they carry.

mod arrivals;
mod connections;
mod deadlines;
mod growth;
mod idle;
mod ledger;
mod receiving;
mod shared;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::errno::Errno;
use prony_model::Ended;

pub(super) use self::arrivals::Arrivals;
pub(super) use self::connections::Connections;
pub(super) use self::ledger::{Figures, Ledger};
use self::shared::BEGIN_AT_ONCE;
pub(super) use self::shared::{ConnectionCounts, Share, Shared};
use super::clock::Nanoseconds;
use super::event_loop::EventLoopName;
use super::flows::Flows;
use super::start_line::{Begin, Place};
use crate::wire::Wire;
use crate::wire::tls::Agreement;

/// How long it may take to notice an interrupt, or the end of a load that waits for nothing.
const LONGEST_WAIT: Nanoseconds = 10_000_000;
/// How long a schedule waits for its initial connections.
const LONGEST_CONNECTING: Nanoseconds = 2_000_000_000;
/// The clock is read again after this many events, so none is off by more than a microsecond or two.
const EVENTS_A_CLOCK: u32 = 8;
/// How long before a due time busy-waiting starts, if requested: longer than a machine takes to wake up.
const SPIN: Nanoseconds = 200_000;

#[derive(Debug)]
pub(super) struct WorkerResult {
    pub(super) figures: Figures,
    pub(super) ended: Ended,
    pub(super) connections: ConnectionCounts,
    /// What its first handshake agreed on.
    pub(super) agreement: Option<Agreement>,
    /// The event loop that it used.
    pub(super) event_loop: EventLoopName,
    /// How long after the start it began.
    pub(super) start_lag: Nanoseconds,
}

/// Drives the connections of one thread through the load.
pub(super) struct Worker<'a, W> {
    interrupt: &'a AtomicBool,
    /// Whether it busy-waits before due times.
    spins: bool,
    connections: Connections<'a, W>,
    arrivals: Arrivals<'a>,
    /// How long after the start of the load it began.
    start_lag: Nanoseconds,
}

impl<'a, W: Wire> Worker<'a, W> {
    pub(super) fn new(
        shared: &Shared<'a>,
        connections: Connections<'a, W>,
        arrivals: Arrivals<'a>,
    ) -> Self {
        Self {
            interrupt: shared.interrupt,
            spins: shared.plan.load.spin,
            connections,
            arrivals,
            start_lag: 0,
        }
    }

    /// Runs the load until it ends.
    pub(super) fn run(mut self, place: Place<'_>) -> Result<WorkerResult, Errno> {
        let streams = self.connections.ledger.streams;
        let all = self.connections.all.len();
        let (mut early, late) = if !self.arrivals.pacer.needs_connections() {
            (0..0, 0..all)
        } else if place.is_shared() {
            // Streams are requests, and no request leaves before a start that several agents share.
            (streams..all, 0..streams)
        } else {
            (0..all, 0..0)
        };
        self.connect_all(&mut early)?;
        let start = self.learn_start(place)?;
        let now = self.connections.ledger.read_clock();
        let began = start.unwrap_or(now);
        let system_calls = self.connections.io.system_calls();
        self.connections.ledger.begin(began, system_calls);
        if start.is_none() || !self.wait_for_start(began)? {
            return Ok(self.end(Ended::Interrupted));
        }
        self.arrivals.pacer.start(began);
        let mut not_begun = early.chain(late).peekable();
        loop {
            for index in not_begun.by_ref().take(BEGIN_AT_ONCE) {
                self.arrivals.begin_with(&mut self.connections, index);
            }
            self.arrivals.begin_due(&mut self.connections);
            self.wait(not_begun.peek().is_none())?;
            self.take_events();
            self.connections.choose_event_loop();
            self.check_times();
            let is_retrying = self.connections.is_retrying();
            self.connections.ledger.look(is_retrying);
            if let Some(ended) = self.change_phase() {
                return Ok(self.end(ended));
            }
            self.connections.ledger.publish_if_due();
        }
    }

    /// Opens the connections before the schedule begins: otherwise its first arrivals would find none. Those that take
    /// too long open later.
    fn connect_all(&mut self, not_begun: &mut Range<usize>) -> Result<(), Errno> {
        let first = not_begun.start;
        let timeout = self.connections.ledger.limits.timeout;
        let give_up = self.connections.ledger.read_clock() + LONGEST_CONNECTING.min(timeout);
        let mut connecting = not_begun.len();
        while connecting > 0 && self.connections.ledger.read_clock() < give_up {
            for index in not_begun.by_ref().take(BEGIN_AT_ONCE) {
                self.arrivals.begin_with(&mut self.connections, index);
            }
            if self.is_interrupted() {
                break;
            }
            let longest = if not_begun.start == not_begun.end {
                LONGEST_WAIT
            } else {
                0
            };
            self.connections.io.wait(longest)?;
            self.take_events();
            connecting = self.connections.connecting(first);
        }
        Ok(())
    }

    /// Learns when the load begins; `None` if it does not. A load without a schedule begins at once, unless others begin
    /// at the same instant.
    fn learn_start(&mut self, mut place: Place<'_>) -> Result<Option<Nanoseconds>, Errno> {
        if !self.arrivals.pacer.needs_connections() && !place.is_shared() {
            return Ok(Some(self.connections.ledger.read_clock()));
        }
        place.arrive();
        loop {
            match place.begin() {
                _ if self.is_interrupted() => return Ok(None),
                Begin::At(start) => return Ok(Some(start)),
                Begin::CalledOff => return Ok(None),
                Begin::Unknown(pause) => self.idle_for(pause)?,
            }
        }
    }

    /// Waits for the start, which is known. Returns false if the load was interrupted before.
    fn wait_for_start(&mut self, start: Nanoseconds) -> Result<bool, Errno> {
        while self.connections.ledger.read_clock() < start {
            if self.is_interrupted() {
                return Ok(false);
            }
            let left = start - self.connections.ledger.now;
            self.idle_for(left.min(LONGEST_WAIT))?;
        }
        self.start_lag = self.connections.ledger.now - start;
        if self.connections.open > 0 {
            // The server may have closed connections while this thread did not run.
            self.idle_for(0)?;
        }
        Ok(true)
    }

    /// Waits for `longest` at most, without sending requests. The server may close connections meanwhile, which are reopened
    /// when they are needed.
    fn idle_for(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        let ahead = if self.spins { SPIN } else { 0 };
        self.connections.io.wait(longest.saturating_sub(ahead))?;
        self.take_events();
        self.check_times();
        Ok(())
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }

    /// Waits until an event has arrived or something is due.
    fn wait(&mut self, all_have_begun: bool) -> Result<(), Errno> {
        let due = self.arrivals.next_due(&self.connections);
        let ledger = &mut self.connections.ledger;
        if due != Nanoseconds::MAX {
            ledger.read_clock();
        }
        let now = ledger.now;
        let until = due
            .min(ledger.phases.next_end(now))
            .min(self.connections.next_check())
            .min(now + LONGEST_WAIT);
        let longest = if all_have_begun {
            until.saturating_sub(now)
        } else {
            0
        };
        if self.spins && due != Nanoseconds::MAX {
            self.wait_spinning(longest, due)
        } else {
            self.connections.io.wait(longest)
        }
    }

    /// Sleeps until shortly before a due time, and then polls for events.
    fn wait_spinning(&mut self, longest: Nanoseconds, due: Nanoseconds) -> Result<(), Errno> {
        let Connections { io, ledger, .. } = &mut self.connections;
        let began = ledger.now;
        let asleep = due.saturating_sub(began.saturating_add(SPIN));
        if asleep > 0 || longest == 0 {
            return io.wait(asleep.min(longest));
        }
        io.wait(0)?;
        if io.was_idle() {
            ledger.cost.spun += ledger.read_clock() - began;
        }
        Ok(())
    }

    fn take_events(&mut self) {
        self.connections.ledger.read_clock();
        let mut until_clock = EVENTS_A_CLOCK;
        while let Some((index, event)) = self.connections.io.next() {
            self.connections.on_event(index, event);
            self.arrivals.free(&mut self.connections, index);
            until_clock -= 1;
            if until_clock == 0 {
                until_clock = EVENTS_A_CLOCK;
                self.connections.ledger.read_clock();
            }
        }
    }

    /// Gives up what is late, and goes on with connections whose pause is over.
    fn check_times(&mut self) {
        while let Some(index) = self.connections.give_up_late() {
            self.arrivals.free(&mut self.connections, index);
            self.connections.watch_deadlines(index);
        }
        while let Some(index) = self.connections.take_retry() {
            self.arrivals.resume(&mut self.connections, index);
        }
    }

    /// Goes from the warm-up to the measured part, and from there to the end.
    fn change_phase(&mut self) -> Option<Ended> {
        if self.is_interrupted() {
            return Some(Ended::Interrupted);
        }
        let ledger = &mut self.connections.ledger;
        if ledger.phases.time_is_up(ledger.now) {
            if ledger.phases.current.measuring {
                return self.end_in_time();
            }
            self.end_warmup();
        }
        let none_in_progress = self.connections.ledger.in_progress() == 0;
        (none_in_progress && self.arrivals.pacer.exhausted()).then_some(Ended::Requests)
    }

    /// The time of the load is up.
    fn end_in_time(&mut self) -> Option<Ended> {
        let ledger = &mut self.connections.ledger;
        let next = self.arrivals.pacer.next_arrival();
        let none_left = ledger.in_progress() == 0 && next >= ledger.phases.current.ends;
        let ended = ledger.tally.outcomes.total();
        let are_over = ledger.phases.are_over(ledger.now, none_left, ended);
        are_over.then_some(Ended::Duration)
    }

    /// The time of the warm-up is up.
    fn end_warmup(&mut self) {
        let ledger = &mut self.connections.ledger;
        let in_progress = ledger.in_progress();
        let ends = ledger.phases.current.ends;
        let measured = self.arrivals.pacer.begin_measuring(in_progress, ends);
        ledger.phases.end_warmup(ledger.now, in_progress, measured);
        self.connections.check_warmup_end();
    }

    fn end(mut self, ended: Ended) -> WorkerResult {
        self.count_overdue();
        self.connections.end();
        let Connections {
            io,
            ledger,
            mut counts,
            agreement,
            ..
        } = self.connections;
        counts.flows_begun = ledger.flows.as_ref().map_or(0, Flows::begun);
        let due = self.arrivals.pacer.due();
        WorkerResult {
            figures: ledger.end(ended, due, io.system_calls()),
            ended,
            connections: counts,
            agreement,
            event_loop: io.name(),
            start_lag: self.start_lag,
        }
    }

    /// Counts the requests that were due and never began.
    fn count_overdue(&mut self) {
        self.arrivals.drop_lost_idle(&mut self.connections);
        let Connections {
            ledger, idle, all, ..
        } = &mut self.connections;
        let began = ledger.phases.current.began;
        let overdue = self.arrivals.pacer.overdue(ledger.horizon(), began);
        let is_refused = all[ledger.streams..].iter().any(|it| it.refusals > 0);
        ledger.count_overdue(overdue, idle.free_since(), is_refused);
    }
}
