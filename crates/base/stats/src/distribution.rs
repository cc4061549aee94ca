//! The distributions behind intervals and tests: Student's t, and rank statistics if there is no difference.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erfc;

/// The chance that a 95 % interval misses the true value.
pub(crate) const MISS: f64 = 0.05;

/// The smallest p-value reported; the data cannot support a smaller one.
pub(crate) const LEAST_P: f64 = 1e-12;

/// How many standard errors an interval must reach to miss with the chance `miss` (Student's distribution).
pub(crate) fn student_reach(miss: f64, freedom: f64) -> f64 {
    // The distribution exists for every positive number of degrees of freedom.
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::INFINITY, |student| -student.inverse_cdf(miss / 2.0))
}

/// The chance that an interval of `reach` standard errors misses (Student's distribution).
pub(crate) fn student_miss(reach: f64, freedom: f64) -> f64 {
    if reach.is_finite() {
        StudentsT::new(0.0, 1.0, freedom)
            .map_or(1.0, |student| (2.0 * student.cdf(-reach)).min(1.0))
    } else {
        0.0
    }
}

/// Up to this many pairs all ways are counted. Beyond it the normal approximation is within 3 % of them, even for a
/// chance of 0.0001.
const COUNTED_PAIRS: usize = 60;

/// Likewise for two samples, counted in steps: about 50 values of each.
const COUNTED_STEPS: usize = 150_000;

/// Wilcoxon's signed-rank statistic of `n` differences: for each value in the lower half, the chance of at most that
/// value if there is no difference. The upper half mirrors it.
pub(crate) fn signed_rank(n: usize) -> Vec<f64> {
    let values = n * (n + 1) / 2;
    if n <= COUNTED_PAIRS {
        return at_most(
            signed_rank_counts(n),
            (n as f64 * -std::f64::consts::LN_2).exp(),
        );
    }
    let (k, mean) = (n as f64, values as f64 / 2.0);
    let variance = k * (k + 1.0) * (2.0 * k + 1.0) / 24.0;
    // The fourth cumulant of a sum of independent signs with weights 1 to n is -Σ r⁴ / 8.
    let fourth = k * (k + 1.0) * (2.0 * k + 1.0) * (3.0 * k * k + 3.0 * k - 1.0) / 30.0;
    approximately(values, mean, variance, -fourth / 8.0)
}

/// The same for the Mann-Whitney statistic of samples of `n` and `m` values.
pub(crate) fn rank_sum(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    let values = n * m;
    if n * values <= COUNTED_STEPS {
        let counts = rank_sum_counts(n, m);
        return at_most(counts, 1.0 / ways_to_choose(n, n + m));
    }
    let (a, b) = (n as f64, m as f64);
    let variance = a * b * (a + b + 1.0) / 12.0;
    let fourth = -a * b * (a + b + 1.0) * (a * a + b * b + a * b + a + b) / 120.0;
    approximately(values, a * b / 2.0, variance, fourth)
}

/// How many values from 0 to `largest` the lower half has, including the middle one.
fn lower_half(largest: usize) -> usize {
    (largest - 1) / 2 + 1
}

fn at_most(counts: Vec<f64>, chance_of_each: f64) -> Vec<f64> {
    let mut sum = 0.0;
    counts
        .into_iter()
        .map(|count| {
            sum += count;
            (sum * chance_of_each).min(0.5)
        })
        .collect()
}

/// The normal approximation with a continuity correction and Edgeworth's correction for kurtosis.
fn approximately(largest: usize, mean: f64, variance: f64, fourth_cumulant: f64) -> Vec<f64> {
    let excess = fourth_cumulant / (variance * variance);
    let mut least = 0.0_f64;
    (0..lower_half(largest))
        .map(|value| {
            let z = (value as f64 + 0.5 - mean) / variance.sqrt();
            let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let chance = erfc(-z / std::f64::consts::SQRT_2) / 2.0
                - density * excess / 24.0 * (z * z * z - 3.0 * z);
            // In the far tail the correction may exceed what it corrects.
            least = chance.clamp(least.max(f64::MIN_POSITIVE), 0.5);
            least
        })
        .collect()
}

/// The number of ways in which `n` signed ranks give each sum of positive ranks: the lower half.
fn signed_rank_counts(n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; lower_half(n * (n + 1) / 2)];
    counts[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

/// The number of ways to interleave `n` and `m` values, by the number of pairs in which the first is the greater: the
/// lower half. They are the coefficients of Π (1 - qᵐ⁺ⁱ) / (1 - qⁱ) for i from 1 to n.
fn rank_sum_counts(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; lower_half(n * m)];
    counts[0] = 1.0;
    for i in 1..=n {
        for pairs in (m + i..counts.len()).rev() {
            counts[pairs] -= counts[pairs - m - i];
        }
        for pairs in i..counts.len() {
            counts[pairs] += counts[pairs - i];
        }
    }
    counts
}

fn ways_to_choose(some: usize, of: usize) -> f64 {
    (1..=some).fold(1.0, |ways, i| ways * (of - some + i) as f64 / i as f64)
}

#[cfg(test)]
mod tests;
