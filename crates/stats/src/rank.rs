//! Ranks that claim no more than the data can tell apart.

use crate::Estimate;

/// The rank (1 is best) of each estimate, in the order given; larger is better.
///
/// A rank is 1 and the number of those whose whole interval lies above: rank 3 says that two are
/// faster, as far as the intervals go, and nothing more. So two that overlap each other may have
/// different ranks only where a third is above one of them and not above the other. Single rounds
/// have no interval: they all have rank 1.
pub fn ranks(estimates: &[Estimate]) -> Vec<usize> {
    let above = |one: &Estimate, other: &Estimate| one.low > other.high && !one.overlaps(other);
    estimates
        .iter()
        .map(|estimate| {
            1 + estimates
                .iter()
                .filter(|other| above(other, estimate))
                .count()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranks_of(rounds: &[&[f64]]) -> Vec<usize> {
        let estimates: Vec<_> = rounds.iter().map(|r| Estimate::of(r).unwrap()).collect();
        ranks(&estimates)
    }

    #[test]
    fn what_overlaps_shares_a_rank_and_what_lies_below_counts_all_above() {
        let (fast, close, slow) = ([100.0, 98.0, 102.0], [97.0, 99.0, 96.0], [50.0, 51.0, 52.0]);
        assert_eq!(ranks_of(&[&slow, &close, &fast]), [3, 1, 1]);
    }

    #[test]
    fn nobody_is_ranked_behind_one_that_it_overlaps_for_that_alone() {
        // The middle one overlaps both others, which are apart.
        let rounds: [&[f64]; 3] = [&[10.0, 12.0, 14.0], &[8.0, 9.0, 11.0], &[6.0, 7.0, 8.5]];
        assert_eq!(ranks_of(&rounds), [1, 1, 2]);
    }

    #[test]
    fn single_rounds_cannot_be_ranked_apart() {
        assert_eq!(ranks_of(&[&[1.0], &[1000.0]]), [1, 1]);
        assert!(ranks(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn whoever_lies_wholly_above_has_the_better_rank(
            rounds in prop::collection::vec(prop::collection::vec(0f64..100.0, 2..7), 1..12),
        ) {
            let estimates: Vec<_> = rounds.iter().map(|r| Estimate::of(r).unwrap()).collect();
            let ranks = ranks(&estimates);
            prop_assert!(ranks.contains(&1));
            for (one, &rank) in estimates.iter().zip(&ranks) {
                for (other, &other_rank) in estimates.iter().zip(&ranks) {
                    if one.low > other.high {
                        prop_assert!(rank < other_rank);
                    }
                }
            }
        }
    }
}
