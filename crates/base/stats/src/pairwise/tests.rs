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
fn two_rows_alone_are_told_apart_as_their_ratio_says() {
    let mut random = fastrand::Rng::with_seed(4);
    for rounds in 2..12 {
        for _ in 0..40 {
            let [one, other] = [1.0, 1.06].map(|step| {
                let trial = |round| {
                    (
                        round,
                        step * Noise::Contaminated.trial(1.0, 0.04, &mut random),
                    )
                };
                (0..rounds).map(trial).collect::<Row>()
            });
            let [pair] = compare(&[&one, &other])[..] else {
                panic!("two rows are one pair");
            };
            let ratio = Ratio::paired(&common_rounds(&one, &other)).unwrap();
            let larger = if pair.larger == 0 {
                ratio
            } else {
                ratio.inverse()
            };
            assert_eq!((pair.ratio, pair.ratio.ratio >= 1.0), (larger, true));
            assert_eq!(pair.p < 0.05, ratio.p < 0.05, "{pair:?} {ratio:?}");
        }
    }
}

#[test]
fn a_round_far_off_hardly_changes_how_a_pair_is_ordered() {
    let base: Row = (0..6).map(|round| (round, 1.0)).collect();
    let of = |last: f64| -> Row { (0..).zip([3.48, 5.83, 4.04, 3.31, 3.66, last]).collect() };
    let third = |last: f64| compare(&[&base, &of(last)])[0];
    // With the last round as it was at first, and as the machine's standstill left it.
    let (first, stood_still) = (third(4.1), third(228.7));
    assert!((3.5..4.5).contains(&first.ratio.ratio), "{first:?}");
    assert!(
        (3.5..4.5).contains(&stood_still.ratio.ratio),
        "{stood_still:?}"
    );
    assert!(first.p < 0.01 && stood_still.p < 0.01, "{stood_still:?}");
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
        .map(|pair| (pair.larger, pair.smaller, pair.ratio.n))
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
