//! Correction for many comparisons.

/// Each p-value as it stands among the others (Holm 1979), in the order given: where every one below 0.05 is called
/// a difference, the chance of one wrong call or more among them all is at most 5 %, however they depend on each other.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        highest = highest.max((p_values[index] * left).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_counts_for_all_and_the_greatest_for_itself() {
        let adjusted = holm(&[0.04, 0.01, 0.03]);
        let expected = [0.06, 0.03, 0.06];
        for (one, other) in adjusted.iter().zip(expected) {
            assert!((one - other).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[0.02]), [0.02]);
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn it_keeps_the_order_and_lies_between_none_and_bonferroni(
            p in prop::collection::vec(0.0f64..=1.0, 1..40),
        ) {
            let adjusted = holm(&p);
            for (i, &one) in p.iter().enumerate() {
                prop_assert!(adjusted[i] >= one && adjusted[i] <= (one * p.len() as f64).min(1.0));
                for (j, &other) in p.iter().enumerate() {
                    prop_assert!(one > other || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
