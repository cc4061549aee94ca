//! One worker thread: its connections, and the requests that they carry.

mod arrivals;
mod connecting;
mod deadlines;
mod exchanging;
mod failing;
mod growth;
mod streams;

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::errno::Errno;
use prony_kernel::Counters;
use prony_model::{Ended, LoadShape, Outcome};
use serde::{Deserialize, Serialize};

use self::deadlines::Deadlines;
use self::growth::Growth;
use super::FirstEventLoop;
use super::clock::{Clock, Nanoseconds, Timetable, nanoseconds};
use super::connection::{Activity, Connection, InFlight, Role};
use super::cost::{SchedulingMeter, ThreadUsage, WorkerCost};
use super::event_loop::{EventLoop, LONG_BODY, SocketEvent};
use super::flows::Flows;
use super::judge::Judge;
use super::pacer::Pacer;
use super::part::EventLoopName;
use super::phase::{Phase, PhaseResult};
use super::progress::{BusyMeter, WorkerProgress};
use super::records::{Recording, WorkerRecorder, WorkerRecords};
use super::request_mix::RequestMix;
use super::silence::{SilenceRecorder, Silences};
use super::source_address::SourceAddresses;
use super::stage_rows::StageEnds;
use super::start_line::{Begin, Place};
use super::tally::Tally;
use super::timeline::{TimelineRecorder, WorkerTimeline};
use crate::plan::LoadPlan;
use crate::request::Encoded;
use crate::wire::Wire;
use crate::wire::tls::Agreement;

/// How long it may take to notice an interrupt, or the end of a load that waits for nothing.
const LONGEST_WAIT: Nanoseconds = 10_000_000;
/// A worker that wakes up this late was not running: it should wake up every [`LONGEST_WAIT`].
const STANDSTILL: Nanoseconds = 50_000_000;
/// How often a worker publishes its progress.
const PUBLISH: Nanoseconds = 200_000_000;
/// How many users or arrivals begin before those that have begun get their turn: otherwise thousands of connections
/// would overrun the server's queue, and each would seem to take as long as all.
const BEGIN_AT_ONCE: usize = 64;
/// How long a schedule waits for its initial connections.
const LONGEST_CONNECTING: Nanoseconds = 2_000_000_000;
/// The clock is read again after this many events, so none is off by more than a microsecond or two.
const EVENTS_A_CLOCK: u32 = 8;
/// How long before a due time busy-waiting starts, if requested: longer than a machine takes to wake up.
const SPIN: Nanoseconds = 200_000;

/// The result of one worker.
#[derive(Debug)]
pub(super) struct WorkerResult {
    pub(super) warmup: Option<PhaseResult>,
    pub(super) measured: PhaseResult,
    pub(super) timeline: WorkerTimeline,
    pub(super) silences: Silences,
    pub(super) ended: Ended,
    pub(super) connections: ConnectionCounts,
    /// What its first handshake agreed on.
    pub(super) agreement: Option<Agreement>,
    /// The event loop that it used.
    pub(super) event_loop: EventLoopName,
    /// How long after the start it began.
    pub(super) start_lag: Nanoseconds,
    /// What it recorded, until that is taken.
    pub(super) records: Option<WorkerRecords>,
}

/// How connections fared, warm-up included.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ConnectionCounts {
    pub(super) opened: u64,
    /// How many of these replaced a lost or used-up connection.
    pub(super) reconnects: u64,
    /// Requests sent again, because the server had ended their connection or had not processed them.
    pub(super) resent: u64,
    /// Waits for a local port.
    pub(super) port_waits: u64,
    /// The most connections of the load that were open at a time.
    pub(super) most: u64,
    /// Streams that were open at the end.
    pub(super) streams_at_end: u64,
    /// Flows that users of a scenario have begun.
    pub(super) flows_begun: u64,
}

impl ConnectionCounts {
    /// Adds the counts of another worker or agent.
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.opened, other.opened),
            (&mut self.reconnects, other.reconnects),
            (&mut self.resent, other.resent),
            (&mut self.port_waits, other.port_waits),
            (&mut self.most, other.most),
            (&mut self.streams_at_end, other.streams_at_end),
            (&mut self.flows_begun, other.flows_begun),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// A warm-up whose time is up. If more requests are in flight than are to be measured, those that end first still belong
/// to it.
#[derive(Clone, Copy, Debug)]
struct WarmupEnd {
    /// When measuring begins; `None` if that is when the warm-up is over.
    at: Option<Nanoseconds>,
    /// How many of the requests, or flows, in progress to measure.
    measured: u64,
}

/// What a worker shares with the rest of the process.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a LoadPlan,
    /// What the plan sends, encoded.
    pub(super) sent: &'a Encoded<'a>,
    pub(super) clock: Clock,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) progress: &'a WorkerProgress,
    pub(super) recording: Recording,
}

impl Shared<'_> {
    /// Whether each request has a connection of its own.
    pub(super) fn is_without_keep_alive(&self) -> bool {
        self.plan.requests_per_connection == Some(NonZeroU64::MIN) || self.sent.closes(0)
    }
}

/// One worker's share of the connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The initial number.
    pub(super) connections: usize,
    /// The most.
    pub(super) most_connections: usize,
    /// Streams beside them.
    pub(super) streams: usize,
}

impl Share {
    /// How many connections there may be at a time.
    pub(super) fn slots(&self) -> usize {
        self.most_connections + self.streams
    }
}

/// What a worker sends.
pub(super) struct Requests<'a> {
    pub(super) mix: RequestMix,
    /// The users of a scenario, if there is one.
    pub(super) flows: Option<Flows<'a>>,
}

pub(super) struct Worker<'a, W> {
    shared: Shared<'a>,
    io: EventLoop,
    /// After how many responses it chooses its event loop; `None` if that is settled.
    chooses_after: Option<u64>,
    new_wire: &'a dyn Fn() -> W,
    /// First the held streams, then the load's connections.
    connections: Vec<Connection<W>>,
    share: Share,
    sources: SourceAddresses,
    pacer: Box<dyn Pacer + 'a>,
    mix: RequestMix,
    /// The users of a scenario, if there is one.
    flows: Option<Flows<'a>>,
    /// Users who wait for their due times.
    timetable: Timetable,
    /// Users who wait in the middle of a flow.
    pauses: Timetable,
    /// Connections to retry, and until when one of the load's waits for that.
    retries: Timetable,
    retries_until: Nanoseconds,
    /// When to check the deadlines of each connection.
    deadlines: Deadlines,
    /// Connections that wait for an arrival of the shared schedule, the one that has waited longest first, so that all
    /// are used in turn. Some may have been lost meanwhile.
    idle: VecDeque<usize>,
    growth: Growth,
    judge: Judge<'a>,
    tally: Tally,
    phase: Phase,
    stages: StageEnds,
    warmup: Option<PhaseResult>,
    /// The end of a warm-up whose time is up.
    warmup_end: Option<WarmupEnd>,
    timeline: TimelineRecorder,
    silence: SilenceRecorder,
    recorder: WorkerRecorder,
    /// Requests of the load that have begun and have no outcome yet.
    in_flight: u64,
    counts: ConnectionCounts,
    /// What the first handshake agreed on.
    agreement: Option<Agreement>,
    /// How many connections of the load are open.
    open: u64,
    /// The last reading of the clock.
    now: Nanoseconds,
    spun: Nanoseconds,
    busy: BusyMeter,
    /// The start of the load, and how long after it the worker began.
    start: Nanoseconds,
    start_lag: Nanoseconds,
    next_publish: Nanoseconds,
    timeout: Nanoseconds,
    deadline: Option<Nanoseconds>,
    /// Whether no request had ended when the time was up; `None` until then.
    ended_none_in_time: Option<bool>,
    /// Whether a response must arrive by its request's deadline.
    deadline_binds_responses: bool,
    /// `None` if the machine has none.
    counters: Option<Counters>,
    /// `None` if the kernel does not report it.
    scheduling: Option<SchedulingMeter>,
}

impl<'a, W: Wire> Worker<'a, W> {
    pub(super) fn new(
        shared: Shared<'a>,
        FirstEventLoop { io, chooses_after }: FirstEventLoop,
        share: Share,
        new_wire: &'a dyn Fn() -> W,
        pacer: Box<dyn Pacer + 'a>,
        Requests { mix, flows }: Requests<'a>,
        judge: Judge<'a>,
    ) -> Self {
        let plan = shared.plan;
        let now = shared.clock.now();
        let streams = (0..share.streams).map(|_| Connection::new(new_wire(), Role::Stream));
        let load = (0..share.connections).map(|_| Connection::new(new_wire(), Role::Load));
        Self {
            connections: streams.chain(load).collect(),
            io,
            chooses_after,
            new_wire,
            share,
            sources: SourceAddresses::of(plan),
            pacer,
            mix,
            flows,
            timetable: Timetable::default(),
            pauses: Timetable::default(),
            retries: Timetable::default(),
            retries_until: 0,
            deadlines: Deadlines::default(),
            idle: VecDeque::new(),
            growth: Growth::default(),
            judge,
            tally: Tally::default(),
            phase: Phase::begin(now, plan, WorkerCost::default()),
            stages: StageEnds::of(plan),
            warmup: None,
            warmup_end: None,
            timeline: TimelineRecorder::begin(now),
            silence: SilenceRecorder::begin(now, now),
            recorder: WorkerRecorder::new(shared.recording, plan.threads),
            in_flight: 0,
            counts: ConnectionCounts::default(),
            agreement: None,
            open: 0,
            now,
            spun: 0,
            busy: BusyMeter::default(),
            start: now,
            start_lag: 0,
            next_publish: Nanoseconds::MAX,
            timeout: nanoseconds(plan.timeout),
            deadline: plan.deadline.map(nanoseconds),
            ended_none_in_time: None,
            deadline_binds_responses: matches!(plan.shape, LoadShape::UsersOpen { .. }),
            counters: Counters::open(),
            scheduling: SchedulingMeter::open(),
            shared,
        }
    }

    /// Runs the load until it ends.
    pub(super) fn run(mut self, place: Place<'_>) -> Result<WorkerResult, Errno> {
        let streams = self.share.streams;
        let all = self.connections.len();
        let (mut early, late) = if !self.pacer.needs_connections() {
            (0..0, 0..all)
        } else if place.is_shared() {
            // Streams are requests, and no request leaves before a start that several agents share.
            (streams..all, 0..streams)
        } else {
            (0..all, 0..0)
        };
        self.connect_all(&mut early)?;
        let start = self.learn_start(place)?;
        self.read_clock();
        let began = start.unwrap_or(self.now);
        self.start = began;
        self.busy.look(began, ThreadUsage::now().cpu, self.spun);
        self.phase = Phase::begin(began, self.shared.plan, self.cost());
        self.timeline = TimelineRecorder::begin(began);
        self.silence = SilenceRecorder::begin(began, began);
        self.recorder.begin(&self.phase);
        if start.is_none() || !self.wait_for_start(began)? {
            return Ok(self.end(Ended::Interrupted));
        }
        self.pacer.start(began);
        let mut not_begun = early.chain(late).peekable();
        self.next_publish = self.now + PUBLISH;
        loop {
            for index in not_begun.by_ref().take(BEGIN_AT_ONCE) {
                self.begin_with(index);
            }
            self.begin_due();
            self.wait(not_begun.peek().is_none())?;
            self.take_events();
            if let Some(enough) = self.chooses_after {
                self.choose_event_loop(enough);
            }
            self.check_deadlines();
            self.retry_due();
            let is_waiting = self.in_flight > 0 || self.retries_until > self.now;
            self.silence.look(self.now, &self.tally, is_waiting);
            if let Some(ended) = self.change_phase() {
                return Ok(self.end(ended));
            }
            if self.now >= self.next_publish {
                self.publish();
            }
        }
    }

    /// Opens the connections before the schedule begins: otherwise its first arrivals would find none. Those that take
    /// too long open later.
    fn connect_all(&mut self, not_begun: &mut Range<usize>) -> Result<(), Errno> {
        let first = not_begun.start;
        let give_up = self.read_clock() + LONGEST_CONNECTING.min(self.timeout);
        let mut connecting = not_begun.len();
        while connecting > 0 && self.read_clock() < give_up {
            for index in not_begun.by_ref().take(BEGIN_AT_ONCE) {
                self.begin_with(index);
            }
            if self.shared.interrupt.load(Relaxed) {
                break;
            }
            let all_have_begun = not_begun.start == not_begun.end;
            self.io
                .wait(if all_have_begun { LONGEST_WAIT } else { 0 })?;
            self.take_events();
            let is_connecting = |it: &&Connection<W>| {
                matches!(
                    it.activity,
                    Activity::Connecting { .. } | Activity::Handshaking { .. } | Activity::Closed
                )
            };
            let connections = &self.connections[first..];
            connecting = connections.iter().filter(is_connecting).count();
        }
        Ok(())
    }

    /// Learns when the load begins; `None` if it does not. A load without a schedule begins at once, unless others begin
    /// at the same instant.
    fn learn_start(&mut self, mut place: Place<'_>) -> Result<Option<Nanoseconds>, Errno> {
        if !self.pacer.needs_connections() && !place.is_shared() {
            return Ok(Some(self.read_clock()));
        }
        place.arrive();
        loop {
            match place.begin() {
                _ if self.shared.interrupt.load(Relaxed) => return Ok(None),
                Begin::At(start) => return Ok(Some(start)),
                Begin::CalledOff => return Ok(None),
                Begin::Unknown(pause) => self.idle_for(pause)?,
            }
        }
    }

    /// Waits for the start, which is known. Returns false if the load was interrupted before.
    fn wait_for_start(&mut self, start: Nanoseconds) -> Result<bool, Errno> {
        while self.read_clock() < start {
            if self.shared.interrupt.load(Relaxed) {
                return Ok(false);
            }
            self.idle_for((start - self.now).min(LONGEST_WAIT))?;
        }
        self.start_lag = self.now - start;
        if self.open > 0 {
            // The server may have closed connections while this thread did not run.
            self.idle_for(0)?;
        }
        Ok(true)
    }

    /// Waits for `longest` at most, without sending requests. The server may close connections meanwhile, which are reopened
    /// when they are needed.
    fn idle_for(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        let ahead = if self.shared.plan.spin { SPIN } else { 0 };
        self.io.wait(longest.saturating_sub(ahead))?;
        self.take_events();
        self.check_deadlines();
        self.retry_due();
        Ok(())
    }

    #[inline]
    fn read_clock(&mut self) -> Nanoseconds {
        self.now = self.shared.clock.now();
        if self.timeline.is_over(self.now) {
            self.timeline.take(self.now, &self.tally);
        }
        if let Some(intervals) = &mut self.recorder.intervals
            && intervals.is_over(self.now)
        {
            intervals.take(self.now, &self.tally.latency);
        }
        self.now
    }

    /// Waits until an event has arrived or something is due.
    fn wait(&mut self, all_have_begun: bool) -> Result<(), Errno> {
        let due = self.next_due();
        if due != Nanoseconds::MAX {
            self.read_clock();
        }
        // After the end only late responses remain.
        let ends = if self.now < self.phase.ends {
            self.phase.ends
        } else {
            Nanoseconds::MAX
        };
        let until = due
            .min(ends)
            .min(self.deadlines.next())
            .min(self.retries.next())
            .min(self.now + LONGEST_WAIT);
        let longest = if all_have_begun {
            until.saturating_sub(self.now)
        } else {
            0
        };
        if self.shared.plan.spin && due != Nanoseconds::MAX {
            self.wait_spinning(longest, due)
        } else {
            self.io.wait(longest)
        }
    }

    /// Sleeps until shortly before a due time, and then polls for events.
    fn wait_spinning(&mut self, longest: Nanoseconds, due: Nanoseconds) -> Result<(), Errno> {
        let asleep = due.saturating_sub(self.now.saturating_add(SPIN));
        if asleep > 0 || longest == 0 {
            return self.io.wait(asleep.min(longest));
        }
        let began = self.now;
        self.io.wait(0)?;
        if self.io.was_idle() {
            self.spun += self.read_clock() - began;
        }
        Ok(())
    }

    fn take_events(&mut self) {
        self.read_clock();
        let mut until_clock = EVENTS_A_CLOCK;
        while let Some((index, event)) = self.io.next() {
            self.on_event(index, event);
            until_clock -= 1;
            if until_clock == 0 {
                until_clock = EVENTS_A_CLOCK;
                self.read_clock();
            }
        }
    }

    #[inline]
    fn on_event(&mut self, index: usize, event: SocketEvent) {
        match event {
            SocketEvent::Received(chunk) => self.received(index, chunk),
            SocketEvent::Skipped(length) => self.skipped(index, length),
            SocketEvent::Writable => self.flush(index),
            SocketEvent::Connected(result) => self.connected(index, result),
            SocketEvent::Closed => self.closed(index, None),
            SocketEvent::Broken(errno) => self.closed(index, Some(errno)),
        }
        self.free(index);
    }

    /// Settles the event loop, once enough responses have shown how long they are. The worker started with epoll.
    #[cold]
    fn choose_event_loop(&mut self, enough: u64) {
        let of = |outcome| self.tally.outcomes[outcome];
        let responses = of(Outcome::Ok) + of(Outcome::WrongStatus) + of(Outcome::WrongBody);
        if responses < enough {
            return;
        }
        self.chooses_after = None;
        if self.tally.bytes_read < responses * LONG_BODY {
            self.io.switch_to_io_uring(self.share.slots());
            // Send what epoll had no room for.
            (0..self.connections.len()).for_each(|index| self.flush(index));
        }
    }

    /// What the pacer has begun and has not ended: requests, or flows of a scenario.
    fn in_progress(&self) -> u64 {
        match &self.flows {
            None => self.in_flight,
            Some(flows) => flows.in_progress(),
        }
    }

    /// Requests due before this may begin: now, but within the phase.
    fn horizon(&self) -> Nanoseconds {
        self.now.min(self.phase.ends.saturating_sub(1))
    }

    /// Goes from the warm-up to the measured part, and from there to the end.
    fn change_phase(&mut self) -> Option<Ended> {
        if self.shared.interrupt.load(Relaxed) {
            return Some(Ended::Interrupted);
        }
        if self.now >= self.phase.ends {
            if self.phase.measuring {
                return self.wait_for_late_responses();
            }
            self.end_warmup();
        }
        let all_done = self.in_progress() == 0 && self.pacer.exhausted();
        all_done.then_some(Ended::Requests)
    }

    /// When the time of an open loop is up, waits for the requests that have begun, or should have, at most as long as
    /// a response may take. Without them the slowest responses would be missing from the figures. A closed loop just
    /// ends.
    fn wait_for_late_responses(&mut self) -> Option<Ended> {
        if !self.shared.plan.shape.is_open() {
            return (!self.is_in_overtime()).then_some(Ended::Duration);
        }
        let none_left = self.in_progress() == 0 && self.pacer.next_arrival() >= self.phase.ends;
        let too_long = self.now >= self.phase.ends.saturating_add(self.timeout);
        (none_left || too_long).then_some(Ended::Duration)
    }

    /// Whether a closed loop whose time is up continues, because otherwise there would be no result.
    fn is_in_overtime(&mut self) -> bool {
        let ended = self.tally.outcomes.total();
        let none_in_time = *self.ended_none_in_time.get_or_insert(ended == 0);
        let enough = ended >= self.share.connections as u64;
        let too_long = self.now >= self.phase.ends.saturating_add(self.timeout);
        self.shared.plan.overtime && none_in_time && !enough && !too_long
    }

    /// Ends the warm-up, whose time is up.
    fn end_warmup(&mut self) {
        let ends = self.phase.ends;
        let in_progress = self.in_progress();
        let measured = self.pacer.begin_measuring(in_progress, ends);
        let stood_still = self.now - ends > STANDSTILL;
        let is_late = stood_still || in_progress > measured;
        // Every worker sees the end a little late, and a schedule runs by the clock. Otherwise the measured time must not
        // be over before it starts.
        let at = (self.shared.plan.shape.is_open() || !is_late).then_some(ends);
        self.phase.ends = Nanoseconds::MAX;
        self.warmup_end = Some(WarmupEnd { at, measured });
        self.check_warmup_end();
    }

    /// Starts measuring after the warm-up, once no more requests are in flight than are to be measured.
    #[inline]
    fn check_warmup_end(&mut self) {
        if let Some(end) = self.warmup_end
            && self.in_progress() <= end.measured
        {
            self.warmup_end = None;
            self.begin_measuring(end.at.unwrap_or(self.now));
        }
    }

    /// Whatever ends from now on is measured; the time runs from `at`.
    #[cold]
    fn begin_measuring(&mut self, at: Nanoseconds) {
        // The last figures of the warm-up, which observers see until the next ones are due.
        self.publish();
        let cost = self.cost();
        self.count_handshakes();
        self.timeline.take_last_of(&self.tally);
        let mut tally = std::mem::take(&mut self.tally);
        // Streams continue through both phases.
        std::mem::swap(
            &mut self.tally.streams.outcomes,
            &mut tally.streams.outcomes,
        );
        self.warmup = Some(self.phase.close(at, cost, tally));
        self.phase = Phase::begin_measuring(at, self.shared.plan, cost);
        self.silence = SilenceRecorder::begin(self.start, at);
        self.recorder.begin(&self.phase);
        self.judge.begin_phase();
    }

    fn end(mut self, ended: Ended) -> WorkerResult {
        self.count_overdue();
        self.count_in_flight();
        self.end_streams();
        self.count_handshakes();
        self.publish();
        if let Some(flows) = &self.flows {
            self.counts.flows_begun = flows.begun();
            self.tally.flows().unfinished += flows.in_progress();
        }
        let cost = self.cost();
        let timeline = self.timeline.end(self.now, &self.tally);
        let latency = &self.tally.latency;
        let records = self
            .recorder
            .end(self.start, self.now, &self.phase, latency);
        let due = self.phase.due_time(self.now, ended, self.pacer.due());
        let last = PhaseResult {
            due,
            ..self.phase.close(self.now, cost, self.tally)
        };
        // An interrupt during the warm-up leaves nothing measured.
        let (warmup, measured) = if self.phase.measuring {
            (self.warmup, last)
        } else {
            (Some(last), PhaseResult::default())
        };
        WorkerResult {
            warmup,
            measured,
            timeline,
            silences: self.silence.end(),
            ended,
            connections: self.counts,
            agreement: self.agreement,
            event_loop: self.io.name(),
            start_lag: self.start_lag,
            records: Some(records),
        }
    }

    /// Counts the requests in flight as unfinished. One that waits for its connection without a schedule was never sent
    /// and does not count.
    fn count_in_flight(&mut self) {
        for index in self.share.streams..self.connections.len() {
            let requests = std::mem::take(&mut self.connections[index].in_flight);
            for mut request in requests.into_iter().filter(|it| it.from.is_some()) {
                self.trace(&mut request, Outcome::Unfinished);
                self.count_in_stage(index, &request, Outcome::Unfinished);
                self.count_unfinished(request.number, 1);
            }
        }
    }

    /// Traces the end of a request, if it is one of those that are traced.
    #[inline]
    fn trace(&mut self, request: &mut InFlight, outcome: Outcome) {
        if let Some(traced) = request.traced.take()
            && let Some(trace) = &mut self.recorder.trace
        {
            trace.end(*traced, outcome, self.now);
        }
    }

    /// Counts unfinished requests of that number in the set or the scenario.
    fn count_unfinished(&mut self, number: usize, count: u64) {
        self.tally.outcomes[Outcome::Unfinished] += count;
        if self.flows.is_some() && count > 0 {
            self.tally.flows().entry(number).outcomes[Outcome::Unfinished] += count;
        }
    }

    fn cost(&self) -> WorkerCost {
        let usage = ThreadUsage::now();
        let scheduling = self.scheduling.as_ref();
        WorkerCost {
            cpu: usage.cpu,
            scheduling: scheduling.and_then(|meter| meter.read(&usage)),
            system_calls: self.io.system_calls(),
            spun: self.spun,
            counted: self.counters.as_ref().and_then(Counters::read),
        }
    }

    fn publish(&mut self) {
        self.next_publish = self.now + PUBLISH;
        let progress = self.shared.progress;
        let since_start = self.now.saturating_sub(self.start);
        let cpu = ThreadUsage::now().cpu;
        let busy = self.busy.look(self.now, cpu, self.spun);
        progress.publish(since_start, &self.tally, self.phase.measuring, busy);
    }
}
