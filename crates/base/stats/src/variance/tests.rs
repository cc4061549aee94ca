use super::*;
use crate::simulated::normal;

/// Variances of `freedom + 1` values each, with these standard deviations.
fn drawn(
    sigmas: impl Iterator<Item = f64>,
    freedom: usize,
    random: &mut fastrand::Rng,
) -> Vec<Variance> {
    sigmas
        .map(|sigma| Variance {
            value: (0..freedom)
                .map(|_| (sigma * normal(random)).powi(2))
                .sum::<f64>()
                / freedom as f64,
            freedom: freedom as f64,
        })
        .collect()
}

#[test]
fn similar_variances_have_a_common_one() {
    let mut random = fastrand::Rng::with_seed(1);
    let alike = drawn((0..400).map(|_| 0.05), 2, &mut random);
    let prior = Prior::of(&alike, 0.0).unwrap();
    assert!((prior.value / 0.0025 - 1.0).abs() < 0.2, "{prior:?}");
    assert!(prior.freedom > 20.0, "{prior:?}");

    let spread = drawn(
        (0..400).map(|i| 0.001 * 1000_f64.powf(f64::from(i) / 400.0)),
        2,
        &mut random,
    );
    let prior = Prior::of(&spread, 0.0).unwrap();
    assert!(prior.freedom < 2.0, "{prior:?}");
}

#[test]
fn a_variance_is_only_raised() {
    let prior = Prior {
        value: 4.0,
        freedom: 10.0,
    };
    let quiet = prior.moderate(
        Variance {
            value: 1.0,
            freedom: 2.0,
        },
        2.0,
    );
    assert_eq!(
        quiet,
        Variance {
            value: 2.5,
            freedom: 4.0
        }
    );
    let noisy = prior.moderate(
        Variance {
            value: 9.0,
            freedom: 2.0,
        },
        2.0,
    );
    assert_eq!(
        noisy,
        Variance {
            value: 9.0,
            freedom: 4.0
        }
    );
}

#[test]
fn too_few_variances_have_nothing_in_common() {
    let one = Variance {
        value: 1.0,
        freedom: 2.0,
    };
    assert_eq!(Prior::of(&[one], 0.0), None);
    let none = Variance {
        value: 0.0,
        freedom: 2.0,
    };
    assert_eq!(Prior::of(&[none, none, none], 0.0), None);
}

#[test]
fn derivatives_match_published_tables() {
    // Abramowitz and Stegun (1964), tables 6.1 and 6.2.
    let sixth = std::f64::consts::PI * std::f64::consts::PI / 6.0;
    for (x, expected) in [
        (1.0, sixth),
        (0.5, 3.0 * sixth),
        (2.0, sixth - 1.0),
        (10.0, 0.105_166_335_681_685_74),
    ] {
        assert!((trigamma(x) - expected).abs() < 1e-10, "{x}");
    }
    assert!((tetragamma(1.0) + 2.404_113_806_319_188_5).abs() < 1e-9);
}

#[test]
fn the_inverse_leads_back() {
    for value in [1e-7, 1e-4, 0.02, 0.5, 1.645, 30.0, 1e5, 1e8] {
        let back = trigamma(trigamma_inverse(value));
        assert!((back / value - 1.0).abs() < 1e-3, "{value} {back}");
    }
}
