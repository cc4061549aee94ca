//! The progress of a running load.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use prony_model::Outcome;
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, seconds};
use super::tally::Tally;

/// How far a load has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// When the workers published these figures, in seconds since the start of the load; the mean over workers.
    pub at_s: f64,
    /// Whether every worker is measuring.
    pub measuring: bool,
    /// Responses counted as ok in the current phase.
    pub ok: u64,
    /// Requests that ended in an error in that phase, and flows that failed without one.
    pub errors: u64,
    /// Bytes received in that phase.
    pub bytes_read: u64,
    /// The median latency so far, of the slowest worker, in nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile so far, of the slowest worker, in nanoseconds.
    pub p99_ns: u64,
}

/// One worker's figures, on a cache line of their own: the worker writes, the observer reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct WorkerProgress {
    at: AtomicU64,
    measuring: AtomicU64,
    ok: AtomicU64,
    errors: AtomicU64,
    bytes_read: AtomicU64,
    p50_ns: AtomicU64,
    p99_ns: AtomicU64,
}

impl WorkerProgress {
    /// `at` is the time since the start of the load.
    pub(super) fn publish(&self, at: Nanoseconds, tally: &Tally, measuring: bool) {
        self.at.store(at, Relaxed);
        self.measuring.store(measuring.into(), Relaxed);
        self.ok.store(tally.outcomes[Outcome::Ok], Relaxed);
        self.errors.store(tally.errors(), Relaxed);
        self.bytes_read.store(tally.bytes_read, Relaxed);
        self.p50_ns.store(tally.latency.value_at(0.50), Relaxed);
        self.p99_ns.store(tally.latency.value_at(0.99), Relaxed);
    }
}

impl Progress {
    pub(super) fn of(workers: &[WorkerProgress]) -> Self {
        let start = Self {
            measuring: true,
            ..Self::default()
        };
        let share = 1.0 / workers.len().max(1) as f64;
        workers.iter().fold(start, |sum, worker| Self {
            at_s: sum.at_s + share * seconds(worker.at.load(Relaxed)),
            measuring: sum.measuring && worker.measuring.load(Relaxed) == 1,
            ok: sum.ok + worker.ok.load(Relaxed),
            errors: sum.errors + worker.errors.load(Relaxed),
            bytes_read: sum.bytes_read + worker.bytes_read.load(Relaxed),
            p50_ns: sum.p50_ns.max(worker.p50_ns.load(Relaxed)),
            p99_ns: sum.p99_ns.max(worker.p99_ns.load(Relaxed)),
        })
    }
}
