//! The latency of a row at every percentile that its responses support.

use prony_model::LatencyHistogram;
use prony_stats::supports_percentile;

/// How many points a tenfold smaller share beyond has.
const STEPS: i32 = 5;

/// A percentile of the latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectrumPoint {
    /// The share (0 to 1) of the responses beyond it: 0.01 for p99.
    pub beyond: f64,
    /// The latency that the others did not exceed, in nanoseconds.
    pub latency_ns: u64,
}

/// The percentiles from p37 up, equally far apart by their nines, as far as ten responses lie beyond. The least latency of all
/// may be that of a response that was already there, and would stretch the axis to a nanosecond.
pub(super) fn spectrum(histogram: &LatencyHistogram) -> Vec<SpectrumPoint> {
    let total = histogram.count();
    let shares = (1..).map(|step| 10f64.powf(-f64::from(step) / f64::from(STEPS)));
    let mut counted = histogram.counted().peekable();
    let mut up_to = 0;
    shares
        .take_while(|beyond| supports_percentile(total, *beyond))
        .map_while(|beyond| {
            let wanted = (((1.0 - beyond) * total as f64).ceil() as u64).max(1);
            while let Some((latency_ns, count)) = counted.peek().copied() {
                if up_to + count >= wanted {
                    return Some(SpectrumPoint { beyond, latency_ns });
                }
                up_to += count;
                counted.next();
            }
            None
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn it_ends_where_fewer_than_ten_responses_lie_beyond() {
        let last = |count: u64| Some(spectrum(&histogram(1..=count)).last()?.beyond);
        assert_eq!(last(15), None);
        assert!((last(16).unwrap() - 0.631).abs() < 1e-3);
        assert!((last(1_000).unwrap() - 0.01).abs() < 1e-9);
        assert!((last(9_999).unwrap() - 0.001_584_9).abs() < 1e-6);
        assert!((last(10_000).unwrap() - 0.001).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn it_rises_and_is_made_of_percentiles(values in prop::collection::vec(1u64..1_000_000_000, 16..400)) {
            let histogram = histogram(values);
            let points = spectrum(&histogram);
            prop_assert!(!points.is_empty());
            prop_assert!(points.windows(2).all(|pair| pair[0].latency_ns <= pair[1].latency_ns));
            for point in points {
                // Not exactly on a response, where a rounding error moves the percentile to the next.
                let wanted = (1.0 - point.beyond) * histogram.count() as f64;
                if (wanted - wanted.round()).abs() > 1e-6 {
                    prop_assert_eq!(point.latency_ns, histogram.value_at(1.0 - point.beyond));
                }
            }
        }
    }
}
