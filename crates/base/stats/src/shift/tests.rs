use proptest::prelude::*;

use super::*;

/// The two-sided p-value of Wilcoxon's test itself, from every combination of signs.
fn signed_rank_test(differences: &[f64]) -> f64 {
    let n = differences.len();
    let mut sizes: Vec<f64> = differences.iter().map(|one| one.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let rank = |one: f64| 1 + sizes.iter().position(|&size| size == one.abs()).unwrap();
    let above: usize = differences
        .iter()
        .filter(|one| **one > 0.0)
        .map(|one| rank(*one))
        .sum();
    let least = above.min(n * (n + 1) / 2 - above);
    let as_low = (0_u32..1 << n)
        .filter(|signs| {
            (1..=n)
                .filter(|rank| signs >> (rank - 1) & 1 == 1)
                .sum::<usize>()
                <= least
        })
        .count();
    (2.0 * as_low as f64 / f64::from(1_u32 << n)).min(1.0)
}

#[test]
fn a_known_example() {
    // Darwin's maize, in eighths of an inch, crossed less self-fertilised. The exact p that textbooks and R's
    // wilcox.test give is 0.04126, with 24 of 120 as the lesser sum of ranks.
    let maize = [
        49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0,
    ];
    let shift = paired(&maize).unwrap();
    assert!((shift.center - 24.5).abs() <= 1.0, "{shift:?}");
    let exact = signed_rank_test(&maize);
    assert!((exact - 0.041_26).abs() < 1e-5, "{exact}");
    assert!(shift.p <= exact && shift.p > exact - 0.01, "{shift:?}");
    assert!(shift.low > 0.0 && shift.high > shift.center);
}

#[test]
fn two_rounds_are_students() {
    // 1 and 3: mean 2, standard error 1, t of one degree of freedom 12.706.
    let shift = paired(&[1.0, 3.0]).unwrap();
    assert_eq!(shift.center, 2.0);
    assert!((shift.low - (2.0 - 12.706)).abs() < 1e-3, "{shift:?}");
    assert!((shift.high - (2.0 + 12.706)).abs() < 1e-3);
    // The t is 2, whose two-sided p is 1 - 2/π × atan 2.
    assert!((shift.p - (1.0 - 2.0 / std::f64::consts::PI * 2.0_f64.atan())).abs() < 1e-9);
}

#[test]
fn values_without_spread_give_an_interval_without_width() {
    let same = paired(&[0.5; 7]).unwrap();
    assert_eq!((same.center, same.low, same.high), (0.5, 0.5, 0.5));
    assert_eq!(same.p, LEAST_P);
    let none = paired(&[0.0; 7]).unwrap();
    assert_eq!((none.low, none.high, none.p), (0.0, 0.0, 1.0));
    assert_eq!(paired(&[1.0]), None);
    assert_eq!(unpaired(&[1.0], &[1.0, 2.0]), None);
}

#[test]
fn many_rounds_neither_overflow_nor_hang() {
    for n in [60, 61, 500] {
        let differences: Vec<f64> = (0..n)
            .map(|i| f64::from(i * 7919 % n) / f64::from(n))
            .collect();
        let shift = paired(&differences).unwrap();
        assert!(
            (shift.center - 0.5).abs() < 0.01 && shift.p < 1e-9,
            "{shift:?}"
        );
        // Uniform from 0 to 1: a standard error of 0.289 / √n, and hardly less by ranks.
        let expected = 1.96 * 0.289 / f64::from(n).sqrt();
        assert!(
            ((shift.high - shift.low) / 2.0 / expected - 1.0).abs() < 0.2,
            "{shift:?}"
        );
        let lower: Vec<f64> = differences.iter().map(|one| one - 0.3).collect();
        let shift = unpaired(&differences, &lower).unwrap();
        assert!(
            (shift.center - 0.3).abs() < 0.01 && shift.p < 1e-6,
            "{shift:?}"
        );
    }
}

proptest! {
    #[test]
    fn p_lies_between_that_of_the_test_and_the_next_smaller_one_possible(
        differences in prop::collection::vec(-1.0f64..1.5, 2..12),
    ) {
        let exact = signed_rank_test(&differences);
        let p = paired(&differences).unwrap().p;
        let n = differences.len();
        prop_assert!(p <= exact + 1e-12, "{p} {exact}");
        let attainable: Vec<f64> = signed_rank(n).iter().map(|one| 2.0 * one).collect();
        let below = attainable.iter().copied().filter(|&one| one < exact - 1e-9).fold(0.0, f64::max);
        prop_assert!(p >= below - 1e-12, "{p} {below}");
    }

    #[test]
    fn p_is_below_one_in_twenty_exactly_if_the_interval_excludes_0(
        a in prop::collection::vec(-1.0f64..2.0, 2..14),
        b in prop::collection::vec(-1.0f64..1.0, 2..14),
    ) {
        for shift in [paired(&a).unwrap(), unpaired(&a, &b).unwrap()] {
            let out = shift.low > 0.0 || shift.high < 0.0;
            prop_assert!(out == (shift.p < MISS) || (shift.p - MISS).abs() < 1e-9, "{shift:?}");
            prop_assert!(shift.p > 0.0 && shift.p <= 1.0);
            prop_assert!(shift.low <= shift.center && shift.center <= shift.high);
        }
    }

    #[test]
    fn an_interval_that_misses_less_often_is_wider(
        a in prop::collection::vec(-1.0f64..2.0, 2..14),
        b in prop::collection::vec(-1.0f64..1.0, 2..14),
    ) {
        let differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| a - b)).collect();
        let freedom = (a.len() + b.len()) as f64 - 2.0;
        let inversion = Inversion::new(differences, rank_sum(a.len(), b.len()), freedom);
        let mut inner = (inversion.center, inversion.center);
        for miss in [0.99, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-6] {
            let outer = inversion.interval(miss);
            prop_assert!(outer.0 <= inner.0 + 1e-12 && outer.1 >= inner.1 - 1e-12, "{miss}");
            inner = outer;
        }
    }

    #[test]
    fn with_the_sides_swapped_the_shift_is_mirrored(
        a in prop::collection::vec(-1.0f64..2.0, 2..14),
        b in prop::collection::vec(-1.0f64..1.0, 2..14),
    ) {
        let negative: Vec<f64> = a.iter().map(|one| -one).collect();
        let pairs = [
            (paired(&a).unwrap(), paired(&negative).unwrap()),
            (unpaired(&a, &b).unwrap(), unpaired(&b, &a).unwrap()),
        ];
        for (one, other) in pairs {
            prop_assert!((one.center + other.center).abs() < 1e-12);
            prop_assert!((one.low + other.high).abs() < 1e-9 * (1.0 + one.low.abs()));
            prop_assert!((one.high + other.low).abs() < 1e-9 * (1.0 + one.high.abs()));
            prop_assert!((one.p - other.p).abs() < 1e-9);
        }
    }

    #[test]
    fn the_shift_moves_with_the_values_whatever_their_order(
        a in prop::collection::vec(-1.0f64..2.0, 2..14),
        by in -5.0f64..5.0,
    ) {
        let before = paired(&a).unwrap();
        let mut moved: Vec<f64> = a.iter().map(|one| one + by).collect();
        moved.reverse();
        let after = paired(&moved).unwrap();
        for (one, other) in [(before.center, after.center), (before.low, after.low), (before.high, after.high)] {
            prop_assert!((one + by - other).abs() < 1e-9 * (1.0 + one.abs()), "{before:?} {after:?}");
        }
    }
}
