use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

fn mean_of<'a>(values: &'a [f64]) -> impl Fn(&[usize]) -> Option<f64> + 'a {
    |drawn| Some(drawn.iter().map(|&i| values[i]).sum::<f64>() / drawn.len() as f64)
}

#[test]
fn the_mean_of_many_rounds_has_about_students_interval() {
    let mut random = fastrand::Rng::with_seed(1);
    let values: Vec<f64> = (0..200)
        .map(|_| 100.0 + Noise::Normal.draw(&mut random))
        .collect();
    let (low, high) = bootstrap(values.len(), mean_of(&values)).unwrap();
    // A standard error of 1 / √200.
    let expected = 2.0 * 1.97 / 200.0_f64.sqrt();
    assert!(((high - low) / expected - 1.0).abs() < 0.25, "{low} {high}");
    assert!(low < 100.0 && 100.0 < high);
}

#[test]
fn the_number_of_draws_is_as_given_and_they_repeat() {
    let asked = Cell::new(0);
    let values = [1.0, 2.0, 4.0, 8.0, 9.0];
    let mean = mean_of(&values);
    let counted = |drawn: &[usize]| {
        asked.set(asked.get() + 1);
        mean(drawn)
    };
    let first = bootstrap_of(5, 300, counted);
    assert_eq!(asked.get(), 300 + 5 + 1);
    assert_eq!(first, bootstrap_of(5, 300, mean_of(&values)));
}

#[test]
fn a_statistic_without_a_value_has_no_interval() {
    assert_eq!(bootstrap(1, |_| Some(1.0)), None);
    assert_eq!(bootstrap(0, |_| Some(1.0)), None);
    assert_eq!(bootstrap(5, |_| None), None);
    assert_eq!(bootstrap(5, |_| Some(f64::NAN)), None);
    // Like a percentile that only round 0 supports.
    assert_eq!(
        bootstrap(5, |drawn| drawn.contains(&0).then_some(1.0)),
        None
    );
    assert_eq!(bootstrap(5, |_| Some(3.0)), Some((3.0, 3.0)));
}

#[test]
fn the_interval_of_a_high_percentile_contains_it() {
    for (rounds, spread) in [(3, 0.05), (8, 0.05), (12, 0.1)] {
        let held = share_held(rounds, spread);
        assert!((0.90..0.99).contains(&held), "{rounds} {spread}: {held}");
    }
}

/// How often the interval of the 95th percentile of merged rounds contains the true one, if rounds differ by `spread`.
fn share_held(rounds: usize, spread: f64) -> f64 {
    const RESPONSES: usize = 100;
    // The logarithms of latencies are normal, of variance 1 within a round and spread² among them.
    let truth = (1.6449 * (1.0 + spread * spread).sqrt()).exp();
    let mut random = fastrand::Rng::with_seed(8);
    share(200, || {
        let latencies: Vec<Vec<f64>> = (0..rounds)
            .map(|_| {
                let round = spread * Noise::Normal.draw(&mut random);
                (0..RESPONSES)
                    .map(|_| (round + Noise::Normal.draw(&mut random)).exp())
                    .collect()
            })
            .collect();
        let percentile = |drawn: &[usize]| {
            let mut all: Vec<f64> = drawn
                .iter()
                .flat_map(|&i| latencies[i].iter().copied())
                .collect();
            let place = all.len() * 95 / 100;
            Some(*all.select_nth_unstable_by(place, f64::total_cmp).1)
        };
        let (low, high) = bootstrap_of(rounds, 200, percentile).unwrap();
        low <= truth && truth <= high
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_interval_contains_the_value_and_scales_with_it(
        values in prop::collection::vec(1f64..100.0, 2..12),
        power in -6i32..6,
    ) {
        // A power of two, so that equal values stay equal.
        let unit = 2.0_f64.powi(power);
        let all: Vec<usize> = (0..values.len()).collect();
        let value = mean_of(&values)(&all).unwrap();
        let (low, high) = bootstrap_of(values.len(), 200, mean_of(&values)).unwrap();
        prop_assert!(low <= value && value <= high && low > 0.0);
        let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
        let (scaled_low, scaled_high) = bootstrap_of(values.len(), 200, mean_of(&scaled)).unwrap();
        prop_assert!((low * unit / scaled_low - 1.0).abs() < 1e-6);
        prop_assert!((high * unit / scaled_high - 1.0).abs() < 1e-6);
    }
}

#[test]
fn ten_values_must_lie_beyond() {
    assert!(supports_percentile(1000, 0.01) && !supports_percentile(999, 0.01));
    for (count, quantile) in [(20, 0.5), (100, 0.9), (1000, 0.99), (10_000, 0.999)] {
        assert!(supports_percentile(count, 1.0 - quantile), "{quantile}");
    }
}
