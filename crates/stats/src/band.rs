//! Ranks that claim no more than the data can tell apart.

use crate::Estimate;

/// The band (1 is best) of each estimate, in the order given; larger medians are better.
///
/// The rule, simple on purpose: go down the medians; the first leads band 1. Each next one shares
/// the band while its interval overlaps the leader's ([`Estimate::overlaps`]); the first that does
/// not leads the next band. So whoever has the larger median never has the worse band, everyone
/// in a band overlaps its leader, and two leaders in a row do not overlap. Two in one band need
/// not overlap each other. Single rounds have no interval: they all share one band.
pub fn rank_bands(estimates: &[Estimate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..estimates.len()).collect();
    order.sort_by(|&a, &b| estimates[b].median.total_cmp(&estimates[a].median));
    let mut bands = vec![0; estimates.len()];
    let mut band = 0;
    let mut leader: Option<&Estimate> = None;
    for index in order {
        let estimate = &estimates[index];
        if leader.is_none_or(|leader| !leader.overlaps(estimate)) {
            leader = Some(estimate);
            band += 1;
        }
        bands[index] = band;
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bands(rounds: &[&[f64]]) -> Vec<usize> {
        let estimates: Vec<_> = rounds.iter().map(|r| Estimate::of(r).unwrap()).collect();
        rank_bands(&estimates)
    }

    #[test]
    fn what_overlaps_the_leader_shares_its_band() {
        let (fast, close, slow) = ([100.0, 98.0, 102.0], [97.0, 99.0, 96.0], [50.0, 51.0, 52.0]);
        assert_eq!(bands(&[&slow, &close, &fast]), [2, 1, 1]);
    }

    #[test]
    fn overlap_is_with_the_leader_and_does_not_creep_down() {
        let rounds: [&[f64]; 3] = [&[10.0, 12.0, 14.0], &[8.0, 9.0, 11.0], &[6.0, 7.0, 8.5]];
        assert_eq!(bands(&rounds), [1, 1, 2]);
    }

    #[test]
    fn single_rounds_cannot_be_ranked_apart() {
        assert_eq!(bands(&[&[1.0], &[1000.0]]), [1, 1]);
        assert!(rank_bands(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn bands_follow_the_medians_and_leaders_are_apart(
            rounds in prop::collection::vec(prop::collection::vec(0f64..100.0, 2..7), 1..12),
        ) {
            let estimates: Vec<_> = rounds.iter().map(|r| Estimate::of(r).unwrap()).collect();
            let bands = rank_bands(&estimates);
            let mut rows: Vec<_> = estimates.iter().zip(&bands).collect();
            rows.sort_by(|a, b| b.0.median.total_cmp(&a.0.median));
            prop_assert_eq!(*rows[0].1, 1);
            let mut leader = rows[0];
            for row in rows {
                if row.1 == leader.1 {
                    prop_assert!(row.0.overlaps(leader.0));
                } else {
                    prop_assert_eq!(*row.1, leader.1 + 1);
                    prop_assert!(!row.0.overlaps(leader.0));
                    leader = row;
                }
            }
        }
    }
}
