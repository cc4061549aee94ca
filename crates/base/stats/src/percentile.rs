//! Percentiles of merged rounds: how many values they need, and their interval by bootstrap.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::distribution::{MISS, student_reach};
use crate::variance::{mean, squares};

/// The least number of values that must lie beyond a percentile for it to mean anything.
pub const LEAST_BEYOND: f64 = 10.0;

/// Whether `count` values support the percentile that a share `beyond` (0 to 1) of them exceeds: 0.01 for p99.
pub fn supports_percentile(count: u64, beyond: f64) -> bool {
    // 1 - 0.9 is slightly less than a tenth.
    count as f64 * beyond >= LEAST_BEYOND - 1e-9
}

/// How many times [`bootstrap`] resamples the rounds.
const BOOTSTRAP_DRAWS: usize = 2000;

/// With fewer draws the ends would be little more than the outermost draws.
const FEWEST_DRAWS: usize = 200;

/// Fixed, so that every report draws the same for the same number of rounds.
const SEED: u64 = 0x0062_6f6f_7473;

/// The 95 % interval of a statistic of `rounds` rounds. The statistic is called with the indices of the drawn rounds,
/// with repetitions: 2000 times, and once more for each round. `None` for fewer than two rounds, or if the statistic has
/// no value.
pub fn bootstrap(rounds: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<(f64, f64)> {
    bootstrap_of(rounds, BOOTSTRAP_DRAWS, statistic)
}

/// The same with another number of draws, at least 200. Fewer draws make the ends less certain; 400 have the coverage of
/// 2000.
///
/// Each end is the wider one of two intervals. The first is Efron's (1987), corrected for bias and acceleration (BCa):
/// quantiles of the draws, moved by how far the statistic lies from their median and by how its spread changes with its
/// value. The draws of a few rounds spread too little, so the quantiles lie farther out by the ratio of Student's to
/// the normal distribution (Hesterberg 2015). The second is Student's with the standard error of the jackknife (leaving
/// out one round at a time), on logarithms if all values are positive: with fewer than eight rounds the draws say too
/// little.
///
/// Simulated for a p99 of merged rounds of 500 responses: from two rounds on it contains the truth in 93 to 97 of 100
/// cases, as long as the rounds' own p99s differ by 10 % or less. If they differ by 20 %, in 91 to 94; by 30 %, in 85 to
/// 93; and if one round in ten is far worse than all others, no interval of ten rounds can know.
///
/// Draws for which the statistic has no value are left out; `None` if they are more than one in twenty.
pub fn bootstrap_of(
    rounds: usize,
    draws: usize,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Option<(f64, f64)> {
    if rounds < 2 {
        return None;
    }
    let finite = |drawn: &[usize]| statistic(drawn).filter(|value| value.is_finite());
    let all: Vec<usize> = (0..rounds).collect();
    let value = finite(&all)?;
    let without: Vec<f64> = (0..rounds)
        .map(|left_out| {
            let others: Vec<usize> = all.iter().copied().filter(|&i| i != left_out).collect();
            finite(&others)
        })
        .collect::<Option<_>>()?;
    let drawn = drawn_values(rounds, draws.max(FEWEST_DRAWS), finite)?;
    let corrections = Corrections {
        bias: bias(&drawn, value),
        acceleration: acceleration(&without),
    };
    let freedom = rounds as f64 - 1.0;
    let reach = student_reach(MISS, freedom) * (rounds as f64 / freedom).sqrt();
    let low = quantile(&drawn, corrections.share(-reach));
    let high = quantile(&drawn, corrections.share(reach));
    let (lowest, highest) = jackknife(value, &without);
    Some((low.min(lowest), high.max(highest)))
}

/// Student's interval with the jackknife's standard error: on logarithms if all values are positive.
fn jackknife(value: f64, without: &[f64]) -> (f64, f64) {
    if value > 0.0 && without.iter().all(|one| *one > 0.0) {
        let logs: Vec<f64> = without.iter().map(|one| one.ln()).collect();
        let by = jackknife_reach(&logs).exp();
        return (value / by, (value * by).min(f64::MAX));
    }
    let by = jackknife_reach(without);
    (value - by, value + by)
}

fn jackknife_reach(without: &[f64]) -> f64 {
    let n = without.len() as f64;
    student_reach(MISS, n - 1.0) * (squares(without) * (n - 1.0) / n).sqrt()
}

/// The statistic of each draw, ascending.
fn drawn_values(
    rounds: usize,
    draws: usize,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Option<Vec<f64>> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut drawn = vec![0; rounds];
    let mut values: Vec<f64> = (0..draws)
        .filter_map(|_| {
            drawn.fill_with(|| random.usize(..rounds));
            statistic(&drawn)
        })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    (values.len() * 20 >= draws * 19).then_some(values)
}

struct Corrections {
    bias: f64,
    acceleration: f64,
}

impl Corrections {
    /// The share of draws below an interval end that is `reach` standard errors from the value.
    fn share(&self, reach: f64) -> f64 {
        let moved = self.bias + reach;
        // Below this the correction has no meaning, and the end is the outermost draw.
        let shrink = (1.0 - self.acceleration * moved).max(0.01);
        Normal::standard().cdf(self.bias + moved / shrink)
    }
}

/// How far the value lies from the median of the draws, in standard errors.
fn bias(drawn: &[f64], value: f64) -> f64 {
    let below = drawn.partition_point(|&other| other < value) as f64;
    let equal = drawn.partition_point(|&other| other <= value) as f64 - below;
    let share = (below + equal / 2.0 + 0.5) / (drawn.len() as f64 + 1.0);
    Normal::standard().inverse_cdf(share)
}

/// How fast the standard error changes with the value (a sixth of the skewness of the rounds' contributions).
fn acceleration(without: &[f64]) -> f64 {
    let mean = mean(without);
    let sum = |power: i32| -> f64 { without.iter().map(|one| (mean - one).powi(power)).sum() };
    match sum(2) {
        squares if squares > 0.0 => sum(3) / (6.0 * squares.powf(1.5)),
        _ => 0.0,
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * (sorted.len() as f64 + 1.0) - 1.0).clamp(0.0, sorted.len() as f64 - 1.0);
    let below = place.floor();
    let (one, next) = (sorted[below as usize], sorted[place.ceil() as usize]);
    one + (next - one) * (place - below)
}

#[cfg(test)]
mod tests;
