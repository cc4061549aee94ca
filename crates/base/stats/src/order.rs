//! Ranks: which of several competitors the data tell apart, and how many rounds would tell more of them apart.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::pairwise::{PairTest, compare, corrected};
use crate::ratio::Ratio;

/// The ranks that a competitor may have; 1 is the best. Competitors that the data cannot tell apart share ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// 1, plus one for each competitor that is certainly better.
    pub best: usize,
    /// The number of competitors, less one for each that is certainly worse.
    pub worst: usize,
}

/// How much a figure says about the competitor that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// How good it is.
    #[default]
    Exactly,
    /// A lower bound: something else was the limit, so it may be better.
    AtLeast,
    /// Nothing: the figure belongs to something else.
    Nothing,
}

impl Known {
    const fn is_exact(self) -> bool {
        matches!(self, Known::Exactly)
    }
}

/// Whether one may be called certainly better than another if their figures say so: the one rule for rankings,
/// published orders and regression checks.
///
/// A lower bound can lead, but nothing is certainly ahead of a lower bound.
pub const fn stands(better: Known, worse: Known) -> bool {
    matches!(
        (better, worse),
        (Known::Exactly | Known::AtLeast, Known::Exactly)
    )
}

/// One of those that are ranked; larger values are better.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Competitor {
    /// Its value in each round in which it was measured.
    pub rounds: BTreeMap<u32, f64>,
    /// What these values say about it.
    pub known: Known,
}

/// What the rounds tell about one of two competitors beside the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// `Greater` if it is certainly better, `Less` if it is certainly worse, `Equal` if the data leave it open.
    pub told: Ordering,
    /// The ratio of its values to the other's within rounds, of this pair alone.
    pub ratio: Ratio,
}

impl Beside {
    /// The 95 % interval of the ratio; `None` if it excludes 1 although the data leave the order open, or the reverse: the
    /// order allows for the number of pairs and for lower bounds, and rests on the noise of the whole table.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let Ratio { low, high, .. } = self.ratio;
        let excludes_one = low > 1.0 || high < 1.0;
        (excludes_one == (self.told != Ordering::Equal)).then_some((low, high))
    }
}

/// The band of each competitor, in the order given.
pub fn bands(competitors: &[Competitor]) -> Vec<Band> {
    Order::of(competitors).bands()
}

/// The chance that any pair of a table is ordered wrongly.
const LEVEL: f64 = 0.05;

/// Advice to run more rounds than this is of no use.
const MOST_ROUNDS: usize = 100;

/// The order of several competitors, as far as their rounds show it.
///
/// Every pair is compared by its ratio within the rounds that both have (at least two), with the noise of the whole
/// table. The comparisons are corrected for their number: the chance of any wrong order is at most 5 %.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    known: Vec<Known>,
    pairs: Vec<PairTest>,
}

impl Order {
    /// Compares every pair; larger values are better.
    pub fn of(competitors: &[Competitor]) -> Self {
        let rounds: Vec<_> = competitors.iter().map(|one| &one.rounds).collect();
        Self {
            known: competitors.iter().map(|one| one.known).collect(),
            pairs: corrected(compare(&rounds)),
        }
    }

    /// Which of two is certainly better; `None` if the data leave it open.
    pub fn better(&self, one: usize, other: usize) -> Option<usize> {
        let pair = self.pair(one, other)?;
        self.is_told(pair).then_some(pair.larger)
    }

    /// Whether two were compared: they share at least two rounds, and all their values there are positive.
    pub fn compares(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).is_some()
    }

    /// What the rounds tell about one beside another; `None` if they were not compared (see [`Order::compares`]).
    pub fn beside(&self, one: usize, other: usize) -> Option<Beside> {
        let pair = self.pair(one, other)?;
        let (told, ratio) = if pair.larger == one {
            (Ordering::Greater, pair.ratio)
        } else {
            (Ordering::Less, pair.ratio.inverse())
        };
        let told = if self.is_told(pair) {
            told
        } else {
            Ordering::Equal
        };
        Some(Beside { told, ratio })
    }

    fn pair(&self, one: usize, other: usize) -> Option<&PairTest> {
        let mut pairs = self.pairs.iter();
        pairs.find(|pair| {
            (pair.larger, pair.smaller) == (one, other)
                || (pair.larger, pair.smaller) == (other, one)
        })
    }

    pub fn bands(&self) -> Vec<Band> {
        let count = self.known.len();
        let all = Band {
            best: 1,
            worst: count,
        };
        let mut bands = vec![all; count];
        for pair in self.pairs.iter().filter(|pair| self.is_told(pair)) {
            bands[pair.larger].worst -= 1;
            bands[pair.smaller].best += 1;
        }
        bands
    }

    /// How many pairs more rounds could tell apart: those in which both figures are exact.
    pub fn pairs(&self) -> usize {
        let count = self.known.len();
        let two = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        two.filter(|&(one, other)| self.known[one].is_exact() && self.known[other].is_exact())
            .count()
    }

    /// How many of these pairs are told apart.
    pub fn separated(&self) -> usize {
        self.free().filter(|pair| self.is_told(pair)).count()
    }

    /// The smallest ratio that these rounds can tell from 1, with the noise of the median pair; `None` if no pair was
    /// compared.
    pub fn least_ratio(&self) -> Option<f64> {
        let level = LEVEL / self.pairs.len() as f64;
        let mut ratios: Vec<f64> = self.free().map(|pair| pair.least_ratio(level)).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }

    /// How many rounds would tell `wanted` of the pairs apart, if their ratios and noise stay as measured; `None` if more
    /// than 100.
    pub fn rounds_for(&self, wanted: usize) -> Option<usize> {
        let level = LEVEL / self.pairs.len() as f64;
        let told = |rounds: usize| self.free().filter(|pair| pair.p_in(rounds) < level).count();
        (2..=MOST_ROUNDS).find(|&rounds| told(rounds) >= wanted)
    }

    fn free(&self) -> impl Iterator<Item = &PairTest> {
        let exact = |place: usize| self.known[place].is_exact();
        let pairs = self.pairs.iter();
        pairs.filter(move |pair| exact(pair.larger) && exact(pair.smaller))
    }

    fn is_told(&self, pair: &PairTest) -> bool {
        pair.p < LEVEL && stands(self.known[pair.larger], self.known[pair.smaller])
    }
}

#[cfg(test)]
mod tests;
