//! Times beside the latency that have no histogram on record, so that nothing can be merged over the rounds: the
//! worst round is told, which is on the safe side.

use prony_model::{LatencySummary, LoadResult, Measurement};

/// Percentiles of a time, each of the round in which it was greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstRound {
    /// The median, in nanoseconds.
    pub p50_ns: f64,
    /// What 99 % did not exceed, in nanoseconds.
    pub p99_ns: f64,
}

impl WorstRound {
    /// `None` where no round has the time.
    pub(super) fn of(
        rounds: &[&Measurement],
        time: impl Fn(&LoadResult) -> Option<&LatencySummary>,
    ) -> Option<Self> {
        let times = rounds.iter().filter_map(|round| time(&round.load));
        let worst = |of: fn(&LatencySummary) -> u64| times.clone().map(of).max();
        Some(Self {
            p50_ns: worst(|time| time.p50)? as f64,
            p99_ns: worst(|time| time.p99)? as f64,
        })
    }
}
