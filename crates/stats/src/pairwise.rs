//! Every two of several compared within the rounds that they have in common.

use std::collections::BTreeMap;

use crate::moderated::{Prior, Variance};
use crate::{common_rounds, holm, student};

/// Two of several, and how certainly they differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairTest {
    /// The place of the one that has the larger values.
    pub larger: usize,
    /// The place of the other.
    pub smaller: usize,
    /// The geometric mean of their ratios within rounds: 1 or more.
    pub ratio: f64,
    /// How probable a ratio at least as far from 1 is if they are alike (two-sided).
    pub p: f64,
    /// The rounds that both have.
    pub rounds: usize,
    /// The variance of the logarithm of their ratio in a round, and how well it is known.
    pub(crate) noise: Variance,
}

/// The least p-value that is told: what is rarer is not known to be so.
const LEAST_P: f64 = 1e-12;

/// Compares every two of several by their values in each round. Those that have fewer than two rounds in common, or a
/// value that is not positive there, are left out.
///
/// A pair's noise is the variance of its log ratios. A few rounds tell it badly, but a table has many pairs: each
/// variance is drawn towards the common one by as much as the pairs are alike (Smyth 2004), but never below its own, and
/// Student's test has the degrees of freedom of both. The common one counts at most as much as the pair's own rounds, and
/// less in a table of three or four rows, which does not tell whether one row is noisier than the others.
pub fn compare(rounds: &[&BTreeMap<u32, f64>]) -> Vec<PairTest> {
    let own: Vec<Own> = (0..rounds.len())
        .flat_map(|one| (one + 1..rounds.len()).map(move |other| (one, other)))
        .filter_map(|(one, other)| Own::of(one, other, rounds))
        .collect();
    let variances: Vec<Variance> = own.iter().map(|pair| pair.noise).collect();
    let prior = Prior::of(&variances, dependence(rounds.len()));
    let share = most_weight(rounds.len());
    own.into_iter()
        .map(|pair| {
            let moderated = |prior: Prior| prior.moderate(pair.noise, share * pair.noise.freedom);
            let noise = prior.map_or(pair.noise, moderated);
            pair.test(noise)
        })
        .collect()
}

/// Pairs with p-values that are corrected for their number (Holm 1979).
pub fn corrected(pairs: Vec<PairTest>) -> Vec<PairTest> {
    let p_values: Vec<f64> = pairs.iter().map(|pair| pair.p).collect();
    let corrected = pairs.into_iter().zip(holm(&p_values));
    corrected.map(|(pair, p)| PairTest { p, ..pair }).collect()
}

/// A pair by itself.
struct Own {
    one: usize,
    other: usize,
    /// The mean of the log ratios.
    mean: f64,
    noise: Variance,
    rounds: usize,
}

impl Own {
    fn of(one: usize, other: usize, rounds: &[&BTreeMap<u32, f64>]) -> Option<Self> {
        let logs: Vec<f64> = common_rounds(rounds[one], rounds[other])
            .into_iter()
            .map(|(a, b)| (a / b).ln())
            .collect();
        if logs.len() < 2 || logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Some(Self {
            one,
            other,
            mean,
            noise: Variance {
                value: squares / (count - 1.0),
                freedom: count - 1.0,
            },
            rounds: logs.len(),
        })
    }

    fn test(self, noise: Variance) -> PairTest {
        let (larger, smaller) = match self.mean > 0.0 {
            true => (self.one, self.other),
            false => (self.other, self.one),
        };
        PairTest {
            larger,
            smaller,
            ratio: self.mean.abs().exp(),
            p: p_value(self.mean.abs(), noise, self.rounds),
            rounds: self.rounds,
            noise,
        }
    }
}

impl PairTest {
    /// The p-value that this ratio would have with this noise in another number of rounds.
    pub(crate) fn p_in(&self, rounds: usize) -> f64 {
        let noise = Variance {
            freedom: self.noise.freedom * (rounds as f64 - 1.0) / (self.rounds as f64 - 1.0),
            ..self.noise
        };
        p_value(self.ratio.ln(), noise, rounds)
    }

    /// The least ratio that has a p-value below `level` with this noise and these rounds.
    pub(crate) fn least_ratio(&self, level: f64) -> f64 {
        let error = (self.noise.value / self.rounds as f64).sqrt();
        (student::reach(level, self.noise.freedom) * error).exp()
    }
}

fn p_value(mean: f64, noise: Variance, rounds: usize) -> f64 {
    if mean == 0.0 {
        return 1.0;
    }
    let error = (noise.value / rounds as f64).sqrt();
    student::miss(mean / error, noise.freedom).max(LEAST_P)
}

/// The mean correlation of two pairs' log variances: 1/4 if they share one of their two, else 0.
fn dependence(count: usize) -> f64 {
    let count = count as f64;
    let pairs = count * (count - 1.0) / 2.0;
    match pairs > 1.0 {
        true => (count - 2.0) / 2.0 / (pairs - 1.0),
        false => 0.0,
    }
}

/// How much the common variance may count, as a share of a pair's own rounds.
fn most_weight(rows: usize) -> f64 {
    ((rows as f64 - 2.0) / 3.0).clamp(0.0, 1.0)
}

#[cfg(test)]
#[path = "pairwise_tests.rs"]
mod tests;
