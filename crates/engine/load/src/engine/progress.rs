//! The progress of a running load.

use std::array;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use prony_model::{LatencyHistogram, Outcome, Outcomes};
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, seconds};
use super::tally::Tally;
use crate::latency_bands::LatencyBands;

/// How far a load has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// When the workers published these figures, in seconds since the start of the load; the mean over workers.
    pub at_s: f64,
    /// Whether every worker is measuring.
    pub measuring: bool,
    /// Responses counted as ok in the current phase.
    pub ok: u64,
    /// Requests that ended in an error in that phase, and flows that failed without one.
    pub errors: u64,
    /// How requests ended in that phase.
    pub outcomes: Outcomes,
    /// Flows of a scenario that were ok in that phase.
    pub ok_flows: u64,
    /// Flows of a scenario that failed in that phase.
    pub failed_flows: u64,
    /// Events of event streams in that phase, of those held beside the load, too.
    pub events: u64,
    /// Bytes received in that phase.
    pub bytes_read: u64,
    /// Bytes sent in that phase.
    pub bytes_written: u64,
    /// The median latency so far, of the slowest worker, in nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile so far, of the slowest worker, in nanoseconds.
    pub p99_ns: u64,
    /// The latencies of the ok responses in that phase.
    pub latency: LatencyBands,
    /// Their sum, in nanoseconds.
    pub latency_sum_ns: u64,
    /// How late the generator itself began the requests of that phase, if they had due times.
    pub lag: LatencyBands,
    /// Its sum, in nanoseconds.
    pub lag_sum_ns: u64,
    /// The share of the time since the figures before these that the busiest worker was on a CPU, busy-waiting excepted.
    pub busy: f64,
}

/// One worker's figures, on cache lines of their own: the worker writes, the observer reads.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct WorkerProgress {
    at: AtomicU64,
    measuring: AtomicU64,
    errors: AtomicU64,
    outcomes: [AtomicU64; Outcome::ALL.len()],
    ok_flows: AtomicU64,
    failed_flows: AtomicU64,
    events: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    p50_ns: AtomicU64,
    p99_ns: AtomicU64,
    latency: PublishedBands,
    latency_sum_ns: AtomicU64,
    lag: PublishedBands,
    lag_sum_ns: AtomicU64,
    /// In millionths.
    busy: AtomicU64,
}

impl Default for WorkerProgress {
    fn default() -> Self {
        Self {
            at: AtomicU64::default(),
            measuring: AtomicU64::default(),
            errors: AtomicU64::default(),
            outcomes: array::from_fn(|_| AtomicU64::default()),
            ok_flows: AtomicU64::default(),
            failed_flows: AtomicU64::default(),
            events: AtomicU64::default(),
            bytes_read: AtomicU64::default(),
            bytes_written: AtomicU64::default(),
            p50_ns: AtomicU64::default(),
            p99_ns: AtomicU64::default(),
            latency: PublishedBands::default(),
            latency_sum_ns: AtomicU64::default(),
            lag: PublishedBands::default(),
            lag_sum_ns: AtomicU64::default(),
            busy: AtomicU64::default(),
        }
    }
}

#[derive(Debug)]
struct PublishedBands([AtomicU64; LatencyBands::COUNT]);

impl Default for PublishedBands {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicU64::default()))
    }
}

impl PublishedBands {
    fn publish(&self, histogram: &LatencyHistogram) {
        let mut bands = LatencyBands::default();
        for (nanoseconds, count) in histogram.counted() {
            bands.add(nanoseconds, count);
        }
        for (published, count) in self.0.iter().zip(bands.counts()) {
            published.store(*count, Relaxed);
        }
    }

    fn read(&self) -> LatencyBands {
        LatencyBands::from_counts(array::from_fn(|band| self.0[band].load(Relaxed)))
    }
}

impl WorkerProgress {
    /// `at` is the time since the start of the load.
    pub(super) fn publish(&self, at: Nanoseconds, tally: &Tally, measuring: bool, busy: f64) {
        self.at.store(at, Relaxed);
        self.errors.store(tally.errors(), Relaxed);
        for (published, (_, count)) in self.outcomes.iter().zip(tally.outcomes.iter()) {
            published.store(count, Relaxed);
        }
        let flows = tally
            .counted_flows()
            .map_or((0, 0), |flows| (flows.ok, flows.failed));
        self.ok_flows.store(flows.0, Relaxed);
        self.failed_flows.store(flows.1, Relaxed);
        let events = tally.events.count + tally.streams.events.count;
        self.events.store(events, Relaxed);
        self.bytes_read.store(tally.bytes_read, Relaxed);
        self.bytes_written.store(tally.bytes_written, Relaxed);
        self.p50_ns.store(tally.latency.value_at(0.50), Relaxed);
        self.p99_ns.store(tally.latency.value_at(0.99), Relaxed);
        self.latency.publish(&tally.latency);
        self.latency_sum_ns.store(tally.latency_sum, Relaxed);
        self.lag.publish(&tally.schedule.lag);
        self.lag_sum_ns.store(tally.schedule.lag_sum(), Relaxed);
        self.busy.store((busy * 1e6) as u64, Relaxed);
        // Last, so that an observer who sees that the worker measures sees no figure of its warm-up.
        self.measuring.store(measuring.into(), Release);
    }

    fn read(&self) -> Progress {
        let measuring = self.measuring.load(Acquire) == 1;
        let mut outcomes = Outcomes::default();
        for (outcome, count) in Outcome::ALL.into_iter().zip(&self.outcomes) {
            outcomes[outcome] = count.load(Relaxed);
        }
        Progress {
            at_s: seconds(self.at.load(Relaxed)),
            measuring,
            ok: outcomes[Outcome::Ok],
            errors: self.errors.load(Relaxed),
            outcomes,
            ok_flows: self.ok_flows.load(Relaxed),
            failed_flows: self.failed_flows.load(Relaxed),
            events: self.events.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            p50_ns: self.p50_ns.load(Relaxed),
            p99_ns: self.p99_ns.load(Relaxed),
            latency: self.latency.read(),
            latency_sum_ns: self.latency_sum_ns.load(Relaxed),
            lag: self.lag.read(),
            lag_sum_ns: self.lag_sum_ns.load(Relaxed),
            busy: self.busy.load(Relaxed) as f64 / 1e6,
        }
    }
}

impl Progress {
    pub(super) fn of(workers: &[WorkerProgress]) -> Self {
        Self::sum(workers.iter().map(WorkerProgress::read))
    }

    /// The progress of several workers or agents as one: counts add up, a share or a percentile is the highest.
    pub fn sum(parts: impl ExactSizeIterator<Item = Self>) -> Self {
        let share = 1.0 / parts.len().max(1) as f64;
        let mut sum = Self {
            measuring: true,
            ..Self::default()
        };
        for part in parts {
            sum.at_s += share * part.at_s;
            sum.measuring &= part.measuring;
            for (mine, theirs) in [
                (&mut sum.ok, part.ok),
                (&mut sum.errors, part.errors),
                (&mut sum.ok_flows, part.ok_flows),
                (&mut sum.failed_flows, part.failed_flows),
                (&mut sum.events, part.events),
                (&mut sum.bytes_read, part.bytes_read),
                (&mut sum.bytes_written, part.bytes_written),
                (&mut sum.latency_sum_ns, part.latency_sum_ns),
                (&mut sum.lag_sum_ns, part.lag_sum_ns),
            ] {
                *mine = mine.saturating_add(theirs);
            }
            sum.outcomes.merge(&part.outcomes);
            sum.p50_ns = sum.p50_ns.max(part.p50_ns);
            sum.p99_ns = sum.p99_ns.max(part.p99_ns);
            sum.latency.merge(&part.latency);
            sum.lag.merge(&part.lag);
            sum.busy = sum.busy.max(part.busy);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_of_all_workers_are_published() {
        let workers = [(3, 1), (4, 0)].map(|(ok, failed)| {
            let mut tally = Tally::default();
            (tally.flows().ok, tally.flows().failed) = (ok, failed);
            let worker = WorkerProgress::default();
            worker.publish(1, &tally, true, 0.0);
            worker
        });
        let progress = Progress::of(&workers);
        assert_eq!((progress.ok_flows, progress.failed_flows), (7, 1));
    }
}
