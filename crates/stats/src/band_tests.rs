use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

fn competitor(values: &[f64]) -> Competitor {
    Competitor {
        rounds: (0..).zip(values.iter().copied()).collect(),
        known: Known::Exactly,
    }
}

fn band(best: usize, worst: usize) -> Band {
    Band { best, worst }
}

#[test]
fn what_is_surely_apart_has_a_rank_of_its_own() {
    let fast = competitor(&[100.0, 101.0, 99.0, 100.5, 100.2, 99.7]);
    let alike = competitor(&[100.3, 100.6, 99.4, 100.1, 100.5, 99.2]);
    let slow = competitor(&[50.0, 50.6, 49.5, 50.1, 50.3, 49.9]);
    assert_eq!(
        bands(&[slow, fast, alike]),
        [band(3, 3), band(1, 2), band(1, 2)]
    );
}

#[test]
fn one_round_or_none_in_common_tells_nothing_apart() {
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
fn nobody_is_surely_better_than_what_may_be_better_than_it_seems() {
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
fn of_equals_hardly_ever_one_is_placed() {
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
    fn bands_hold_together(
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
