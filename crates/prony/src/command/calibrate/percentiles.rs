//! Percentiles of durations, only as far as there are enough of them.

use prony_model::{LatencyHistogram, LatencySummary};
use prony_stats::supports_percentile;
use serde::Serialize;

/// Percentiles of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many durations there were.
    pub count: u64,
    pub p50: u64,
    /// `None` where there were too few durations for it.
    pub p99: Option<u64>,
    pub max: u64,
}

impl Percentiles {
    /// `None` where there was no duration.
    pub fn of(durations: &LatencyHistogram) -> Option<Self> {
        Self::from_summary(durations.count(), &durations.summary()?)
    }

    /// Of a summary of `count` durations.
    pub fn from_summary(count: u64, summary: &LatencySummary) -> Option<Self> {
        (count > 0).then(|| Self {
            count,
            p50: summary.p50,
            p99: supports_percentile(count, 0.01).then_some(summary.p99),
            max: summary.max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_durations_beyond_it() {
        let mut durations = LatencyHistogram::new();
        assert_eq!(Percentiles::of(&durations), None);
        (1..=999).for_each(|ns| durations.record(ns));
        let few = Percentiles::of(&durations).unwrap();
        assert_eq!(
            (few.count, few.p50, few.p99, few.max),
            (999, 500, None, 999)
        );
        durations.record(1000);
        assert_eq!(Percentiles::of(&durations).unwrap().p99, Some(990));
    }
}
