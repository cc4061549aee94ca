//! Which of several are told apart, and how many rounds would tell more of them.

use crate::pairwise::{PairTest, compare, corrected};
use crate::{Band, Competitor, Known, stands};

/// The chance at which any two of a table may be placed wrongly.
const LEVEL: f64 = 0.05;

/// More rounds than this are no advice.
const MOST_ROUNDS: usize = 100;

/// The order of several, as far as their rounds tell it.
///
/// Every two are compared by their ratio within the rounds that they have in common, two at the least, with the noise that
/// the table shows as a whole. The comparisons are corrected for their number, so that the chance is at most
/// 5 % that any one is placed wrongly.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    known: Vec<Known>,
    pairs: Vec<PairTest>,
}

impl Order {
    /// Of these, larger values being better.
    pub fn of(competitors: &[Competitor]) -> Self {
        let rounds: Vec<_> = competitors.iter().map(|one| &one.rounds).collect();
        Self {
            known: competitors.iter().map(|one| one.known).collect(),
            pairs: corrected(compare(&rounds)),
        }
    }

    /// Which of two is better for certain; `None` if that is open.
    pub fn better(&self, one: usize, other: usize) -> Option<usize> {
        let pair = self.pair(one, other)?;
        self.is_told(pair).then_some(pair.larger)
    }

    /// Whether two were compared: they have two rounds in common at the least, and no value that is not positive.
    pub fn compares(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).is_some()
    }

    fn pair(&self, one: usize, other: usize) -> Option<&PairTest> {
        let mut pairs = self.pairs.iter();
        pairs.find(|pair| {
            (pair.larger, pair.smaller) == (one, other)
                || (pair.larger, pair.smaller) == (other, one)
        })
    }

    /// The band of each.
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

    /// How many pairs noise alone may keep from being told apart: not those of which a limit does.
    pub fn pairs(&self) -> usize {
        let count = self.known.len();
        let two = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        two.filter(|&(one, other)| self.known[one].is_exact() && self.known[other].is_exact())
            .count()
    }

    /// How many of these are told apart.
    pub fn told(&self) -> usize {
        self.free().filter(|pair| self.is_told(pair)).count()
    }

    /// By what factor two must differ for these rounds to tell them apart, with the noise of the middle pair; `None` if no
    /// two were compared.
    pub fn least_ratio(&self) -> Option<f64> {
        let level = LEVEL / self.pairs.len() as f64;
        let mut ratios: Vec<f64> = self.free().map(|pair| pair.least_ratio(level)).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }

    /// How many rounds would tell `wanted` of the pairs apart, if their ratios and their noise are what they seem; `None`
    /// if 100 would not.
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

impl Known {
    const fn is_exact(self) -> bool {
        matches!(self, Known::Exactly)
    }
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
