//! What a load records beside its result, if that is wanted.

use std::time::SystemTime;

use prony_model::{IntervalLatencies, LatencyHistogram, LoadTrace, ThreadTrace, TracedPhase};

use super::clock::Nanoseconds;
use super::intervals::{self, IntervalRecorder, WorkerIntervals};
use super::phase::Phase;
use super::request_trace::{RequestTrace, from_start};
use crate::plan::LoadPlan;

/// What to record of a load beside its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Whether to keep the latencies of each second.
    pub intervals: bool,
    /// How many requests to trace at most over all threads, and at least one of each; `None` for none.
    pub traced: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The latencies of each second, if they were wanted.
    pub intervals: Option<IntervalLatencies>,
    /// The trace, if it was wanted.
    pub trace: Option<LoadTrace>,
}

/// What a worker records, if that is wanted.
#[derive(Debug)]
pub(super) struct WorkerRecorder {
    wants_intervals: bool,
    /// From the start of the measured part.
    pub(super) intervals: Option<Box<IntervalRecorder>>,
    pub(super) trace: Option<Box<RequestTrace>>,
}

#[derive(Debug)]
pub(super) struct WorkerRecords {
    start: Nanoseconds,
    intervals: Option<WorkerIntervals>,
    trace: Option<ThreadTrace>,
}

impl WorkerRecorder {
    /// That of one of `threads` threads.
    pub(super) fn new(recording: Recording, threads: usize) -> Self {
        let traced = recording.traced.map(|most| most / threads.max(1));
        Self {
            wants_intervals: recording.intervals,
            intervals: None,
            trace: traced.map(|most| Box::new(RequestTrace::new(most))),
        }
    }

    /// Starts with a phase, from whose start the tally counts.
    pub(super) fn begin(&mut self, phase: &Phase) {
        if self.wants_intervals && phase.measuring {
            self.intervals = Some(Box::new(IntervalRecorder::begin(phase.began)));
        }
    }

    /// Ends with the last phase of a load that began at `start`.
    pub(super) fn end(
        self,
        start: Nanoseconds,
        now: Nanoseconds,
        last: &Phase,
        counted: &LatencyHistogram,
    ) -> WorkerRecords {
        WorkerRecords {
            start,
            intervals: self.intervals.map(|it| it.end(now, counted)),
            trace: self.trace.map(|it| it.finish(phases(start, last, now))),
        }
    }
}

fn phases(start: Nanoseconds, last: &Phase, now: Nanoseconds) -> Vec<TracedPhase> {
    let warmup = TracedPhase {
        is_measured: false,
        from_ns: start,
        to_ns: last.began,
    };
    let last = TracedPhase {
        is_measured: last.measuring,
        from_ns: last.began,
        to_ns: now.max(last.began),
    };
    let both = [warmup, last].into_iter();
    both.filter(|phase| phase.to_ns > phase.from_ns).collect()
}

impl Records {
    /// Merges what the workers recorded, whose clock began at `origin`.
    pub(super) fn merged(
        plan: &LoadPlan,
        recording: Recording,
        workers: Vec<WorkerRecords>,
        origin: SystemTime,
    ) -> Self {
        let start = workers.iter().map(|it| it.start).min().unwrap_or(0);
        let (mut intervals, mut threads) = (Vec::new(), Vec::new());
        for worker in workers {
            intervals.extend(worker.intervals);
            threads.extend(worker.trace.map(|mut trace| {
                from_start(&mut trace, start);
                trace
            }));
        }
        Self {
            intervals: recording
                .intervals
                .then(|| intervals::merged(&intervals, origin)),
            trace: recording.traced.map(|_| LoadTrace {
                names: plan.request.names(),
                threads,
            }),
        }
    }
}
