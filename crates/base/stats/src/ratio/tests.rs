use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

#[test]
fn drift_that_both_have_cancels_out() {
    // The machine slows down by half over the run, the ratio stays within 1 %.
    let pairs: Vec<(f64, f64)> = (0..10)
        .map(|round| {
            let machine = 1000.0 * (1.0 - 0.05 * f64::from(round));
            (machine * (1.05 + 0.002 * f64::from(round % 3)), machine)
        })
        .collect();
    let ratio = Ratio::paired(&pairs).unwrap();
    assert!(ratio.low > 1.049 && ratio.high < 1.055, "{ratio:?}");
    let (values, baseline): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let unpaired = Ratio::unpaired(&values, &baseline).unwrap();
    assert!(
        unpaired.low < 1.0 && 1.0 < unpaired.high && unpaired.p > 0.05,
        "{unpaired:?}"
    );
}

#[test]
fn values_without_a_logarithm_have_no_ratio() {
    assert_eq!(Ratio::paired(&[(1.0, 2.0)]), None);
    assert_eq!(Ratio::paired(&[(1.0, 2.0), (0.0, 2.0)]), None);
    assert_eq!(Ratio::paired(&[(1.0, 2.0), (1.0, f64::NAN)]), None);
    assert_eq!(Ratio::unpaired(&[1.0, 2.0], &[1.0]), None);
    assert_eq!(Ratio::unpaired(&[1.0, 2.0], &[-1.0, 1.0]), None);
}

#[test]
fn intervals_of_ratios_have_about_their_nominal_coverage() {
    for noise in Noise::ALL {
        for n in [2, 3, 5, 8, 15] {
            let mut random = fastrand::Rng::with_seed(n as u64);
            let mut rounds = || -> Vec<(f64, f64)> {
                (0..n)
                    .map(|_| noise.pair(0.97, 0.04, &mut random))
                    .collect()
            };
            let holds = |ratio: Ratio| ratio.low <= 0.97 && 0.97 <= ratio.high;
            let paired = share(1500, || holds(Ratio::paired(&rounds()).unwrap()));
            let unpaired = share(1500, || {
                let (values, baseline): (Vec<f64>, Vec<f64>) = rounds().into_iter().unzip();
                holds(Ratio::unpaired(&values, &baseline).unwrap())
            });
            assert!((0.925..0.98).contains(&paired), "{noise:?} {n}: {paired}");
            let least = if n < 4 { 0.91 } else { 0.925 };
            assert!(
                (least..0.98).contains(&unpaired),
                "{noise:?} {n}: {unpaired}"
            );
        }
    }
}

proptest! {
    #[test]
    fn with_the_sides_swapped_the_ratio_is_the_inverse(
        pairs in prop::collection::vec((1f64..100.0, 1f64..100.0), 2..20),
        unit in 0.01f64..100.0,
    ) {
        let turned: Vec<(f64, f64)> = pairs.iter().rev().map(|&(a, b)| (b * unit, a * unit)).collect();
        let (one, other) = (Ratio::paired(&pairs).unwrap(), Ratio::paired(&turned).unwrap());
        for (one, other) in [(one.ratio, other.ratio), (one.low, other.high), (one.high, other.low)] {
            prop_assert!((one * other - 1.0).abs() < 1e-6, "{one} {other}");
        }
        prop_assert!((one.half_width() / other.half_width() - 1.0).abs() < 1e-6 || one.half_width() < 1e-9);
        prop_assert!((one.p - other.p).abs() < 1e-9);
        prop_assert_eq!(one.n, pairs.len());
    }
}

fn rounds(noise: Noise, sigma: f64, n: usize, random: &mut fastrand::Rng) -> Vec<(f64, f64)> {
    (0..n).map(|_| noise.pair(1.0, sigma, random)).collect()
}

#[test]
fn quiet_rounds_are_enough_at_the_minimum_and_not_before() {
    let mut random = fastrand::Rng::with_seed(1);
    let pairs = rounds(Noise::Normal, 0.001, LEAST_ROUNDS, &mut random);
    let ratio = |pairs: &[(f64, f64)]| Ratio::paired(pairs).unwrap();
    assert!(enough(&[ratio(&pairs)], 0.03));
    assert!(!enough(&[ratio(&pairs[1..])], 0.03));
    let noisy = ratio(&rounds(Noise::Normal, 0.2, LEAST_ROUNDS, &mut random));
    assert!(
        !enough(&[ratio(&pairs), noisy], 0.03),
        "one is wider than asked"
    );
    assert!(enough(&[], 0.03));
}

#[test]
fn an_interval_that_ended_the_measuring_contains_the_truth() {
    for (noise, sigma) in [
        (Noise::Normal, 0.02),
        (Noise::Normal, 0.04),
        (Noise::Contaminated, 0.05),
    ] {
        let mut random = fastrand::Rng::with_seed(2);
        let held = share(700, || {
            let mut pairs = rounds(noise, sigma, LEAST_ROUNDS, &mut random);
            loop {
                let ratio = Ratio::paired(&pairs).unwrap();
                if enough(&[ratio], 0.03) || pairs.len() == 100 {
                    break ratio.low <= 1.0 && 1.0 <= ratio.high;
                }
                pairs.push(noise.pair(1.0, sigma, &mut random));
            }
        });
        assert!((0.91..0.97).contains(&held), "{noise:?} {sigma}: {held}");
    }
}
