use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

fn one_to(n: u32) -> Estimate {
    let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
    Estimate::of(&values).unwrap()
}

#[test]
fn the_cut_matches_published_tables() {
    // From tables of the binomial distribution with chance one half: how many values are left out, and the coverage.
    for (n, left_out, coverage) in [
        (2, 0, 0.5),
        (5, 0, 0.9375),
        (6, 0, 0.968_75),
        (8, 0, 0.992_2),
        (9, 1, 0.960_9),
        (12, 2, 0.961_4),
        (20, 5, 0.958_6),
    ] {
        let cut = Cut::of(n);
        assert_eq!(cut.left_out, left_out, "{n}");
        assert!(
            (1.0 - cut.miss - coverage).abs() < 1e-4,
            "{n}: {}",
            cut.miss
        );
    }
}

#[test]
fn from_six_rounds_on_it_lies_between_two_intervals_of_values() {
    for (n, outer) in [(6, 1.0), (9, 2.0), (12, 3.0), (20, 6.0)] {
        let estimate = one_to(n);
        assert!(
            estimate.low > outer && estimate.low < outer + 1.0,
            "{estimate:?}"
        );
        assert!((estimate.low + estimate.high - f64::from(n) - 1.0).abs() < 1e-9);
        assert_eq!(estimate.coverage, TARGET_COVERAGE);
    }
}

#[test]
fn two_rounds_have_students_interval() {
    // Values that are not all positive have no logarithms: mean 1, standard error 2, t 12.706.
    let estimate = Estimate::of(&[-1.0, 3.0]).unwrap();
    assert!(
        (estimate.low - (1.0 - 2.0 * 12.706)).abs() < 1e-2,
        "{estimate:?}"
    );
    assert!((estimate.high - (1.0 + 2.0 * 12.706)).abs() < 1e-2);
    let positive = Estimate::of(&[100.0, 102.0]).unwrap();
    assert!((88.0..90.0).contains(&positive.low) && (114.0..116.0).contains(&positive.high));
}

#[test]
fn an_interval_of_counts_does_not_go_below_zero() {
    let counts = Estimate::of(&[2.0, 0.0, 7.0]).unwrap();
    assert!(counts.low == 0.0 && counts.high > 7.0, "{counts:?}");
}

#[test]
fn one_round_has_no_interval() {
    let estimate = Estimate::of(&[7.0]).unwrap();
    assert_eq!(
        (estimate.low, estimate.median, estimate.high),
        (7.0, 7.0, 7.0)
    );
    assert_eq!((estimate.coverage, estimate.n), (0.0, 1));
    assert_eq!(estimate.half_width_share(), None);
}

#[test]
fn without_finite_values_there_is_no_estimate() {
    assert_eq!(Estimate::of(&[]), None);
    assert_eq!(Estimate::of(&[1.0, f64::NAN]), None);
    assert_eq!(median(&[f64::INFINITY]), None);
}

#[test]
fn values_far_apart_keep_their_interval_finite() {
    for values in [
        [f64::MIN_POSITIVE, f64::MAX],
        [f64::MIN, f64::MAX],
        [0.0, f64::MAX],
    ] {
        let estimate = Estimate::of(&values).unwrap();
        assert!(
            estimate.low.is_finite() && estimate.high.is_finite(),
            "{estimate:?}"
        );
        assert!(
            estimate.low <= values[0] && estimate.high >= values[1],
            "{estimate:?}"
        );
    }
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
}

#[test]
fn intervals_of_medians_have_about_their_nominal_coverage() {
    for noise in Noise::ALL {
        for n in [2, 3, 4, 5, 6, 7, 9, 12, 20] {
            let mut random = fastrand::Rng::with_seed(n as u64);
            let held = share(4000, || {
                let rounds: Vec<f64> = (0..n)
                    .map(|_| noise.trial(1000.0, 0.04, &mut random))
                    .collect();
                let estimate = Estimate::of(&rounds).unwrap();
                estimate.low <= 1000.0 && 1000.0 <= estimate.high
            });
            // Two to five rounds depend on their distribution.
            let least = if n < 6 { 0.91 } else { 0.93 };
            assert!((least..0.98).contains(&held), "{noise:?} {n}: {held}");
        }
    }
}

proptest! {
    #[test]
    fn an_interval_contains_its_median(values in prop::collection::vec(-1e9f64..1e9, 1..60)) {
        let estimate = Estimate::of(&values).unwrap();
        prop_assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
        let within = |value: f64| values.iter().any(|&one| one <= value) && values.iter().any(|&one| one >= value);
        prop_assert!(values.len() < 6 || (within(estimate.low) && within(estimate.high)));
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
    fn the_unit_does_not_matter(
        values in prop::collection::vec(1.0f64..1e3, 2..30),
        unit in 1e-6f64..1e6,
    ) {
        let (one, scaled) = (Estimate::of(&values).unwrap(), values.iter().map(|value| value * unit));
        let other = Estimate::of(&scaled.collect::<Vec<_>>()).unwrap();
        for (one, other) in [(one.low, other.low), (one.median, other.median), (one.high, other.high)] {
            prop_assert!((one * unit / other - 1.0).abs() < 1e-6, "{one} {other}");
        }
    }
}
