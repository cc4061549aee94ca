//! Rank bands: between which ranks each of several lies, as far as the data tell.

use std::collections::BTreeMap;

use crate::Order;

/// The ranks that one may have, 1 is the best. What the data cannot tell apart has ranks in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// 1, and one for each that is better for certain.
    pub best: usize,
    /// The number of all, less one for each that is worse for certain.
    pub worst: usize,
}

/// What a figure says of the one that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// How good it is.
    #[default]
    Exactly,
    /// How good it is at least: something else was the limit, and it may be better.
    AtLeast,
    /// Nothing: the figure is of something else.
    Nothing,
}

/// Whether it may be said that one is better than another for certain, if their figures say so: the one rule for
/// rankings, published orders and regression checks.
///
/// Whoever is better than it shows is still ahead of those that it leads. But nobody is ahead for certain of one that may
/// be better than it shows.
pub const fn stands(better: Known, worse: Known) -> bool {
    matches!(
        (better, worse),
        (Known::Exactly | Known::AtLeast, Known::Exactly)
    )
}

/// One of several that are ranked: larger values are better.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Competitor {
    /// Its value in each round that it was measured in.
    pub rounds: BTreeMap<u32, f64>,
    /// What these values say of it.
    pub known: Known,
}

/// The band of each, in the order given, as [`Order`] tells them apart.
pub fn bands(competitors: &[Competitor]) -> Vec<Band> {
    Order::of(competitors).bands()
}

#[cfg(test)]
#[path = "band_tests.rs"]
mod tests;
