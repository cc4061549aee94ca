//! Every pair of several competitors, compared within the rounds that both have; and the correction for many comparisons.

use std::collections::BTreeMap;

use crate::distribution::{LEAST_P, MISS, student_miss, student_reach};
use crate::ratio::{Ratio, common_rounds};
use crate::variance::{Prior, Variance};

/// A pair, and how certainly the two differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairTest {
    /// The index of the one with the larger values.
    pub(crate) larger: usize,
    /// The index of the other.
    pub(crate) smaller: usize,
    /// The ratio of the larger to the smaller one, of this pair alone: at least 1.
    pub(crate) ratio: Ratio,
    /// The two-sided p-value with the noise of the whole table: the chance of a ratio at least this far from 1 if they are
    /// equal.
    pub(crate) p: f64,
    /// The variance of the logarithm of their ratio in a round.
    noise: Variance,
}

/// Compares every pair by its values in each round. Pairs that share fewer than two rounds, or have a value there that
/// is not positive, are left out.
///
/// The ratio of a pair is that of [`Ratio::paired`], as everywhere else, and its noise is the variance with which Student's
/// interval would end where this ratio's does, on the side of 1: so one round far off hardly changes either, and two rows
/// alone are told apart exactly if the interval excludes 1. A few rounds estimate a variance badly, but a table has many
/// pairs: each variance is moved towards the common one, the more so the more alike the pairs are (Smyth 2004), but never
/// below its own; Student's test then has the degrees of freedom of both. The common variance counts at most as much as
/// the pair's own rounds, and less in a table of three or four rows, which cannot show whether one row is noisier than the
/// others.
pub(crate) fn compare(rounds: &[&BTreeMap<u32, f64>]) -> Vec<PairTest> {
    let own: Vec<PairTest> = (0..rounds.len())
        .flat_map(|one| (one + 1..rounds.len()).map(move |other| (one, other)))
        .filter_map(|(one, other)| PairTest::of(one, other, rounds))
        .collect();
    let variances: Vec<Variance> = own.iter().map(|pair| pair.noise).collect();
    let prior = Prior::of(&variances, dependence(rounds.len()));
    let share = most_weight(rounds.len());
    own.into_iter()
        .map(|pair| {
            let moderated = |prior: Prior| prior.moderate(pair.noise, share * pair.noise.freedom);
            let noise = prior.map_or(pair.noise, moderated);
            pair.with_noise(noise)
        })
        .collect()
}

/// The pairs with p-values corrected for their number.
pub(crate) fn corrected(pairs: Vec<PairTest>) -> Vec<PairTest> {
    let p_values: Vec<f64> = pairs.iter().map(|pair| pair.p).collect();
    let corrected = pairs.into_iter().zip(holm(&p_values));
    corrected.map(|(pair, p)| PairTest { p, ..pair }).collect()
}

impl PairTest {
    /// The pair with its own noise alone.
    fn of(one: usize, other: usize, rounds: &[&BTreeMap<u32, f64>]) -> Option<Self> {
        let paired = Ratio::paired(&common_rounds(rounds[one], rounds[other]))?;
        let is_larger = paired.ratio > 1.0;
        let (larger, smaller) = if is_larger {
            (one, other)
        } else {
            (other, one)
        };
        let ratio = if is_larger { paired } else { paired.inverse() };
        let freedom = ratio.n as f64 - 1.0;
        let error = (ratio.ratio / ratio.low).ln() / student_reach(MISS, freedom);
        Some(Self {
            larger,
            smaller,
            ratio,
            p: ratio.p,
            noise: Variance {
                value: ratio.n as f64 * error * error,
                freedom,
            },
        })
    }

    fn with_noise(self, noise: Variance) -> Self {
        Self {
            p: p_value(self.ratio.ratio, noise, self.ratio.n),
            noise,
            ..self
        }
    }

    /// The p-value that this ratio would have with this noise and another number of rounds.
    pub(crate) fn p_in(&self, rounds: usize) -> f64 {
        let noise = Variance {
            freedom: self.noise.freedom * (rounds as f64 - 1.0) / (self.ratio.n as f64 - 1.0),
            ..self.noise
        };
        p_value(self.ratio.ratio, noise, rounds)
    }

    /// The smallest ratio that has a p-value below `level` with this noise and these rounds.
    pub(crate) fn least_ratio(&self, level: f64) -> f64 {
        let error = (self.noise.value / self.ratio.n as f64).sqrt();
        (student_reach(level, self.noise.freedom) * error).exp()
    }
}

fn p_value(ratio: f64, noise: Variance, rounds: usize) -> f64 {
    if ratio == 1.0 {
        return 1.0;
    }
    let error = (noise.value / rounds as f64).sqrt();
    student_miss(ratio.ln() / error, noise.freedom).max(LEAST_P)
}

/// The mean correlation of the log variances of two pairs: 1/4 for pairs that share a competitor, else 0.
fn dependence(count: usize) -> f64 {
    let count = count as f64;
    let pairs = count * (count - 1.0) / 2.0;
    if pairs > 1.0 {
        (count - 2.0) / 2.0 / (pairs - 1.0)
    } else {
        0.0
    }
}

/// How much the common variance may count, as a share of the pair's own rounds.
fn most_weight(rows: usize) -> f64 {
    ((rows as f64 - 2.0) / 3.0).clamp(0.0, 1.0)
}

/// The p-values corrected for their number (Holm 1979), in the order given: if every one below 0.05 is called a
/// difference, the chance of any wrong call is at most 5 %, however they depend on each other.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        highest = highest.max((p_values[index] * left).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests;
