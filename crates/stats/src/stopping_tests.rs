use super::*;
use crate::simulated::{Noise, share};

fn rounds(noise: Noise, sigma: f64, n: usize, random: &mut fastrand::Rng) -> Vec<(f64, f64)> {
    (0..n).map(|_| noise.pair(1.0, sigma, random)).collect()
}

#[test]
fn quiet_rounds_are_enough_at_the_least_number_and_not_before() {
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
fn an_interval_that_ended_the_measuring_holds_the_truth() {
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
