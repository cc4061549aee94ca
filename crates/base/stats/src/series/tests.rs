use proptest::prelude::*;

use super::*;
use crate::simulated::{normal, share};

/// Fluctuations with a standard deviation of 1 whose adjacent values correlate.
fn fluctuations(n: usize, correlation: f64, random: &mut fastrand::Rng) -> Vec<f64> {
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut one = normal(random);
    (0..n)
        .map(|_| {
            one = correlation * one + fresh * normal(random);
            one
        })
        .collect()
}

/// A rate that approaches 1000 from `rise` below; after the share `until` of the time 5 % of that remain.
fn warming(n: usize, rise: f64, until: f64, noise: f64, random: &mut fastrand::Rng) -> Vec<f64> {
    fluctuations(n, 0.0, random)
        .iter()
        .enumerate()
        .map(|(i, one)| {
            let time = (i as f64 + 0.5) / n as f64;
            1000.0 * (1.0 - rise * (-3.0 * time / until).exp() + noise * one)
        })
        .collect()
}

#[test]
fn a_warm_up_is_seen() {
    let mut random = fastrand::Rng::with_seed(1);
    for (n, least) in [(40, 0.85), (60, 0.97), (250, 0.98)] {
        let seen = share(500, || {
            warm_up_rise(&warming(n, 0.2, 1.0 / 3.0, 0.03, &mut random)).is_some()
        });
        assert!(seen >= least, "{n}: {seen}");
    }
}

#[test]
fn the_rise_is_a_share_of_the_later_level() {
    let steps: Vec<f64> = (0..40)
        .map(|i| {
            if i < 10 {
                60.0
            } else {
                99.0 + f64::from(i % 3)
            }
        })
        .collect();
    let rise = warm_up_rise(&steps).unwrap();
    assert!((rise - 0.4).abs() < 1e-9, "{rise}");
}

#[test]
fn fluctuations_rarely_look_like_a_warm_up_or_growth() {
    for correlation in [0.0, 0.5] {
        for n in [20, 50, 100] {
            let mut random = fastrand::Rng::with_seed(2);
            let mut rate = || -> Vec<f64> {
                let one = fluctuations(n, correlation, &mut random);
                one.iter().map(|one| 1000.0 * (1.0 + 0.15 * one)).collect()
            };
            let warm = share(2000, || warm_up_rise(&rate()).is_some());
            let growing = share(500, || grows(&rate()));
            assert!(warm <= 0.012, "{correlation} {n}: {warm}");
            assert!(growing <= 0.03, "{correlation} {n}: {growing}");
        }
    }
}

#[test]
fn a_fall_a_late_rise_and_a_small_one_are_no_warm_up() {
    let series = |level: fn(i32) -> f64| -> Vec<f64> {
        (0..60)
            .map(|i| level(i) + f64::from(i * 7 % 5) / 10.0)
            .collect()
    };
    assert_eq!(
        warm_up_rise(&series(|i| if i < 20 { 120.0 } else { 100.0 })),
        None
    );
    assert_eq!(
        warm_up_rise(&series(|i| if i < 20 { 97.0 } else { 100.0 })),
        None
    );
    assert_eq!(warm_up_rise(&series(|_| 100.0)), None);
    assert_eq!(warm_up_rise(&[0.0; 60]), None);
    assert_eq!(
        warm_up_rise(&[50.0, 100.0, 100.0]),
        None,
        "too short to tell"
    );
    assert_eq!(warm_up_rise(&[]), None);
}

#[test]
fn a_queue_that_fills_grows_and_one_that_empties_does_not() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut slope = |by: f64| -> Vec<f64> {
        let noise = fluctuations(40, 0.3, &mut random);
        noise
            .iter()
            .enumerate()
            .map(|(i, one)| 10.0 + by * i as f64 + one)
            .collect()
    };
    assert!(grows(&slope(0.2)));
    assert!(!grows(&slope(-0.2)));
    assert!(!grows(&[1.0, 2.0, 3.0]), "too short to tell");
    assert!(!grows(&[5.0; 30]));
    assert!(grows(&(0..12).map(f64::from).collect::<Vec<_>>()));
}

#[test]
fn the_knee_is_where_a_queue_begins_to_build_up() {
    // The time that a request spends at a single server with random arrivals: 1 / (1 - load).
    let curve: Vec<(f64, f64)> = (1..=19)
        .map(|i| f64::from(i) / 20.0)
        .map(|load| (load, 1.0 / (1.0 - load)))
        .collect();
    let (load, _) = curve[knee(&curve).unwrap()];
    assert!((0.7..=0.85).contains(&load), "{load}");
    let with_overload = [&curve[..], &[(1.0, 3000.0), (1.1, 30_000.0)]].concat();
    let (load, _) = with_overload[knee(&with_overload).unwrap()];
    assert!((0.9..=1.0).contains(&load), "{load}");
}

#[test]
fn lines_and_levels_have_no_knee() {
    let of = |y: fn(f64) -> f64| -> Vec<(f64, f64)> {
        (1..=10).map(f64::from).map(|x| (x, y(x))).collect()
    };
    assert_eq!(knee(&of(|x| 3.0 + 2.0 * x)), None);
    assert_eq!(knee(&of(|_| 5.0)), None);
    assert_eq!(
        knee(&of(|x| 100.0 + x * x * x / 100.0)),
        None,
        "hardly rises"
    );
    assert_eq!(knee(&of(|x| x.sqrt())), None);
    assert_eq!(knee(&[(1.0, 1.0)]), None);
    assert_eq!(knee(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 9.0)]), None);
    assert_eq!(knee(&[]), None);
}

proptest! {
    #[test]
    fn the_unit_does_not_matter(seed in 0u64..1000, unit in 1e-3f64..1e3) {
        let mut random = fastrand::Rng::with_seed(seed);
        let rate = warming(60, 0.25, 0.3, 0.05, &mut random);
        let scaled: Vec<f64> = rate.iter().map(|one| one * unit).collect();
        match (warm_up_rise(&rate), warm_up_rise(&scaled)) {
            (Some(one), Some(other)) => {
                prop_assert!((one - other).abs() < 1e-9);
                prop_assert!((LEAST_RISE..1.0).contains(&one));
            }
            (one, other) => prop_assert_eq!(one, other),
        }
        prop_assert_eq!(grows(&rate), grows(&scaled));
    }

    #[test]
    fn any_series_is_accepted(values in prop::collection::vec(0f64..1e6, 0..300)) {
        let _ = (warm_up_rise(&values), grows(&values));
        let points: Vec<(f64, f64)> = (0..).map(f64::from).zip(values).collect();
        prop_assert!(knee(&points).is_none_or(|index| index < points.len()));
    }
}
