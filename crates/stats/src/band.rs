//! Rank bands: between which ranks each of several lies, as far as the data tell.

use std::collections::BTreeMap;

use crate::{Ratio, common_rounds, holm};

/// The ranks that one may have, 1 is the best. What the data cannot tell apart has ranks in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// 1, and one for each that is better for certain.
    pub best: usize,
    /// The number of all, less one for each that is worse for certain.
    pub worst: usize,
}

/// One of several that are ranked: larger values are better.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Competitor {
    /// Its value in each round that it was measured in.
    pub rounds: BTreeMap<u32, f64>,
    /// Its values are a limit of something else, below which it does not lie: it may be better than they say, so that
    /// nobody is better than it for certain.
    pub at_least: bool,
}

/// The band of each, in the order given.
///
/// Every two are compared by their ratio within the rounds that they have in common, two at the least. The
/// comparisons are corrected for their number, so that the chance is at most 5 % that any one is placed wrongly.
pub fn bands(competitors: &[Competitor]) -> Vec<Band> {
    let count = competitors.len();
    let compared: Vec<(usize, usize, Ratio)> = (0..count)
        .flat_map(|one| (one + 1..count).map(move |other| (one, other)))
        .filter_map(|(one, other)| {
            let common = common_rounds(&competitors[one].rounds, &competitors[other].rounds);
            Some((one, other, Ratio::paired(&common)?))
        })
        .collect();
    let p_values: Vec<f64> = compared.iter().map(|(.., ratio)| ratio.p).collect();
    let mut bands = vec![
        Band {
            best: 1,
            worst: count
        };
        count
    ];
    for ((one, other, ratio), p) in compared.into_iter().zip(holm(&p_values)) {
        if p >= 0.05 {
            continue;
        }
        let (better, worse) = match ratio.ratio > 1.0 {
            true => (one, other),
            false => (other, one),
        };
        if !competitors[worse].at_least {
            bands[better].worst -= 1;
            bands[worse].best += 1;
        }
    }
    bands
}

#[cfg(test)]
#[path = "band_tests.rs"]
mod tests;
