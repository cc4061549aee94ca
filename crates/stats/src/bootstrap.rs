//! Intervals of what is no median of rounds, by drawing rounds again.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::student;

/// How many times [`bootstrap`] draws the rounds again. It asks its statistic as often, and once more for each round.
pub const BOOTSTRAP_DRAWS: usize = 2000;

/// With fewer the ends are hardly more than the outermost draws.
const FEWEST_DRAWS: usize = 200;

const MISS: f64 = 0.05;

/// The same draws for the same number of rounds, in every report.
const SEED: u64 = 0x0062_6f6f_7473;

/// The 95 % interval of a statistic of `rounds` rounds. It is asked with the indices of rounds that were drawn, with
/// repetitions. `None` for fewer than two rounds, or where the statistic has no value.
pub fn bootstrap(rounds: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<(f64, f64)> {
    bootstrap_of(rounds, BOOTSTRAP_DRAWS, statistic)
}

/// The same of another number of draws, 200 at the least: the fewer there are, the less certain the ends; of 400 the
/// coverage is that of 2000.
///
/// It is the wider of two intervals at each end. One is Efron's (1987), corrected for bias and acceleration (BCa):
/// the draws' own quantiles, moved by how far the statistic lies from their median and by how its spread changes with
/// its value. The draws of few rounds spread less than chance does, so the quantiles lie farther out, as Student's
/// are farther out than the normal distribution's (Hesterberg 2015). The other is Student's with the standard error
/// that leaving out one round after the other gives (the jackknife), of logarithms where all is positive: of fewer
/// than eight rounds the draws do not say enough.
///
/// Simulated for a p99 of merged rounds of 500 responses: it holds the truth in 93 to 97 of 100 cases from two rounds
/// on, as long as the rounds' own p99s differ by 10 % or less. Where they differ by 20 % it does in 91 to 94, where
/// by 30 % in 85 to 93; and where one round in ten is far worse than all others, no interval of ten rounds can know.
///
/// Draws in which the statistic has no value are left out; `None` where they are more than one in twenty.
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
    let reach = student::reach(MISS, freedom) * (rounds as f64 / freedom).sqrt();
    let low = quantile(&drawn, corrections.share(-reach));
    let high = quantile(&drawn, corrections.share(reach));
    let (lowest, highest) = jackknife(value, &without);
    Some((low.min(lowest), high.max(highest)))
}

/// Student's interval with the standard error that leaving out one round after the other gives: of logarithms, where
/// all is positive.
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
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|one| (one - mean).powi(2)).sum();
    student::reach(MISS, n - 1.0) * (squares * (n - 1.0) / n).sqrt()
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
    /// Which share of the draws lies below the end that would be so many standard errors out.
    fn share(&self, reach: f64) -> f64 {
        let moved = self.bias + reach;
        // Beyond it the correction has no meaning: the end is the outermost draw.
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

/// How fast the standard error changes with the value (a sixth of the skewness of what each round contributes).
fn acceleration(without: &[f64]) -> f64 {
    let mean = without.iter().sum::<f64>() / without.len() as f64;
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
#[path = "bootstrap_tests.rs"]
mod tests;
