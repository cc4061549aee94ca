//! Latency histograms of fixed bounds, so that any two can be merged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// A count of durations in nanoseconds, from 1 ns to one hour, to 3 significant digits.
///
/// Its memory is fixed (about 270 KiB) however many durations it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram(Histogram<u64>);

/// Why bytes could not be read as a histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    #[error("the histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("the histogram is not in HdrHistogram's V2 encoding: {0:?}")]
    Encoding(hdrhistogram::serialization::DeserializeError),
    #[error("the histogram's values do not fit Prony's bounds")]
    Bounds,
}

impl LatencyHistogram {
    const LOWEST_NS: u64 = 1;
    const HIGHEST_NS: u64 = 3_600_000_000_000;
    const DIGITS: u8 = 3;

    /// The buckets of these bounds, each twice as wide as the one before.
    pub const BUCKETS: u32 = 32;
    /// The steps within a bucket.
    pub const SUB_BUCKETS: u32 = 2048;

    /// An empty histogram.
    pub fn new() -> Self {
        Self(
            Histogram::new_with_bounds(Self::LOWEST_NS, Self::HIGHEST_NS, Self::DIGITS)
                .expect("the fixed bounds are valid"),
        )
    }

    /// Counts one duration; longer than an hour counts as an hour, 0 as 1 ns.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds.max(Self::LOWEST_NS));
    }

    /// Counts the shortest duration that many times.
    pub(crate) fn record_nothing(&mut self, times: u64) {
        self.0.saturating_record_n(Self::LOWEST_NS, times);
    }

    /// Adds every duration of `other`.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.0
            .add(&other.0)
            .expect("histograms of the same bounds can always be added");
    }

    /// The durations that were recorded after `earlier`, an earlier state of this histogram; `None` if it is not one.
    pub fn since(&self, earlier: &LatencyHistogram) -> Option<Self> {
        let mut later = self.0.clone();
        later.subtract(&earlier.0).ok().map(|()| Self(later))
    }

    /// The histogram behind it, for the tools of HdrHistogram; it counts nanoseconds.
    pub fn as_hdr(&self) -> &Histogram<u64> {
        &self.0
    }

    /// How many durations it holds.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The shortest duration, in nanoseconds, that at least this share (0 to 1) of all do not exceed.
    pub fn value_at(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// Every counted duration with its count, ascending. Each represents its bucket: the longest duration, in
    /// nanoseconds, with the same 3 digits.
    pub fn counted(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0
            .iter_recorded()
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()))
    }

    /// The usual figures; `None` if nothing was counted.
    pub fn summary(&self) -> Option<LatencySummary> {
        let histogram = &self.0;
        (!histogram.is_empty()).then(|| LatencySummary {
            min: histogram.min(),
            mean: histogram.mean(),
            stdev: histogram.stdev(),
            p50: histogram.value_at_quantile(0.50),
            p75: histogram.value_at_quantile(0.75),
            p90: histogram.value_at_quantile(0.90),
            p95: histogram.value_at_quantile(0.95),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            p9999: histogram.value_at_quantile(0.9999),
            max: histogram.max(),
        })
    }

    /// The share (0 to 1) of durations within one standard deviation of the mean: wrk's
    /// `+/- Stdev` column. 0 if nothing was counted.
    pub fn share_within_one_stdev(&self) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        let (mean, stdev) = (self.0.mean(), self.0.stdev());
        let inside: u64 = self
            .0
            .iter_recorded()
            .filter(|bucket| (bucket.value_iterated_to() as f64 - mean).abs() <= stdev)
            .map(|bucket| bucket.count_at_value())
            .sum();
        inside as f64 / self.0.len() as f64
    }

    /// HdrHistogram's V2 encoding in base64, as other HdrHistogram tools read it.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Reads what [`LatencyHistogram::to_base64`] wrote.
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        check_encoding(&bytes)?;
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(HistogramError::Encoding)?;
        let mut histogram = Self::new();
        histogram.0.add(&read).map_err(|_| HistogramError::Bounds)?;
        Ok(histogram)
    }
}

/// The bytes before the counts: cookie, length of the counts, offset, digits, lowest and highest value, ratio.
const HEADER: usize = 40;
/// The cookie of V2 without compression.
const V2: u64 = 0x1c84_9313;

/// Refuses what would take any amount of memory, or overflow, while it is read: the text may come from another host.
fn check_encoding(bytes: &[u8]) -> Result<(), HistogramError> {
    let number = |range: std::ops::Range<usize>| {
        let bytes = bytes.get(range)?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, &byte| (sum << 8) | u64::from(byte)),
        )
    };
    let Some(counts) = bytes.get(HEADER..) else {
        // Too short for any histogram, which the reader explains.
        return Ok(());
    };
    let is_plain = number(0..4) == Some(V2) && number(4..8) == Some(counts.len() as u64);
    let has_bounds = number(12..16) == Some(LatencyHistogram::DIGITS.into())
        && number(16..24) == Some(LatencyHistogram::LOWEST_NS)
        && number(24..32) == Some(LatencyHistogram::HIGHEST_NS);
    // Negative numbers count empty buckets; the lowest 64-bit number has no positive counterpart.
    let overflows = counts.windows(9).any(|bytes| bytes == [0xff; 9]);
    if is_plain && has_bounds && !overflows {
        Ok(())
    } else {
        Err(HistogramError::Bounds)
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Latency in nanoseconds: of every response counted as ok, to 3 significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// The shortest.
    pub min: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation.
    pub stdev: f64,
    /// The median.
    pub p50: u64,
    /// 75 % took no longer.
    pub p75: u64,
    /// 90 % took no longer.
    pub p90: u64,
    /// 95 % took no longer.
    pub p95: u64,
    /// 99 % took no longer.
    pub p99: u64,
    /// 99.9 % took no longer.
    pub p999: u64,
    /// 99.99 % took no longer.
    pub p9999: u64,
    /// The longest.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_summary() {
        assert_eq!(LatencyHistogram::new().summary(), None);
    }

    #[test]
    fn durations_beyond_the_bounds_are_counted_at_the_bounds() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 2);
        assert_eq!(histogram.summary().unwrap().min, 1);
    }

    #[test]
    fn what_was_recorded_since_an_earlier_state_is_the_difference() {
        let mut histogram = LatencyHistogram::new();
        [5_000_000, 90, 90]
            .into_iter()
            .for_each(|ns| histogram.record(ns));
        let earlier = histogram.clone();
        [90, 7000].into_iter().for_each(|ns| histogram.record(ns));
        let mut expected = LatencyHistogram::new();
        [90, 7000].into_iter().for_each(|ns| expected.record(ns));
        let since = histogram.since(&earlier).unwrap();
        assert_eq!(since, expected);
        assert_eq!(since.summary(), expected.summary());
        assert_eq!(earlier.since(&earlier).unwrap().summary(), None);
        assert_eq!(earlier.since(&histogram), None);
    }

    #[test]
    fn invalid_text_is_rejected() {
        assert!(matches!(
            LatencyHistogram::from_base64("§"),
            Err(HistogramError::Base64(_))
        ));
        assert!(matches!(
            LatencyHistogram::from_base64("AAAA"),
            Err(HistogramError::Encoding(_))
        ));
    }

    #[test]
    fn foreign_and_lying_encodings_are_rejected() {
        let mut histogram = LatencyHistogram::new();
        (1..100).for_each(|ns| histogram.record(ns * 1000));
        let bytes = STANDARD.decode(histogram.to_base64()).unwrap();
        let changed = |at: usize, to: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[at..at + to.len()].copy_from_slice(to);
            LatencyHistogram::from_base64(&STANDARD.encode(bytes))
        };
        assert!(changed(0, &[]).is_ok());
        for (what, at, to) in [
            ("a compressed one", 3, [0x14].as_slice()),
            ("a length of 4 GiB", 4, &[0xff; 4]),
            ("another number of digits", 15, &[5]),
            ("another lowest value", 23, &[2]),
            ("another highest value", 24, &[0x7f; 8]),
            ("a skip of 2^63 buckets", HEADER, &[0xff; 9]),
        ] {
            assert!(
                matches!(changed(at, to), Err(HistogramError::Bounds)),
                "{what}"
            );
        }
        for length in 0..bytes.len() {
            let cut = STANDARD.encode(&bytes[..length]);
            assert!(LatencyHistogram::from_base64(&cut).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(at in 0usize..60, byte: u8, rest: [u8; 24]) {
            let mut bytes = STANDARD.decode(LatencyHistogram::new().to_base64()).unwrap();
            bytes.extend(rest);
            let counts = (bytes.len() - HEADER) as u32;
            bytes[4..8].copy_from_slice(&counts.to_be_bytes());
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = LatencyHistogram::from_base64(&STANDARD.encode(bytes));
        }

        #[test]
        fn base64_round_trips(values in prop::collection::vec(1u64..10_000_000_000, 0..200)) {
            let mut histogram = LatencyHistogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            let back = LatencyHistogram::from_base64(&histogram.to_base64()).unwrap();
            prop_assert_eq!(back.count(), values.len() as u64);
            prop_assert_eq!(back.summary(), histogram.summary());
        }

        #[test]
        fn merging_equals_counting_everything_in_one_histogram(
            a in prop::collection::vec(1u64..10_000_000_000, 0..100),
            b in prop::collection::vec(1u64..10_000_000_000, 0..100),
        ) {
            let (mut left, mut right, mut whole) =
                (LatencyHistogram::new(), LatencyHistogram::new(), LatencyHistogram::new());
            for &value in &a { left.record(value); whole.record(value); }
            for &value in &b { right.record(value); whole.record(value); }
            left.merge(&right);
            prop_assert_eq!(left, whole);
        }
    }
}
