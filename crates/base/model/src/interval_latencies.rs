//! The latencies of a load, interval by interval.

use std::time::{Duration, SystemTime};

use crate::{HistogramError, LatencyHistogram, TimelineSecond};

/// The latencies of the measured part of a load, in intervals that follow one another without a gap. An interval without
/// a response is one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalLatencies {
    /// When the measured part began.
    pub began: SystemTime,
    /// The intervals, in order.
    pub intervals: Vec<IntervalLatency>,
}

/// The latencies of the ok responses that arrived in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalLatency {
    /// When it began, from the start of the measured part.
    pub from: Duration,
    /// How long it lasted.
    pub length: Duration,
    /// The histogram in base64, which takes some kilobytes; empty if there was no response.
    pub histogram: String,
}

impl IntervalLatencies {
    /// The figures of each interval.
    ///
    /// # Errors
    /// If the histogram of one cannot be read.
    pub fn seconds(&self) -> Result<Vec<TimelineSecond>, HistogramError> {
        let of = |interval: &IntervalLatency| {
            let latencies = match interval.histogram.as_str() {
                "" => LatencyHistogram::new(),
                text => LatencyHistogram::from_base64(text)?,
            };
            Ok(TimelineSecond {
                from_s: interval.from.as_secs_f64(),
                length_s: interval.length.as_secs_f64(),
                ok: latencies.count(),
                latency_ns: latencies.summary(),
            })
        };
        self.intervals.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_own_percentiles() {
        let mut latencies = LatencyHistogram::new();
        (1..=100).for_each(|ns| latencies.record(ns));
        let interval = |from, histogram: String| IntervalLatency {
            from: Duration::from_secs(from),
            length: Duration::from_millis(500),
            histogram,
        };
        let recorded = IntervalLatencies {
            began: SystemTime::UNIX_EPOCH,
            intervals: vec![
                interval(0, latencies.to_base64()),
                interval(1, String::new()),
            ],
        };
        let seconds = recorded.seconds().unwrap();
        let of = |it: &TimelineSecond| (it.from_s, it.ok, it.latency_ns.as_ref().map(|it| it.p99));
        assert_eq!(
            seconds.iter().map(of).collect::<Vec<_>>(),
            [(0.0, 100, Some(99)), (1.0, 0, None)]
        );
        let wrong = IntervalLatencies {
            intervals: vec![interval(0, "?".into())],
            ..recorded
        };
        assert!(wrong.seconds().is_err());
    }
}
