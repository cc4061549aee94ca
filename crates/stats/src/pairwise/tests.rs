use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

type Row = BTreeMap<u32, f64>;

fn row(noise: Noise, sigma: f64, rounds: u32, random: &mut fastrand::Rng) -> Row {
    let trial = |round| (round, noise.trial(1000.0, sigma, random));
    (0..rounds).map(trial).collect()
}

/// How often any two of several equal rows are told apart. Each row has its own noise.
fn wrong(sigmas: &[f64], rounds: u32, runs: usize) -> f64 {
    let mut random = fastrand::Rng::with_seed(u64::from(rounds));
    share(runs, || {
        let rows: Vec<Row> = sigmas
            .iter()
            .map(|&sigma| row(Noise::Normal, sigma, rounds, &mut random))
            .collect();
        let rows: Vec<&Row> = rows.iter().collect();
        corrected(compare(&rows)).iter().any(|pair| pair.p < 0.05)
    })
}

#[test]
fn equals_are_rarely_told_apart_even_if_one_is_far_noisier() {
    let one_noisy = |rows: usize| {
        let mut sigmas = vec![0.02; rows];
        sigmas[0] = 0.2;
        sigmas
    };
    for (sigmas, rounds) in [
        (vec![0.04; 12], 3),
        (vec![0.04; 4], 6),
        (one_noisy(12), 3),
        (one_noisy(12), 5),
        (one_noisy(5), 3),
    ] {
        let wrong = wrong(&sigmas, rounds, 600);
        assert!(wrong <= 0.065, "{sigmas:?} {rounds}: {wrong}");
    }
}

#[test]
fn two_rows_alone_are_compared_by_students_test() {
    // t = 3 / (2 / √3) with 2 degrees of freedom.
    let one: Row = (0..).zip([5_f64, 3.0, 1.0].map(f64::exp)).collect();
    let other: Row = (0..).zip([0.0_f64; 3].map(f64::exp)).collect();
    let pairs = compare(&[&one, &other]);
    assert_eq!((pairs.len(), pairs[0].larger, pairs[0].rounds), (1, 0, 3));
    assert!((pairs[0].ratio - 3_f64.exp()).abs() < 1e-9);
    let expected = student_miss(3.0 / (2.0 / 3_f64.sqrt()), 2.0);
    assert!((pairs[0].p - expected).abs() < 1e-12, "{}", pairs[0].p);
}

#[test]
fn pairs_that_cannot_be_compared_are_left_out() {
    let [one, two, none, zero]: [Row; 4] = [
        [(1, 1.0), (2, 2.0), (3, 3.0)].into(),
        [(2, 2.5), (3, 3.5), (4, 9.0)].into(),
        [(7, 1.0), (8, 1.0)].into(),
        [(1, 0.0), (2, 1.0), (3, 1.0)].into(),
    ];
    let pairs = compare(&[&one, &two, &none, &zero]);
    let places: Vec<_> = pairs
        .iter()
        .map(|pair| (pair.larger, pair.smaller, pair.rounds))
        .collect();
    // The last row is 0 only in a round that the second does not have.
    assert_eq!(places, [(1, 0, 2), (1, 3, 2)]);
}

#[test]
fn values_that_never_vary_are_apart_or_the_same() {
    let rows: [Row; 3] = [
        [(1, 2.0), (2, 2.0), (3, 2.0)].into(),
        [(1, 2.0), (2, 2.0), (3, 2.0)].into(),
        [(1, 4.0), (2, 4.0), (3, 4.0)].into(),
    ];
    let pairs = compare(&[&rows[0], &rows[1], &rows[2]]);
    let p: Vec<f64> = pairs.iter().map(|pair| pair.p).collect();
    assert_eq!(p, [1.0, LEAST_P, LEAST_P]);
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let mut random = fastrand::Rng::with_seed(9);
    let rows: Vec<Row> = (1..6)
        .map(|i| row(Noise::Laplace, 0.02 * f64::from(i), 4, &mut random))
        .collect();
    let sorted = |rows: Vec<&Row>| {
        let mut p: Vec<f64> = compare(&rows).iter().map(|pair| pair.p).collect();
        p.sort_unstable_by(f64::total_cmp);
        p
    };
    let (there, back) = (
        sorted(rows.iter().collect()),
        sorted(rows.iter().rev().collect()),
    );
    for (one, other) in there.iter().zip(back) {
        assert!((one - other).abs() < 1e-12);
    }
}

#[test]
fn the_smallest_p_is_multiplied_by_their_number_and_the_largest_by_one() {
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
    fn holm_keeps_the_order_and_corrects_at_most_like_bonferroni(
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
