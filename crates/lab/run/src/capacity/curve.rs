//! The curve of latency against rate, and its knee.

use prony_model::LatencySummary;
use prony_stats::{knee, supports_percentile};

use crate::capacity::attempt::RateAttempt;
use crate::capacity::search::{Found, LEAST_RATE};

/// The first rate of the curve, as a share of the capacity.
const FIRST: f64 = 0.1;
/// The last rate; it shows what happens beyond the capacity.
const LAST: f64 = 1.1;

/// Whether this many responses are enough for a percentile (a share, 0 to 1): at least 10 lie beyond it.
pub fn supports(responses: u64, quantile: f64) -> bool {
    supports_percentile(responses, 1.0 - quantile)
}

/// The rates of the curve: from a tenth of the capacity to a tenth above it, or to the highest rate that the generator reached.
pub(super) fn rates(found: &Found, steps: u32) -> Vec<f64> {
    let (whole, last) = match found {
        Found::Capacity { per_s, .. } => (*per_s, LAST),
        Found::AtLeast {
            per_s: Some(per_s), ..
        } => (*per_s, 1.0),
        _ => return Vec::new(),
    };
    let gap = (last - FIRST) / f64::from(steps.max(2) - 1);
    (0..steps)
        .map(|step| (whole * (FIRST + gap * f64::from(step))).max(LEAST_RATE))
        .collect()
}

/// The rate above which the 99th percentile (or the median, if there are too few responses for it) rises steeply; `None` if there is
/// no such rate. Noisy rates do not count, and a rate that is slower than a higher one counts as fast as that.
pub(super) fn knee_of(curve: &[RateAttempt]) -> Option<f64> {
    let points = |quantile: f64, value: fn(&LatencySummary) -> u64| -> Option<Vec<(f64, f64)>> {
        curve
            .iter()
            .filter(|attempt| !attempt.is_noisy())
            .map(|attempt| {
                let latency = attempt.latency_ns.as_ref()?;
                supports(attempt.ok, quantile).then(|| (attempt.rate_per_s, value(latency) as f64))
            })
            .collect()
    };
    let mut points = points(0.99, |latency| latency.p99)
        .or_else(|| points(0.5, |latency| latency.p50))
        .filter(|points| points.len() >= 4)?;
    let mut fastest = f64::INFINITY;
    for (_, latency) in points.iter_mut().rev() {
        fastest = fastest.min(*latency);
        *latency = fastest;
    }
    Some(points[knee(&points)?].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(per_s: f64) -> Found {
        Found::Capacity {
            per_s,
            low_per_s: per_s,
            high_per_s: per_s,
            coverage: 0.0,
            findings_per_s: vec![per_s],
            confirmed: true,
        }
    }

    #[test]
    fn rates_go_from_a_tenth_to_a_tenth_more() {
        let rates = rates(&capacity(1000.0), 11);
        assert_eq!(rates.len(), 11);
        assert!((rates[0] - 100.0).abs() < 1e-9 && (rates[1] - 200.0).abs() < 1e-9);
        assert!((rates[10] - 1100.0).abs() < 1e-9);
        assert!(super::rates(&capacity(1000.0), 0).is_empty());
        assert_eq!(super::rates(&capacity(5.0), 1), [1.0]);
    }

    #[test]
    fn the_curve_ends_at_the_rate_that_the_generator_reached() {
        let limited = Found::AtLeast {
            per_s: Some(100.0),
            limited_at_per_s: 120.0,
        };
        assert_eq!(rates(&limited, 2), [10.0, 100.0]);
        assert!(rates(&Found::Nothing { tried_per_s: 1.0 }, 10).is_empty());
    }

    #[test]
    fn a_percentile_needs_ten_responses_beyond_it() {
        assert!(supports(1000, 0.99) && !supports(999, 0.99));
        assert!(supports(10_000, 0.999) && supports(20, 0.5) && !supports(19, 0.5));
    }
}
