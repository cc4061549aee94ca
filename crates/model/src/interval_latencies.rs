//! The latencies of a load, interval by interval.

use std::time::{Duration, SystemTime};

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
