//! The median of a few rounds, with the interval that the rounds themselves support.

/// The coverage that an interval has wherever the number of rounds allows it.
pub const TARGET_COVERAGE: f64 = 0.95;

/// A median and its interval.
///
/// The interval runs between two of the values themselves (order statistics), as far from the
/// lowest as from the highest: it needs no assumption about how the values are distributed. The
/// chance that the true median lies inside depends on the number of values `n` alone, and is
/// told as `coverage`:
///
/// | n | interval | coverage |
/// |---|---|---|
/// | 1 | the value itself | 0 |
/// | 2 | lowest to highest | 50 % |
/// | 3 | lowest to highest | 75 % |
/// | 5 | lowest to highest | 93.75 % |
/// | 6 | lowest to highest | 96.9 % |
/// | 9 | 2nd lowest to 2nd highest | 96.1 % |
/// | 12 | 3rd lowest to 3rd highest | 96.1 % |
///
/// From six values on the coverage is at least [`TARGET_COVERAGE`]. Among the intervals that
/// reach it the narrowest *by rank* is taken. The narrowest by value is not: an interval picked
/// because it happens to look short covers less often than it claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the values.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The chance (0 to 1) that the interval holds the true median, at the least.
    pub coverage: f64,
    /// How many values there were.
    pub n: usize,
}

impl Estimate {
    /// The estimate from one value a round; `None` where there is none, or where one is not a
    /// finite number.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let sorted = sorted(values)?;
        let n = sorted.len();
        let (cut, coverage) = widest_cut(n);
        Some(Estimate {
            median: median_of_sorted(&sorted),
            low: sorted[cut],
            high: sorted[n - 1 - cut],
            coverage,
            n,
        })
    }

    /// Whether the data leave open which of two is the larger: their intervals touch, or one of
    /// them is a single value, of whose spread nothing is known.
    pub fn overlaps(&self, other: &Estimate) -> bool {
        let unknown_spread = self.n < 2 || other.n < 2;
        unknown_spread || (self.low <= other.high && other.low <= self.high)
    }

    /// Half the interval's width as a share of the median: the `±` of a table. `None` for a
    /// single value or a median of 0.
    pub fn half_width_share(&self) -> Option<f64> {
        (self.n > 1 && self.median != 0.0).then(|| (self.high - self.low) / 2.0 / self.median.abs())
    }
}

/// The median; `None` where there is no value, or where one is not a finite number.
pub fn median(values: &[f64]) -> Option<f64> {
    sorted(values).map(|sorted| median_of_sorted(&sorted))
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    // Half of each, so that the sum of two huge values cannot overflow.
    sorted[(n - 1) / 2] / 2.0 + sorted[n / 2] / 2.0
}

/// How many values may be left out at each end for a coverage of at least [`TARGET_COVERAGE`],
/// and the coverage that leaves; none where not even the whole range has it.
///
/// The number of `n` values below the true median is binomial with chance one half, so cutting
/// `c` values at each end misses it with the chance of at most `c` successes, twice.
fn widest_cut(n: usize) -> (usize, f64) {
    // The chance of exactly k successes, kept as a logarithm: 0.5^n itself may underflow.
    let mut ln_exactly = -(n as f64) * std::f64::consts::LN_2;
    let mut at_most = ln_exactly.exp();
    let mut best = (0, (1.0 - 2.0 * at_most).max(0.0));
    for cut in 1..n.div_ceil(2) {
        ln_exactly += ((n - cut + 1) as f64 / cut as f64).ln();
        at_most += ln_exactly.exp();
        let coverage = 1.0 - 2.0 * at_most;
        if coverage < TARGET_COVERAGE {
            break;
        }
        best = (cut, coverage);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_to(n: u32) -> Estimate {
        let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
        Estimate::of(&values).unwrap()
    }

    #[test]
    fn few_rounds_give_their_whole_range_and_its_true_coverage() {
        for (n, coverage) in [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375), (6, 0.96875)] {
            let estimate = one_to(n);
            assert_eq!((estimate.low, estimate.high), (1.0, f64::from(n)));
            assert!((estimate.coverage - coverage).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn more_rounds_give_inner_values() {
        // From tables of the binomial distribution with chance one half.
        for (n, low, coverage) in [
            (8, 1.0, 0.992_2),
            (9, 2.0, 0.960_9),
            (12, 3.0, 0.961_4),
            (20, 6.0, 0.958_6),
        ] {
            let estimate = one_to(n);
            assert_eq!(
                (estimate.low, estimate.high),
                (low, f64::from(n) + 1.0 - low)
            );
            assert!(
                (estimate.coverage - coverage).abs() < 1e-4,
                "{n}: {estimate:?}"
            );
        }
    }

    #[test]
    fn one_round_claims_nothing() {
        let estimate = Estimate::of(&[7.0]).unwrap();
        assert_eq!(
            (estimate.low, estimate.median, estimate.high),
            (7.0, 7.0, 7.0)
        );
        assert_eq!((estimate.coverage, estimate.n), (0.0, 1));
        assert_eq!(estimate.half_width_share(), None);
        assert!(estimate.overlaps(&Estimate::of(&[1.0, 2.0]).unwrap()));
    }

    #[test]
    fn what_is_no_number_gives_no_estimate() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[1.0, f64::NAN]), None);
        assert_eq!(median(&[f64::INFINITY]), None);
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_inner_two() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 30.0]), Some(3.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn thousands_of_values_do_not_underflow() {
        let estimate = one_to(5000);
        // About 2500 - 0.98 × √5000 by the normal approximation.
        assert!((estimate.low - 2431.0).abs() <= 2.0, "{estimate:?}");
        assert!((0.95..0.955).contains(&estimate.coverage));
    }

    #[test]
    fn the_stated_coverage_is_met_by_chance_itself() {
        // Every one of the 2^n ways in which n values fall below or above the true median.
        for n in 1..=12u32 {
            let cut = widest_cut(n as usize).0 as u32;
            let inside = (0..1u32 << n)
                .filter(|below| {
                    let below = below.count_ones();
                    below > cut && n - below > cut
                })
                .count();
            let coverage = inside as f64 / f64::from(1u32 << n);
            assert!((widest_cut(n as usize).1 - coverage).abs() < 1e-12, "{n}");
        }
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_median(values in prop::collection::vec(-1e9f64..1e9, 1..60)) {
            let estimate = Estimate::of(&values).unwrap();
            prop_assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
            prop_assert!(values.contains(&estimate.low) && values.contains(&estimate.high));
            prop_assert!(values.len() < 6 || estimate.coverage >= TARGET_COVERAGE);
            prop_assert!((0.0..=1.0).contains(&estimate.coverage));
        }

        #[test]
        fn the_order_of_rounds_does_not_matter(
            mut values in prop::collection::vec(-1e9f64..1e9, 1..30),
        ) {
            let before = Estimate::of(&values);
            values.reverse();
            prop_assert_eq!(before, Estimate::of(&values));
        }

        #[test]
        fn overlap_is_mutual(
            a in prop::collection::vec(0f64..10.0, 1..8),
            b in prop::collection::vec(0f64..10.0, 1..8),
        ) {
            let (a, b) = (Estimate::of(&a).unwrap(), Estimate::of(&b).unwrap());
            prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
            prop_assert!(a.overlaps(&a));
        }
    }
}
