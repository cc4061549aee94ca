//! What one worker counted in one phase of the load.

use std::collections::BTreeMap;

use prony_model::{Checked, LatencyHistogram, Outcome, Outcomes, WrongResponse};

use super::clock::Nanoseconds;
use crate::plan::MOST_SLOW;

/// Counters of one worker and one phase. Nothing here is shared while the load runs.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) outcomes: Outcomes,
    pub(super) latency: LatencyHistogram,
    /// The sum of all latencies; it wraps around.
    pub(super) latency_sum: Nanoseconds,
    /// For each latency that the plan names, the responses that took this long or longer.
    pub(super) slow: [u64; MOST_SLOW],
    pub(super) connect: LatencyHistogram,
    pub(super) handshakes: HandshakeTally,
    /// The time to the first byte of each response, if measured.
    pub(super) first_byte: LatencyHistogram,
    pub(super) schedule: ScheduleTally,
    /// The events of the load's responses.
    pub(super) events: EventTally,
    /// The streams that are held open beside the load.
    pub(super) streams: StreamTally,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    statuses: Statuses,
    /// How many responses had each `grpc-status`.
    pub(super) rpc_statuses: BTreeMap<u32, u64>,
    pub(super) first_wrong: Option<WrongResponse>,
    /// The responses that were compared whole.
    pub(super) checked: Checked,
    /// What the users of a scenario did; `None` before that.
    flows: Option<Box<FlowTally>>,
}

/// Flows of a scenario, and the requests of each of its entries.
#[derive(Debug, Default)]
pub(super) struct FlowTally {
    pub(super) ok: u64,
    pub(super) failed: u64,
    /// Those of them in which no request failed.
    pub(super) failed_without_request: u64,
    /// Those in progress at the end.
    pub(super) unfinished: u64,
    /// How long those took that were ok.
    pub(super) duration: LatencyHistogram,
    /// Why the first one failed that failed without a request.
    pub(super) first_failure: Option<String>,
    /// By the position of the entry, as far as any had a request.
    pub(super) entries: Vec<EntryTally>,
}

/// The requests of an entry.
#[derive(Debug, Default)]
pub(super) struct EntryTally {
    pub(super) outcomes: Outcomes,
    pub(super) latency: LatencyHistogram,
    pub(super) first_wrong: Option<WrongResponse>,
}

/// The most different values of `grpc-status` to count.
const MOST_RPC_STATUSES: usize = 100;

/// How many responses had each status.
#[derive(Debug)]
struct Statuses(Box<[u64; 1000]>);

impl Default for Statuses {
    fn default() -> Self {
        Self(Box::new([0; 1000]))
    }
}

/// How well the schedule was kept.
#[derive(Debug, Default)]
pub(super) struct ScheduleTally {
    /// Requests that were due in the phase, and how many of them were begun.
    pub(super) due: u64,
    pub(super) sent: u64,
    /// Ok requests that were due before their user became free.
    pub(super) queued: u64,
    /// Requests that found every connection busy when no more could be opened.
    pub(super) bound_hits: u64,
    /// At the end, how overdue a request was that had not begun although a connection was free.
    pub(super) behind_by: Nanoseconds,
    /// How late the generator itself was.
    pub(super) lag: LatencyHistogram,
    /// The lag in the first and in the second half of the phase: sum and count.
    pub(super) lag_by_half: [(u64, u64); 2],
}

/// How long handshakes took.
#[derive(Debug, Default)]
pub(super) struct HandshakeTally {
    pub(super) full: LatencyHistogram,
    /// Those that resumed an earlier session.
    pub(super) resumed: LatencyHistogram,
}

/// Events of event streams.
#[derive(Debug, Default)]
pub(super) struct EventTally {
    pub(super) count: u64,
    pub(super) first: LatencyHistogram,
    pub(super) gap: LatencyHistogram,
}

/// Streams held open beside the load.
#[derive(Debug, Default)]
pub(super) struct StreamTally {
    pub(super) outcomes: Outcomes,
    pub(super) events: EventTally,
}

impl Tally {
    #[inline]
    pub(super) fn ok(&mut self, latency: Nanoseconds, queued: bool, slow_from: &[Nanoseconds]) {
        self.outcomes[Outcome::Ok] += 1;
        self.schedule.queued += u64::from(queued);
        self.latency.record(latency);
        self.latency_sum = self.latency_sum.wrapping_add(latency);
        for (slow, from) in self.slow.iter_mut().zip(slow_from) {
            *slow += u64::from(latency >= *from);
        }
    }

    /// What the users of the load's scenario do.
    pub(super) fn flows(&mut self) -> &mut FlowTally {
        self.flows.get_or_insert_default()
    }

    /// The same, if there is any.
    pub(super) fn counted_flows(&self) -> Option<&FlowTally> {
        self.flows.as_deref()
    }

    /// Requests that ended in an error, and flows that failed without one.
    pub(super) fn errors(&self) -> u64 {
        let flows = self.flows.as_ref();
        self.outcomes.errors() + flows.map_or(0, |flows| flows.failed_without_request)
    }

    /// Counts a request that is not ok, and keeps the detail of the first one.
    #[cold]
    pub(super) fn not_ok(&mut self, outcome: Outcome, detail: impl FnOnce() -> String) {
        self.outcomes[outcome] += 1;
        self.wrong(outcome, detail);
    }

    /// Keeps the detail if it is the first one.
    pub(super) fn wrong(&mut self, outcome: Outcome, detail: impl FnOnce() -> String) {
        if outcome.is_error() && self.first_wrong.is_none() {
            self.first_wrong = Some(WrongResponse {
                outcome: outcome.name().into(),
                detail: detail(),
            });
        }
    }

    #[inline]
    pub(super) fn status(&mut self, status: u16) {
        if let Some(count) = self.statuses.0.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    #[inline]
    pub(super) fn rpc_status(&mut self, status: u32) {
        // A lying server must not fill the memory; gRPC has 17.
        if self.rpc_statuses.len() < MOST_RPC_STATUSES || self.rpc_statuses.contains_key(&status) {
            *self.rpc_statuses.entry(status).or_default() += 1;
        }
    }

    pub(super) fn statuses(&self) -> BTreeMap<u16, u64> {
        let counts = (0..).zip(self.statuses.0.iter().copied());
        counts.filter(|&(_, count)| count > 0).collect()
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        self.outcomes.merge(&other.outcomes);
        self.latency.merge(&other.latency);
        self.latency_sum = self.latency_sum.wrapping_add(other.latency_sum);
        self.connect.merge(&other.connect);
        self.handshakes.full.merge(&other.handshakes.full);
        self.handshakes.resumed.merge(&other.handshakes.resumed);
        self.first_byte.merge(&other.first_byte);
        self.schedule.merge(&other.schedule);
        self.events.merge(&other.events);
        self.streams.outcomes.merge(&other.streams.outcomes);
        self.streams.events.merge(&other.streams.events);
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        for (mine, theirs) in self.statuses.0.iter_mut().zip(other.statuses.0.iter()) {
            *mine += theirs;
        }
        for (&status, count) in &other.rpc_statuses {
            *self.rpc_statuses.entry(status).or_default() += count;
        }
        self.checked.merge(&other.checked);
        if let Some(flows) = &other.flows {
            self.flows().merge(flows);
        }
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&other.first_wrong);
        }
    }
}

impl FlowTally {
    /// Counts a flow that is ok.
    pub(super) fn ok(&mut self, took: Nanoseconds) {
        self.ok += 1;
        self.duration.record(took);
    }

    /// Counts a flow that failed although no request did.
    #[cold]
    pub(super) fn failed_without_request(&mut self, reason: String) {
        self.failed += 1;
        self.failed_without_request += 1;
        self.first_failure.get_or_insert(reason);
    }

    /// Counts a flow that was too late to begin.
    #[cold]
    pub(super) fn shed(&mut self, detail: &str) {
        self.failed += 1;
        self.entry_not_ok(0, Outcome::Shed, detail);
    }

    /// Counts a request of an entry that is ok.
    #[inline]
    pub(super) fn entry_ok(&mut self, entry: usize, latency: Nanoseconds) {
        let tally = self.entry(entry);
        tally.outcomes[Outcome::Ok] += 1;
        tally.latency.record(latency);
    }

    /// Counts one that is not ok.
    #[cold]
    pub(super) fn entry_not_ok(&mut self, entry: usize, outcome: Outcome, detail: &str) {
        let tally = self.entry(entry);
        tally.outcomes[outcome] += 1;
        if outcome.is_error() && tally.first_wrong.is_none() {
            tally.first_wrong = Some(WrongResponse {
                outcome: outcome.name().into(),
                detail: detail.into(),
            });
        }
    }

    #[inline]
    pub(super) fn entry(&mut self, entry: usize) -> &mut EntryTally {
        if self.entries.len() <= entry {
            self.entries.resize_with(entry + 1, EntryTally::default);
        }
        &mut self.entries[entry]
    }

    fn merge(&mut self, other: &Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.failed_without_request += other.failed_without_request;
        self.unfinished += other.unfinished;
        self.duration.merge(&other.duration);
        if self.first_failure.is_none() {
            self.first_failure.clone_from(&other.first_failure);
        }
        for (entry, theirs) in other.entries.iter().enumerate() {
            let mine = self.entry(entry);
            mine.outcomes.merge(&theirs.outcomes);
            mine.latency.merge(&theirs.latency);
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
        let (sum, count) = &mut self.lag_by_half[usize::from(second_half)];
        *sum += lag;
        *count += 1;
    }

    /// The mean lag of each half, in nanoseconds; `None` if a half has none.
    pub(super) fn mean_lag_by_half(&self) -> Option<[f64; 2]> {
        let mean = |(sum, count): (u64, u64)| sum as f64 / count as f64;
        self.lag_by_half
            .iter()
            .all(|&(_, count)| count > 0)
            .then(|| self.lag_by_half.map(mean))
    }

    fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.queued += other.queued;
        self.bound_hits += other.bound_hits;
        self.behind_by = self.behind_by.max(other.behind_by);
        self.lag.merge(&other.lag);
        for (mine, theirs) in self.lag_by_half.iter_mut().zip(other.lag_by_half) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }
}

impl HandshakeTally {
    pub(super) fn record(&mut self, resumed: bool, took: Nanoseconds) {
        match resumed {
            true => self.resumed.record(took),
            false => self.full.record(took),
        }
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

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.first.merge(&other.first);
        self.gap.merge(&other.gap);
    }
}
