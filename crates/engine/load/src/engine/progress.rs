//! The progress of a running load.

use std::sync::{Mutex, PoisonError};

use prony_model::{Outcome, Outcomes};
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

/// One worker's figures, on cache lines of their own: the worker writes, and never waits for the observer, who reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct WorkerProgress(Mutex<Progress>);

impl WorkerProgress {
    /// Publishes figures, unless the observer reads those before them just now.
    pub(super) fn publish(&self, progress: Progress) {
        if let Ok(mut published) = self.0.try_lock() {
            *published = progress;
        }
    }

    /// Publishes the last figures.
    pub(super) fn publish_last(&self, progress: Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    fn read(&self) -> Progress {
        let published = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        published.clone()
    }
}

impl Progress {
    pub(super) fn of(workers: &[WorkerProgress]) -> Self {
        Self::sum(workers.iter().map(WorkerProgress::read))
    }

    /// What a worker has counted in a phase. `at` is the time since the start of the load.
    pub(super) fn of_worker(at: Nanoseconds, tally: &Tally, measuring: bool, busy: f64) -> Self {
        let flows = tally.counted_flows();
        let lag = &tally.schedule.lag;
        Self {
            at_s: seconds(at),
            measuring,
            ok: tally.outcomes[Outcome::Ok],
            errors: tally.errors(),
            outcomes: tally.outcomes,
            ok_flows: flows.map_or(0, |flows| flows.ok),
            failed_flows: flows.map_or(0, |flows| flows.failed),
            events: tally.events.count + tally.streams.events.count,
            bytes_read: tally.bytes_read,
            bytes_written: tally.bytes_written,
            p50_ns: tally.latency.value_at(0.50),
            p99_ns: tally.latency.value_at(0.99),
            latency: LatencyBands::of(&tally.latency),
            latency_sum_ns: tally.latency_sum,
            lag: LatencyBands::of(lag),
            lag_sum_ns: tally.schedule.lag_sum(),
            busy,
        }
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
            worker.publish(Progress::of_worker(1, &tally, true, 0.0));
            worker
        });
        let progress = Progress::of(&workers);
        assert_eq!((progress.ok_flows, progress.failed_flows), (7, 1));
    }
}
