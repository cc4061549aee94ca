//! How one compares with another.

use crate::Estimate;

/// The ratio of an estimate's median to a baseline's; `None` where the baseline's is 0.
pub fn ratio_of_medians(estimate: &Estimate, baseline: &Estimate) -> Option<f64> {
    let ratio = estimate.median / baseline.median;
    ratio.is_finite().then_some(ratio)
}

/// The ratio to a baseline over rounds, from pairs `(value, baseline)` of the same round: what
/// drifts from round to round hits both of a pair and falls out. `None` where there is no pair,
/// or where a ratio is not a finite number.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios: Vec<f64> = pairs
        .iter()
        .map(|(value, baseline)| value / baseline)
        .collect();
    Estimate::of(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_baseline_of_nothing_has_no_ratio() {
        let (some, none) = (Estimate::of(&[5.0]).unwrap(), Estimate::of(&[0.0]).unwrap());
        assert_eq!(ratio_of_medians(&some, &none), None);
        assert_eq!(ratio_of_medians(&none, &some), Some(0.0));
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
        assert_eq!(paired_ratio(&[]), None);
    }

    proptest! {
        #[test]
        fn drift_that_hits_both_of_a_pair_falls_out(
            drift in prop::collection::vec(0.5f64..2.0, 1..10),
        ) {
            let pairs: Vec<_> = drift.iter().map(|d| (30.0 * d, 40.0 * d)).collect();
            let ratio = paired_ratio(&pairs).unwrap();
            prop_assert!((ratio.low - 0.75).abs() < 1e-9 && (ratio.high - 0.75).abs() < 1e-9);
        }
    }
}
