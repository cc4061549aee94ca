use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

fn competitor(values: &[f64]) -> Competitor {
    Competitor {
        rounds: (0..).zip(values.iter().copied()).collect(),
        known: Known::Exactly,
    }
}

/// Rows, each `step` times as fast as the one before, with noise of this share.
fn ladder(rows: usize, step: f64, noise: f64, rounds: usize, seed: u64) -> Vec<Competitor> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..rows as i32)
        .map(|row| {
            let values: Vec<f64> = (0..rounds)
                .map(|_| Noise::Normal.trial(step.powi(row), noise, &mut random))
                .collect();
            competitor(&values)
        })
        .collect()
}

#[test]
fn two_or_three_rounds_show_a_factor_of_ten() {
    for rounds in [2, 3] {
        for seed in 0..20 {
            // 17 rows: 136 pairs, adjacent rows a factor of ten apart.
            let order = Order::of(&ladder(17, 10.0, 0.05, rounds, seed));
            let bands = order.bands();
            for (row, band) in bands.iter().enumerate() {
                assert_eq!(
                    (band.best, band.worst),
                    (17 - row, 17 - row),
                    "{rounds} {seed}"
                );
            }
        }
    }
}

#[test]
fn a_few_rounds_predict_how_many_are_needed() {
    let order = Order::of(&ladder(8, 1.08, 0.08, 3, 5));
    assert!(
        order.separated() < order.pairs() / 2,
        "{} of {}",
        order.separated(),
        order.pairs()
    );
    let least = order.least_ratio().unwrap();
    assert!((1.2..3.0).contains(&least), "{least}");
    let rounds = order.rounds_for(order.pairs() / 2).unwrap();
    assert!((4..60).contains(&rounds), "{rounds}");
    // Twice as many are indeed enough.
    let more = Order::of(&ladder(8, 1.08, 0.08, 2 * rounds, 6));
    assert!(
        more.separated() >= more.pairs() / 2,
        "{rounds}: {}",
        more.separated()
    );
    // No number of rounds would tell most equals apart.
    let equal = Order::of(&vec![competitor(&[1.0, 1.1, 0.9, 1.0]); 4]);
    assert_eq!(equal.rounds_for(equal.pairs()), None);
    // One round tells nothing.
    let one = Order::of(&ladder(5, 10.0, 0.01, 1, 1));
    assert_eq!(
        (one.pairs(), one.separated(), one.least_ratio()),
        (10, 0, None)
    );
    assert_eq!(one.rounds_for(5), None);
}

#[test]
fn nothing_is_certainly_ahead_of_a_lower_bound() {
    use Known::{AtLeast, Exactly, Nothing};
    let mut three = ladder(3, 2.0, 0.01, 5, 1);
    three[1].known = AtLeast;
    let order = Order::of(&three);
    assert_eq!(order.better(0, 1), Some(1), "the bound itself is ahead");
    assert_eq!(order.better(2, 1), None);
    assert_eq!(order.better(0, 2), Some(2));
    assert_eq!(
        (order.pairs(), order.separated()),
        (1, 1),
        "a limit is not a lack of rounds"
    );
    three[1].known = Nothing;
    let order = Order::of(&three);
    assert_eq!((order.better(0, 1), order.better(1, 2)), (None, None));

    let all = [Exactly, AtLeast, Nothing];
    for better in all {
        for worse in all {
            let expected = worse == Exactly && better != Nothing;
            assert_eq!(stands(better, worse), expected, "{better:?} {worse:?}");
        }
    }
}

fn band(best: usize, worst: usize) -> Band {
    Band { best, worst }
}

#[test]
fn a_row_that_certainly_differs_has_its_own_rank() {
    let fast = competitor(&[100.0, 101.0, 99.0, 100.5, 100.2, 99.7]);
    let alike = competitor(&[100.3, 100.6, 99.4, 100.1, 100.5, 99.2]);
    let slow = competitor(&[50.0, 50.6, 49.5, 50.1, 50.3, 49.9]);
    assert_eq!(
        bands(&[slow, fast, alike]),
        [band(3, 3), band(1, 2), band(1, 2)]
    );
}

#[test]
fn fewer_than_two_common_rounds_tell_nothing_apart() {
    let apart = Competitor {
        rounds: [(7, 1.0), (8, 1.1), (9, 1.2)].into(),
        known: Known::Exactly,
    };
    let other = competitor(&[100.0, 101.0, 102.0]);
    assert_eq!(bands(&[apart, other]), [band(1, 2), band(1, 2)]);
    assert_eq!(
        bands(&[competitor(&[1.0]), competitor(&[9.0])]),
        [band(1, 2); 2]
    );
    assert!(bands(&[]).is_empty());
    assert_eq!(bands(&[competitor(&[])]), [band(1, 1)]);
}

#[test]
fn a_lower_bound_shares_ranks_with_faster_rows() {
    let limited = Competitor {
        known: Known::AtLeast,
        ..competitor(&[50.0, 50.5, 49.5, 50.2, 49.9, 50.1])
    };
    let fast = competitor(&[100.0, 100.5, 99.5, 101.0, 99.0, 100.2]);
    let slow = competitor(&[25.0, 25.5, 24.9, 25.1, 25.2, 24.8]);
    assert_eq!(
        bands(&[fast, limited, slow]),
        [band(1, 2), band(1, 2), band(3, 3)]
    );
}

#[test]
fn equals_are_rarely_placed() {
    for (noise, n) in [
        (Noise::Normal, 4),
        (Noise::Contaminated, 6),
        (Noise::Uniform, 10),
    ] {
        let mut random = fastrand::Rng::with_seed(3);
        let wrong = share(300, || {
            let equals: Vec<Competitor> = (0..8)
                .map(|_| {
                    let rounds: Vec<f64> = (0..n)
                        .map(|_| noise.trial(1.0, 0.05, &mut random))
                        .collect();
                    competitor(&rounds)
                })
                .collect();
            bands(&equals).iter().any(|one| *one != band(1, 8))
        });
        assert!(wrong <= 0.065, "{noise:?} {n}: {wrong}");
    }
}

proptest! {
    #[test]
    fn bands_are_consistent(
        rounds in prop::collection::vec(prop::collection::vec(1f64..100.0, 0..9), 1..8),
    ) {
        let competitors: Vec<Competitor> = rounds.iter().map(|rounds| competitor(rounds)).collect();
        let bands = bands(&competitors);
        prop_assert!(bands.iter().all(|band| 1 <= band.best && band.best <= band.worst));
        prop_assert!(bands.iter().all(|band| band.worst <= competitors.len()));
        let (better, worse): (usize, usize) = bands.iter().fold((0, 0), |(better, worse), band| {
            (better + competitors.len() - band.worst, worse + band.best - 1)
        });
        prop_assert_eq!(better, worse);
    }
}

proptest! {
    #[test]
    fn a_pair_seen_from_both_sides_is_the_same_and_bands_count_the_pairs(
        rounds in prop::collection::vec(prop::collection::vec(1f64..100.0, 0..7), 1..7),
        known in prop::collection::vec(prop::sample::select(vec![Known::Exactly, Known::AtLeast, Known::Nothing]), 7),
    ) {
        let competitors: Vec<Competitor> = rounds.iter().zip(known).map(|(rounds, known)| Competitor {
            known,
            ..competitor(rounds)
        }).collect();
        let order = Order::of(&competitors);
        let count = competitors.len();
        for (one, band) in order.bands().into_iter().enumerate() {
            let told = |wanted| {
                let others = (0..count).filter(|&other| other != one);
                others.filter(|&other| order.beside(one, other).is_some_and(|it| it.told == wanted)).count()
            };
            prop_assert_eq!(band, Band {
                best: 1 + told(Ordering::Less),
                worst: count - told(Ordering::Greater),
            });
            for other in (0..count).filter(|&other| other != one) {
                let (Some(there), Some(back)) = (order.beside(one, other), order.beside(other, one)) else {
                    prop_assert!(!order.compares(one, other) && !order.compares(other, one));
                    continue;
                };
                prop_assert_eq!(there.told, back.told.reverse());
                let ratio = there.ratio.ratio;
                prop_assert_eq!(there.ratio.n, back.ratio.n);
                prop_assert_eq!(there.interval().is_some(), back.interval().is_some());
                prop_assert!((ratio * back.ratio.ratio - 1.0).abs() < 1e-9);
                prop_assert!(there.told == Ordering::Equal || (ratio > 1.0) == (there.told == Ordering::Greater));
                if let (Some((low, high)), Some((back_low, back_high))) = (there.interval(), back.interval()) {
                    prop_assert!(low <= ratio * (1.0 + 1e-9) && ratio <= high * (1.0 + 1e-9));
                    prop_assert!((low * back_high - 1.0).abs() < 1e-9 && (high * back_low - 1.0).abs() < 1e-9);
                    prop_assert_eq!(low > 1.0 || high < 1.0, there.told != Ordering::Equal);
                }
            }
        }
    }
}
