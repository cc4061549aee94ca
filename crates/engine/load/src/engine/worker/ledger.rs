//! How the requests of a worker end, and when: it knows no sockets.

use std::fmt::Display;

use prony_model::{Ended, Outcome, Seconds};

use super::deadlines::TimeLimits;
use super::shared::{Share, Shared};
use crate::engine::clock::{Clock, Nanoseconds};
use crate::engine::connection::{Connection, InFlight};
use crate::engine::cost::CostMeter;
use crate::engine::flows::{Flows, Limits};
use crate::engine::judge::{Judge, Kept};
use crate::engine::pacer::{DueInstants, Overdue};
use crate::engine::phase::{Begin, Phase, PhaseResult, Phases};
use crate::engine::progress::{Progress, WorkerProgress};
use crate::engine::records::{WorkerRecorder, WorkerRecords};
use crate::engine::silence::{SilenceRecorder, Silences};
use crate::engine::stage_rows::StageEnds;
use crate::engine::tally::Tally;
use crate::engine::timeline::{TimelineRecorder, WorkerTimeline};
use crate::plan::LoadPlan;
use crate::wire::{Whole, Wire};

/// How often a worker publishes its progress.
const PUBLISH: Nanoseconds = 200_000_000;

/// The books of a worker.
pub(in crate::engine) struct Ledger<'a> {
    plan: &'a LoadPlan,
    pub(super) limits: TimeLimits,
    /// How many connections hold streams: the first ones.
    pub(super) streams: usize,
    clock: Clock,
    /// The last reading of the clock.
    pub(super) now: Nanoseconds,
    /// The start of the load.
    pub(super) start: Nanoseconds,
    pub(super) phases: Phases,
    stages: StageEnds,
    pub(super) judge: Judge<'a>,
    /// The users of a scenario, if there is one.
    pub(super) flows: Option<Flows<'a>>,
    /// Requests of the load that have begun and have no outcome yet.
    pub(super) in_flight: u64,
    pub(super) tally: Tally,
    warmup: Option<PhaseResult>,
    timeline: TimelineRecorder,
    silence: SilenceRecorder,
    pub(super) recorder: WorkerRecorder,
    pub(super) cost: CostMeter,
    observed: &'a WorkerProgress,
    next_publish: Nanoseconds,
}

/// What was measured of the requests of a worker.
#[derive(Debug)]
pub(in crate::engine) struct Figures {
    pub(in crate::engine) warmup: Option<PhaseResult>,
    pub(in crate::engine) measured: PhaseResult,
    pub(in crate::engine) timeline: WorkerTimeline,
    pub(in crate::engine) silences: Silences,
    /// What was recorded, until that is taken.
    pub(in crate::engine) records: Option<WorkerRecords>,
}

impl<'a> Ledger<'a> {
    pub(in crate::engine) fn new(
        shared: &Shared<'a>,
        share: Share,
        flows: Option<Flows<'a>>,
        judge: Judge<'a>,
    ) -> Self {
        let plan = shared.plan;
        let now = shared.clock.now();
        Self {
            plan,
            limits: TimeLimits::of(plan),
            streams: share.streams,
            clock: shared.clock,
            now,
            start: now,
            phases: Phases::of(plan, share.connections, now),
            stages: StageEnds::of(plan),
            judge,
            flows,
            in_flight: 0,
            tally: Tally::default(),
            warmup: None,
            timeline: TimelineRecorder::begin(now),
            silence: SilenceRecorder::begin(now, now),
            recorder: WorkerRecorder::new(shared.recording, plan.load.threads),
            cost: CostMeter::open(),
            observed: shared.progress,
            next_publish: Nanoseconds::MAX,
        }
    }

    /// The load begins at `start`. The worker has made that many system calls before.
    pub(super) fn begin(&mut self, start: Nanoseconds, system_calls: u64) {
        self.start = start;
        self.cost.busy(start);
        let cost = self.cost.read(system_calls);
        self.phases.current = Phase::begin(start, self.plan, cost);
        self.timeline = TimelineRecorder::begin(start);
        self.silence = SilenceRecorder::begin(start, start);
        self.recorder.begin(&self.phases.current);
        self.next_publish = start + PUBLISH;
    }

    #[inline]
    pub(super) fn read_clock(&mut self) -> Nanoseconds {
        self.now = self.clock.now();
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

    /// Requests due before this may begin.
    #[inline]
    pub(super) fn horizon(&self) -> Nanoseconds {
        self.phases.horizon(self.now)
    }

    /// Whether the connection holds a stream beside the load.
    #[inline]
    pub(super) fn is_stream(&self, index: usize) -> bool {
        index < self.streams
    }

    /// The user of a connection of the load.
    #[inline]
    pub(super) fn user(&self, index: usize) -> usize {
        index - self.streams
    }

    #[inline]
    pub(super) fn is_in_flow(&self, index: usize) -> bool {
        let flows = self.flows.as_ref();
        flows.is_some_and(|flows| flows.is_in_flow(self.user(index)))
    }

    /// What the pacer has begun and has not ended: requests, or flows of a scenario.
    #[inline]
    pub(super) fn in_progress(&self) -> u64 {
        let flows = self.flows.as_ref();
        flows.map_or(self.in_flight, Flows::in_progress)
    }

    /// Looks for silences, once in a turn. `is_retrying` says whether a connection waits to be tried again.
    pub(super) fn look(&mut self, is_retrying: bool) {
        let is_waiting = self.in_flight > 0 || is_retrying;
        self.silence.look(self.now, &self.tally, is_waiting);
    }

    pub(super) fn publish_if_due(&mut self) {
        if self.now >= self.next_publish {
            let progress = self.progress();
            self.observed.publish(progress);
        }
    }

    fn progress(&mut self) -> Progress {
        self.next_publish = self.now + PUBLISH;
        let since_start = self.now.saturating_sub(self.start);
        let busy = self.cost.busy(self.now);
        let is_measuring = self.phases.current.measuring;
        Progress::of_worker(since_start, &self.tally, is_measuring, busy)
    }

    /// When measuring begins, if it begins now.
    #[inline]
    pub(super) fn take_warmup_end(&mut self) -> Option<Nanoseconds> {
        if !self.phases.is_ending_warmup() {
            return None;
        }
        let in_progress = self.in_progress();
        self.phases.take_warmup_end(self.now, in_progress)
    }

    /// Whatever ends from now on is measured; the time runs from `at`.
    pub(super) fn begin_measuring(&mut self, at: Nanoseconds, system_calls: u64) {
        // The last figures of the warm-up, which observers see until the next ones are due.
        let progress = self.progress();
        self.observed.publish(progress);
        let cost = self.cost.read(system_calls);
        self.timeline.take_last_of(&self.tally);
        let mut tally = std::mem::take(&mut self.tally);
        // Streams continue through both phases.
        std::mem::swap(
            &mut self.tally.streams.outcomes,
            &mut tally.streams.outcomes,
        );
        self.warmup = Some(self.phases.current.close(at, cost, tally));
        self.phases.current = Phase::begin_measuring(at, self.plan, cost);
        self.silence = SilenceRecorder::begin(self.start, at);
        self.recorder.begin(&self.phases.current);
        self.judge.begin_phase();
    }

    /// A connection that was free since `free_since` takes an arrival that was due at `at`. Returns false if that is too
    /// late to send: that is its outcome. `was_refused` says whether the last attempt to open the connection was.
    #[inline]
    pub(super) fn arrived(
        &mut self,
        at: Nanoseconds,
        free_since: Nanoseconds,
        was_refused: bool,
    ) -> bool {
        let is_queued = free_since > at;
        let in_time = self.limits.latest_send(at) > self.now;
        let schedule = &mut self.tally.schedule;
        if at >= self.phases.current.began {
            schedule.due += 1;
            schedule.sent += u64::from(in_time);
        }
        schedule.queued += u64::from(is_queued);
        schedule.bound_hits += u64::from(is_queued && !was_refused);
        if in_time {
            // The generator is not to blame while the user was busy.
            let lag = self.now.saturating_sub(at.max(free_since));
            schedule.begun(lag, self.phases.current.is_second_half(at));
        } else {
            self.shed(at);
        }
        in_time
    }

    #[cold]
    fn shed(&mut self, at: Nanoseconds) {
        let deadline = self.plan.load.deadline.unwrap_or_default();
        let detail = format_args!(
            "no connection was free until more than {deadline:?} after the request was due"
        );
        if self.flows.is_some() {
            self.tally.flows().shed(detail);
        }
        if let Some(stage) = self.stage_of(at) {
            self.tally.stage(stage).outcomes[Outcome::Shed] += 1;
        }
        self.tally.not_ok(Outcome::Shed, detail);
    }

    /// Decides the outcome of a request that has a whole response, and returns whether it is ok.
    #[inline]
    pub(super) fn responded<W: Wire>(
        &mut self,
        index: usize,
        connection: &Connection<W>,
        mut request: InFlight,
        whole: Whole,
        was_sent: bool,
    ) -> bool {
        if let Some(traced) = &mut request.traced {
            traced.responded(&whole);
        }
        if !self.is_stream(index) {
            self.tally.status(whole.status);
            if let Some(status) = whole.rpc_status {
                self.tally.rpc_status(status);
            }
        }
        let latency = self.now.saturating_sub(request.from.unwrap_or(self.now));
        let failure = match self.verdict(index, connection, &mut request, whole, latency) {
            // The worker may look at a response before the timetable, although both are due.
            _ if request.deadline <= self.now => {
                (Outcome::TimedOut, self.no_response_in_time(index))
            }
            Err(failure) => failure,
            // Counted as ok, a response to what the server has not read would be the fastest of all.
            Ok(()) if !was_sent => {
                let detail = "the full response arrived before the request was fully sent";
                (Outcome::Malformed, detail.into())
            }
            Ok(()) => match request.excess.take() {
                Some(fault) => (fault.outcome(), fault.to_string()),
                None => {
                    self.ok(index, request, latency);
                    return true;
                }
            },
        };
        let (outcome, detail) = failure;
        self.not_ok(index, request, outcome, detail);
        false
    }

    /// The verdict on a whole response.
    #[inline]
    fn verdict<W: Wire>(
        &mut self,
        index: usize,
        connection: &Connection<W>,
        request: &mut InFlight,
        whole: Whole,
        latency: Nanoseconds,
    ) -> Result<(), (Outcome, String)> {
        let mut sample = request.sample.take();
        if !self.is_stream(index)
            && let Some(flows) = &mut self.flows
        {
            sample = flows.respond(index - self.streams, whole.status, sample, latency)?;
            if !flows.are_requests() {
                return Ok(());
            }
        }
        let is_compared = sample.is_some() && self.judge.compares();
        let kept = Kept {
            sample,
            short_body: connection.wire.short_body(),
            message: connection.wire.message(),
        };
        let verdict = self.judge.verdict(whole, kept);
        if is_compared {
            self.tally.checked.count(verdict.is_err());
        }
        verdict
    }

    #[inline]
    fn ok(&mut self, index: usize, mut request: InFlight, latency: Nanoseconds) {
        if self.is_stream(index) {
            self.tally.streams.outcomes[Outcome::Ok] += 1;
            return;
        }
        self.in_flight -= 1;
        let begin = self.begin_of(index, &request);
        let is_completed = self.phases.current.counts(begin);
        self.tally
            .ok(latency, is_completed, &self.plan.slow_from_ns);
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
    }

    /// Counts the outcome of a request that is not ok.
    #[cold]
    pub(super) fn not_ok(
        &mut self,
        index: usize,
        mut request: InFlight,
        outcome: Outcome,
        detail: impl Display,
    ) {
        self.trace(&mut request, outcome);
        if self.is_stream(index) {
            self.tally.streams.outcomes[outcome] += 1;
            return self.tally.wrong(outcome, detail);
        }
        self.in_flight -= 1;
        self.count_in_stage(index, &request, outcome);
        if let Some(flows) = &mut self.flows {
            let (user, tally) = (index - self.streams, self.tally.flows());
            flows.failed(user, request.number, tally, outcome, &detail);
        }
        self.tally.not_ok(outcome, detail);
    }

    /// Counts a request in flight at the end of the load. One that waits for its connection without a schedule was never
    /// sent and does not count.
    pub(super) fn unfinished(&mut self, index: usize, mut request: InFlight) {
        if request.from.is_some() {
            self.trace(&mut request, Outcome::Unfinished);
            self.count_in_stage(index, &request, Outcome::Unfinished);
            self.count_unfinished(request.number, 1);
        }
    }

    /// Counts unfinished requests of that number in the set or the scenario.
    fn count_unfinished(&mut self, number: usize, count: u64) {
        self.tally.outcomes[Outcome::Unfinished] += count;
        if self.flows.is_some() && count > 0 {
            self.tally.flows().entry(number).outcomes[Outcome::Unfinished] += count;
        }
    }

    /// At the end of the load, counts overdue requests as unfinished. A connection has been free since `free_since`, if
    /// one is; otherwise `is_refused` says whether the server refuses any.
    pub(super) fn count_overdue(
        &mut self,
        overdue: Overdue,
        free_since: Option<Nanoseconds>,
        is_refused: bool,
    ) {
        self.count_unfinished(0, overdue.count);
        if self.flows.is_some() {
            self.tally.flows().unfinished += overdue.count;
        }
        let schedule = &mut self.tally.schedule;
        schedule.due += overdue.in_phase;
        if let Some(since) = free_since {
            // Before that the server kept all connections.
            schedule.behind_by = self.now.saturating_sub(overdue.first.max(since));
            return;
        }
        schedule.queued += overdue.count;
        if !is_refused {
            schedule.bound_hits += overdue.count;
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

    /// Counts an outcome that is not ok in the stage of its request.
    fn count_in_stage(&mut self, index: usize, request: &InFlight, outcome: Outcome) {
        let due = self.begin_of(index, request).due;
        if let Some(stage) = self.stage_of(due) {
            self.tally.stage(stage).outcomes[outcome] += 1;
        }
    }

    /// When a request of the load, or the flow that it belongs to, began.
    #[inline]
    fn begin_of(&self, index: usize, request: &InFlight) -> Begin {
        let flows = self.flows.as_ref();
        let flow = flows.and_then(|flows| flows.begin_of(self.user(index)));
        flow.unwrap_or(Begin {
            due: request.from.unwrap_or(request.begun),
            at: request.begun,
            queued: request.queued,
        })
    }

    /// The stage of the schedule in which a request was due, if the load has stages.
    #[inline]
    fn stage_of(&self, due: Nanoseconds) -> Option<usize> {
        let phase = &self.phases.current;
        let is_measured = phase.measuring && due >= phase.began;
        is_measured
            .then(|| self.stages.at(due - phase.began))
            .flatten()
    }

    /// Why a request that was sent over that connection has timed out.
    pub(super) fn no_response_in_time(&self, index: usize) -> String {
        let plan = self.plan;
        let limits = match &self.flows {
            None => Limits::of_every_request(),
            Some(flows) => flows.limits(self.user(index)),
        };
        let longest = limits
            .timeout
            .map_or(plan.load.timeout, Seconds)
            .min(plan.load.timeout);
        let is_bound = self.limits.deadline_binds_responses && limits.is_due;
        match plan.load.deadline {
            Some(deadline) if is_bound && deadline < longest => {
                format!("no whole response within {deadline:?} of its due time")
            }
            _ => format!("no whole response within {longest:?}"),
        }
    }

    /// Why a request could not be sent in time, and how it ended.
    pub(super) fn not_sent_in_time(&self, request: &InFlight, missing: &str) -> (Outcome, String) {
        let due = request.from.filter(|_| !request.resent);
        match (due, self.plan.load.deadline) {
            (Some(at), Some(deadline)) if self.limits.latest_send(at) <= self.now => {
                let detail = format!("no {missing} within {deadline:?} of its due time");
                (Outcome::Shed, detail)
            }
            _ => {
                let detail = format!("no {missing} within {:?}", self.plan.load.timeout);
                (Outcome::TimedOut, detail)
            }
        }
    }

    /// The load has ended.
    pub(super) fn end(mut self, ended: Ended, due: DueInstants, system_calls: u64) -> Figures {
        let progress = self.progress();
        self.observed.publish_last(progress);
        if let Some(flows) = &self.flows {
            self.tally.flows().unfinished += flows.in_progress();
        }
        let cost = self.cost.read(system_calls);
        let phase = &self.phases.current;
        let timeline = self.timeline.end(self.now, &self.tally);
        let records = self
            .recorder
            .end(self.start, self.now, phase, &self.tally.latency);
        let last = PhaseResult {
            due: phase.due_time(self.now, ended, due),
            ..phase.close(self.now, cost, self.tally)
        };
        // An interrupt during the warm-up leaves nothing measured.
        let (warmup, measured) = if phase.measuring {
            (self.warmup, last)
        } else {
            (Some(last), PhaseResult::default())
        };
        Figures {
            warmup,
            measured,
            timeline,
            silences: self.silence.end(),
            records: Some(records),
        }
    }
}
