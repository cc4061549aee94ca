use super::*;
use crate::simulated::Noise;

fn competitor(values: &[f64]) -> Competitor {
    Competitor {
        rounds: (0..).zip(values.iter().copied()).collect(),
        known: Known::Exactly,
    }
}

/// Rows each of which is so many times as fast as the one before, with noise of that share.
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
fn a_factor_of_ten_in_every_round_is_told_by_two_or_three_rounds() {
    for rounds in [2, 3] {
        for seed in 0..20 {
            // 17 rows: 136 pairs, of which neighbours are a factor of ten apart.
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
fn few_rounds_say_how_many_would_do() {
    let order = Order::of(&ladder(8, 1.08, 0.08, 3, 5));
    assert!(
        order.told() < order.pairs() / 2,
        "{} of {}",
        order.told(),
        order.pairs()
    );
    let least = order.least_ratio().unwrap();
    assert!((1.2..3.0).contains(&least), "{least}");
    let rounds = order.rounds_for(order.pairs() / 2).unwrap();
    assert!((4..60).contains(&rounds), "{rounds}");
    // They do.
    let more = Order::of(&ladder(8, 1.08, 0.08, 2 * rounds, 6));
    assert!(more.told() >= more.pairs() / 2, "{rounds}: {}", more.told());
    // Of equals no number of rounds would tell most apart.
    let equal = Order::of(&vec![competitor(&[1.0, 1.1, 0.9, 1.0]); 4]);
    assert_eq!(equal.rounds_for(equal.pairs()), None);
    // One round tells nothing at all.
    let one = Order::of(&ladder(5, 10.0, 0.01, 1, 1));
    assert_eq!((one.pairs(), one.told(), one.least_ratio()), (10, 0, None));
    assert_eq!(one.rounds_for(5), None);
}

#[test]
fn nobody_is_ahead_for_certain_of_what_is_a_lower_bound() {
    use Known::{AtLeast, Exactly, Nothing};
    let mut three = ladder(3, 2.0, 0.01, 5, 1);
    three[1].known = AtLeast;
    let order = Order::of(&three);
    assert_eq!(order.better(0, 1), Some(1), "the bound itself is ahead");
    assert_eq!(order.better(2, 1), None);
    assert_eq!(order.better(0, 2), Some(2));
    assert_eq!(
        (order.pairs(), order.told()),
        (1, 1),
        "what a limit keeps open is no lack of rounds"
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
