//! Random times between arrivals, and random numbers of arrivals in a given time.

use std::f64::consts::TAU;

/// A number from the exponential distribution with mean 1.
pub(in crate::engine) fn exponential(random: &mut fastrand::Rng) -> f64 {
    // 1 - [0, 1) is never 0, whose logarithm would be infinite.
    -(1.0 - random.f64()).ln()
}

/// One of many independent random sources of a seed.
pub(in crate::engine) fn source(seed: u64, number: u64) -> fastrand::Rng {
    // Neighbouring seeds must not give related numbers: each is hashed once (splitmix64's step).
    let mixed =
        (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    fastrand::Rng::with_seed(mixed ^ (mixed >> 27))
}

/// The rejection method applies from this mean on.
const LARGE: f64 = 10.0;

/// A number from the Poisson distribution with that mean, exact but for the rounding of logarithms. Takes about the
/// same time for any mean.
pub(super) fn poisson_count(random: &mut fastrand::Rng, mean: f64) -> u64 {
    if mean < LARGE {
        return walked(random, mean);
    }
    // Hörmann's transformed rejection, PTRS (Insurance: Mathematics and Economics 12, 1993).
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let accepted_at_once = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = random.f64() - 0.5;
        let v = 1.0 - random.f64();
        let us = 0.5 - u.abs();
        let count = ((2.0 * a / us + b) * u + mean + 0.43).floor();
        if us >= 0.07 && v <= accepted_at_once {
            return count as u64;
        }
        if count < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        if (v * inverse_alpha / (a / (us * us) + b)).ln() <= ln_probability(count, mean) {
            return count as u64;
        }
    }
}

/// The same, by adding up the times between arrivals.
fn walked(random: &mut fastrand::Rng, mean: f64) -> u64 {
    let (mut count, mut at) = (0, exponential(random));
    while at <= mean {
        count += 1;
        at += exponential(random);
    }
    count
}

/// The logarithm of the probability of `count`, a whole number.
///
/// Uses the deviance (Loader's saddle-point form): `count * ln(mean) - mean - ln(count!)` would lose all its digits for
/// a large mean.
fn ln_probability(count: f64, mean: f64) -> f64 {
    if count < 16.0 {
        let ln_factorial: f64 = (1..=count as u32).map(|i| f64::from(i).ln()).sum();
        return count * mean.ln() - mean - ln_factorial;
    }
    let x = (count - mean) / mean;
    let deviance = mean * ((1.0 + x) * x.ln_1p() - x);
    let c2 = count * count;
    let stirling = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * c2)) / c2) / count;
    -0.5 * (TAU * count).ln() - stirling - deviance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(mean: f64, count: usize) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(11);
        (0..count)
            .map(|_| poisson_count(&mut random, mean))
            .collect()
    }

    #[test]
    fn mean_and_variance_are_right_for_any_mean() {
        for mean in [0.5, 9.9, 10.0, 40.0, 1e4, 1e9, 1e13] {
            let drawn = draws(mean, 40_000);
            let n = drawn.len() as f64;
            let difference = drawn.iter().map(|&k| k as f64 - mean).sum::<f64>() / n;
            let squares = drawn.iter().map(|&k| (k as f64 - mean).powi(2));
            let variance = squares.sum::<f64>() / n;
            // Five standard errors.
            assert!(
                difference.abs() < 5.0 * (mean / n).sqrt(),
                "{mean}: off by {difference}"
            );
            let off = (variance / mean - 1.0).abs();
            assert!(off < 5.0 * ((2.0 + 1.0 / mean) / n).sqrt(), "{mean}: {off}");
        }
    }

    #[test]
    fn every_count_has_its_probability() {
        const DRAWS: usize = 200_000;
        for mean in [10.0, 30.0] {
            let drawn = draws(mean, DRAWS);
            let (mut chi_square, mut cells) = (0.0, 0);
            for k in 0..200_u64 {
                let expected = ln_probability(k as f64, mean).exp() * DRAWS as f64;
                if expected < 10.0 {
                    continue;
                }
                let observed = drawn.iter().filter(|&&it| it == k).count() as f64;
                chi_square += (observed - expected).powi(2) / expected;
                cells += 1;
            }
            // Its mean is the number of cells, and its variance twice that.
            let most = f64::from(cells) + 5.0 * (2.0 * f64::from(cells)).sqrt();
            assert!(
                cells > 20 && chi_square < most,
                "{mean}: {chi_square} of {cells}"
            );
        }
    }

    #[test]
    fn probabilities_add_up_to_one() {
        for mean in [10.0, 500.0] {
            let sum: f64 = (0..2000)
                .map(|k| ln_probability(f64::from(k), mean).exp())
                .sum();
            assert!((sum - 1.0).abs() < 1e-9, "{mean}: {sum}");
        }
    }
}
