//! What one worker counted in one phase of the load.

use std::collections::BTreeMap;
use std::fmt::Display;

use prony_model::{Checked, LatencyHistogram, Outcome, Outcomes, WrongResponse};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::clock::{Nanoseconds, seconds};
use super::encoded::{Latencies, pairs};
use super::stage_rows::StageTally;
use crate::plan::MOST_SLOW;

/// Counters of one worker and one phase. Nothing here is shared while the load runs.
///
/// The tally of an agent goes to other processes with its histograms as text: an empty one of that form, to which this
/// is added.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally<H = LatencyHistogram> {
    pub(super) outcomes: Outcomes,
    pub(super) latency: H,
    /// The sum of all latencies; it wraps around.
    #[serde(skip)]
    pub(super) latency_sum: Nanoseconds,
    /// For each latency that the plan names, the responses that took this long or longer.
    #[serde(skip)]
    pub(super) slow: [u64; MOST_SLOW],
    pub(super) connect: H,
    pub(super) handshakes: HandshakeTally<H>,
    /// The time to the first byte of each ok response, if measured.
    pub(super) first_byte: H,
    pub(super) schedule: ScheduleTally<H>,
    pub(super) events: EventTally<H>,
    /// Those that are held open beside the load.
    pub(super) streams: StreamTally<H>,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    statuses: Statuses,
    /// How many responses had each `grpc-status`.
    #[serde(with = "pairs")]
    pub(super) rpc_statuses: BTreeMap<u32, u64>,
    pub(super) first_wrong: Option<WrongResponse>,
    /// Ok responses that waited once for a delayed acknowledgement.
    #[serde(default)]
    pub(super) ack_waits: u64,
    /// The responses that were compared whole.
    pub(super) checked: Checked,
    /// What the users of a scenario did; `None` before that.
    flows: Option<Box<FlowTally<H>>>,
    /// By the number of the stage, as far as any had a request.
    stages: Vec<StageTally<H>>,
}

/// Flows of a scenario, and the requests of each of its entries.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FlowTally<H = LatencyHistogram> {
    pub(super) ok: u64,
    /// Those of them that count for the rate.
    pub(super) completed: u64,
    pub(super) failed: u64,
    /// Those of them in which no request failed.
    pub(super) failed_without_request: u64,
    /// Those in progress at the end.
    pub(super) unfinished: u64,
    /// How long those took that were ok.
    pub(super) duration: H,
    /// Why the first one failed that failed without a request.
    pub(super) first_failure: Option<String>,
    /// By the position of the entry, as far as any had a request.
    pub(super) entries: Vec<EntryTally<H>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct EntryTally<H = LatencyHistogram> {
    pub(super) outcomes: Outcomes,
    pub(super) latency: H,
    pub(super) first_wrong: Option<WrongResponse>,
}

/// The most different values of `grpc-status` to count.
const MOST_RPC_STATUSES: usize = 100;

#[derive(Debug)]
struct Statuses(Box<[u64; 1000]>);

impl Default for Statuses {
    fn default() -> Self {
        Self(Box::new([0; 1000]))
    }
}

impl Statuses {
    fn counted(&self) -> BTreeMap<u16, u64> {
        let counts = (0..).zip(self.0.iter().copied());
        counts.filter(|&(_, count)| count > 0).collect()
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        pairs::serialize(&self.counted(), serializer)
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut statuses = Self::default();
        for (status, count) in pairs::deserialize::<u16, D>(deserializer)? {
            let counter = statuses.0.get_mut(usize::from(status));
            *counter.ok_or_else(|| D::Error::custom(format!("{status} is no status")))? = count;
        }
        Ok(statuses)
    }
}

/// Adds a count that may come from another process.
fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

fn keep_first(first: &mut Option<WrongResponse>, outcome: Outcome, detail: impl Display) {
    if outcome.is_error() && first.is_none() {
        *first = Some(WrongResponse {
            outcome: outcome.name().into(),
            detail: detail.to_string(),
        });
    }
}

/// How well the schedule was kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ScheduleTally<H = LatencyHistogram> {
    /// Requests that were due in the phase, and how many of them were begun.
    pub(super) due: u64,
    pub(super) sent: u64,
    /// Ok requests that count for the rate.
    pub(super) completed: u64,
    /// Requests that were due before their user, or any connection, became free.
    pub(super) queued: u64,
    /// Those of them that found every open connection busy with requests.
    pub(super) bound_hits: u64,
    /// Requests that waited while connections were being set up for them.
    pub(super) set_up_waits: u64,
    /// At the end, how overdue a request was that had not begun although a connection was free.
    pub(super) behind_by: Nanoseconds,
    /// Of the generator itself.
    pub(super) lag: H,
    /// The lag in the first and in the second half of the phase.
    pub(super) lag_by_half: [LagSum; 2],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct LagSum {
    sum: Nanoseconds,
    count: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct HandshakeTally<H = LatencyHistogram> {
    pub(super) full: H,
    /// Those that resumed an earlier session.
    pub(super) resumed: H,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct EventTally<H = LatencyHistogram> {
    pub(super) count: u64,
    pub(super) first: H,
    pub(super) gap: H,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StreamTally<H = LatencyHistogram> {
    pub(super) outcomes: Outcomes,
    pub(super) events: EventTally<H>,
    /// Of those held to the end, the one with the fewest events for its time.
    pub(super) slowest: Option<StreamCourse>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct StreamCourse {
    pub(super) events: u64,
    pub(super) held: Nanoseconds,
}

impl<H> StreamTally<H> {
    /// Keeps the slower one of this stream and the slowest so far.
    pub(super) fn slower(&mut self, other: Option<StreamCourse>) {
        let both = self.slowest.into_iter().chain(other);
        self.slowest = both.min_by(|one, other| one.per_s().total_cmp(&other.per_s()));
    }
}

impl StreamCourse {
    fn per_s(&self) -> f64 {
        self.events as f64 / seconds(self.held.max(1))
    }
}

impl Tally {
    /// Counts a request that is ok; `is_completed`: whether it counts for the rate of an open loop.
    #[inline]
    pub(super) fn ok(
        &mut self,
        latency: Nanoseconds,
        is_completed: bool,
        slow_from: &[Nanoseconds],
    ) {
        self.outcomes[Outcome::Ok] += 1;
        self.schedule.completed += u64::from(is_completed);
        self.latency.record(latency);
        self.latency_sum = self.latency_sum.wrapping_add(latency);
        for (slow, from) in self.slow.iter_mut().zip(slow_from) {
            *slow += u64::from(latency >= *from);
        }
    }

    /// The same, if there is any.
    pub(super) fn counted_flows(&self) -> Option<&FlowTally> {
        self.flows.as_deref()
    }

    /// The stages of which anything was counted, and those before them.
    pub(super) fn counted_stages(&self) -> &[StageTally] {
        &self.stages
    }

    /// Requests that ended in an error, and flows that failed without one.
    pub(super) fn errors(&self) -> u64 {
        let flows = self.flows.as_ref();
        self.outcomes.errors() + flows.map_or(0, |flows| flows.failed_without_request)
    }

    /// Counts a request that is not ok, and keeps the detail of the first one.
    #[cold]
    pub(super) fn not_ok(&mut self, outcome: Outcome, detail: impl Display) {
        self.outcomes[outcome] += 1;
        self.wrong(outcome, detail);
    }

    /// Keeps the detail if it is the first one.
    pub(super) fn wrong(&mut self, outcome: Outcome, detail: impl Display) {
        keep_first(&mut self.first_wrong, outcome, detail);
    }

    #[inline]
    pub(super) fn status(&mut self, status: u16) {
        if let Some(count) = self.statuses.0.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    #[inline]
    pub(super) fn rpc_status(&mut self, status: u32) {
        self.rpc_status_times(status, 1);
    }

    pub(super) fn statuses(&self) -> BTreeMap<u16, u64> {
        self.statuses.counted()
    }
}

impl<H: Latencies> Tally<H> {
    /// What the users of the load's scenario do.
    pub(super) fn flows(&mut self) -> &mut FlowTally<H> {
        self.flows.get_or_insert_default()
    }

    #[inline]
    pub(super) fn stage(&mut self, stage: usize) -> &mut StageTally<H> {
        if self.stages.len() <= stage {
            self.stages.resize_with(stage + 1, StageTally::default);
        }
        &mut self.stages[stage]
    }

    fn rpc_status_times(&mut self, status: u32, times: u64) {
        // A lying server must not fill the memory; gRPC has 17.
        if self.rpc_statuses.len() < MOST_RPC_STATUSES || self.rpc_statuses.contains_key(&status) {
            add(self.rpc_statuses.entry(status).or_default(), times);
        }
    }

    /// Adds what another worker or agent counted, with the histograms in either form.
    pub(super) fn merge<O: Latencies>(&mut self, other: &Tally<O>) {
        self.outcomes.merge(&other.outcomes);
        self.latency.add(&other.latency);
        self.connect.add(&other.connect);
        self.handshakes.merge(&other.handshakes);
        self.first_byte.add(&other.first_byte);
        self.schedule.merge(&other.schedule);
        self.events.merge(&other.events);
        self.streams.outcomes.merge(&other.streams.outcomes);
        self.streams.events.merge(&other.streams.events);
        self.streams.slower(other.streams.slowest);
        add(&mut self.bytes_read, other.bytes_read);
        add(&mut self.bytes_written, other.bytes_written);
        for (mine, theirs) in self.statuses.0.iter_mut().zip(other.statuses.0.iter()) {
            add(mine, *theirs);
        }
        for (&status, &count) in &other.rpc_statuses {
            self.rpc_status_times(status, count);
        }
        add(&mut self.ack_waits, other.ack_waits);
        self.checked.merge(&other.checked);
        if let Some(flows) = &other.flows {
            self.flows().merge(flows);
        }
        for (number, theirs) in other.stages.iter().enumerate() {
            self.stage(number).merge(theirs);
        }
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&other.first_wrong);
        }
    }
}

impl<H> Tally<H> {
    pub(super) fn entries(&self) -> usize {
        self.flows.as_ref().map_or(0, |flows| flows.entries.len())
    }

    pub(super) fn stages(&self) -> usize {
        self.stages.len()
    }
}

impl FlowTally {
    pub(super) fn ok(&mut self, took: Nanoseconds, counts: bool) {
        self.ok += 1;
        self.completed += u64::from(counts);
        self.duration.record(took);
    }

    /// Counts a flow that failed although no request did.
    #[cold]
    pub(super) fn failed_without_request(&mut self, reason: String) {
        self.failed += 1;
        self.failed_without_request += 1;
        self.first_failure.get_or_insert(reason);
    }

    #[cold]
    pub(super) fn shed(&mut self, detail: impl Display) {
        self.failed += 1;
        self.entry_not_ok(0, Outcome::Shed, detail);
    }

    #[inline]
    pub(super) fn entry_ok(&mut self, entry: usize, latency: Nanoseconds) {
        let tally = self.entry(entry);
        tally.outcomes[Outcome::Ok] += 1;
        tally.latency.record(latency);
    }

    #[cold]
    pub(super) fn entry_not_ok(&mut self, entry: usize, outcome: Outcome, detail: impl Display) {
        let tally = self.entry(entry);
        tally.outcomes[outcome] += 1;
        keep_first(&mut tally.first_wrong, outcome, detail);
    }
}

impl<H: Latencies> FlowTally<H> {
    #[inline]
    pub(super) fn entry(&mut self, entry: usize) -> &mut EntryTally<H> {
        if self.entries.len() <= entry {
            self.entries.resize_with(entry + 1, EntryTally::default);
        }
        &mut self.entries[entry]
    }

    fn merge<O: Latencies>(&mut self, other: &FlowTally<O>) {
        add(&mut self.ok, other.ok);
        add(&mut self.completed, other.completed);
        add(&mut self.failed, other.failed);
        add(
            &mut self.failed_without_request,
            other.failed_without_request,
        );
        add(&mut self.unfinished, other.unfinished);
        self.duration.add(&other.duration);
        if self.first_failure.is_none() {
            self.first_failure.clone_from(&other.first_failure);
        }
        for (entry, theirs) in other.entries.iter().enumerate() {
            let mine = self.entry(entry);
            mine.outcomes.merge(&theirs.outcomes);
            mine.latency.add(&theirs.latency);
            if mine.first_wrong.is_none() {
                mine.first_wrong.clone_from(&theirs.first_wrong);
            }
        }
    }
}

impl ScheduleTally {
    /// Counts a request that was begun `lag` after it could have been.
    #[inline]
    pub(super) fn begun(&mut self, lag: Nanoseconds, second_half: bool) {
        self.lag.record(lag);
        let half = &mut self.lag_by_half[usize::from(second_half)];
        half.sum += lag;
        half.count += 1;
    }
}

impl<H: Latencies> ScheduleTally<H> {
    fn merge<O: Latencies>(&mut self, other: &ScheduleTally<O>) {
        add(&mut self.due, other.due);
        add(&mut self.sent, other.sent);
        add(&mut self.completed, other.completed);
        add(&mut self.queued, other.queued);
        add(&mut self.bound_hits, other.bound_hits);
        add(&mut self.set_up_waits, other.set_up_waits);
        self.behind_by = self.behind_by.max(other.behind_by);
        self.lag.add(&other.lag);
        for (mine, theirs) in self.lag_by_half.iter_mut().zip(other.lag_by_half) {
            add(&mut mine.sum, theirs.sum);
            add(&mut mine.count, theirs.count);
        }
    }

    pub(super) fn lag_sum(&self) -> Nanoseconds {
        self.lag_by_half.iter().map(|half| half.sum).sum()
    }

    /// The mean lag of each half, in nanoseconds; `None` if a half has none.
    pub(super) fn mean_lag_by_half(&self) -> Option<[f64; 2]> {
        let mean = |half: LagSum| half.sum as f64 / half.count as f64;
        self.lag_by_half
            .iter()
            .all(|half| half.count > 0)
            .then(|| self.lag_by_half.map(mean))
    }
}

impl HandshakeTally {
    pub(super) fn record(&mut self, resumed: bool, took: Nanoseconds) {
        if resumed {
            self.resumed.record(took);
        } else {
            self.full.record(took);
        }
    }
}

impl<H: Latencies> HandshakeTally<H> {
    fn merge<O: Latencies>(&mut self, other: &HandshakeTally<O>) {
        self.full.add(&other.full);
        self.resumed.add(&other.resumed);
    }
}

impl EventTally {
    /// Counts events that arrived together at `now`, in a response whose latency runs from `from` and whose last event
    /// arrived at `before`.
    pub(super) fn received(
        &mut self,
        events: u64,
        now: Nanoseconds,
        from: Nanoseconds,
        before: Option<Nanoseconds>,
    ) {
        self.count += events;
        match before {
            None => self.first.record(now.saturating_sub(from)),
            Some(before) => self.gap.record(now.saturating_sub(before)),
        }
        (1..events).for_each(|_| self.gap.record(0));
    }
}

impl<H: Latencies> EventTally<H> {
    fn merge<O: Latencies>(&mut self, other: &EventTally<O>) {
        add(&mut self.count, other.count);
        self.first.add(&other.first);
        self.gap.add(&other.gap);
    }
}
