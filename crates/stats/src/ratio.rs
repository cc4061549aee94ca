//! How one compares with another.

use crate::Estimate;

/// The ratio of an estimate's median to a baseline's; `None` where the baseline's is 0.
pub fn ratio_of_medians(estimate: &Estimate, baseline: &Estimate) -> Option<f64> {
    let ratio = estimate.median / baseline.median;
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_of_nothing_has_no_ratio() {
        let (some, none) = (Estimate::of(&[5.0]).unwrap(), Estimate::of(&[0.0]).unwrap());
        assert_eq!(ratio_of_medians(&some, &none), None);
        assert_eq!(ratio_of_medians(&none, &some), Some(0.0));
    }
}
