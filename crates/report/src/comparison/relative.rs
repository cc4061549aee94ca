//! A figure as a ratio to another server's, within the rounds that both have.

use std::collections::BTreeMap;

use prony_stats::{Ratio, common_rounds};

/// A ratio to another server's figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// The ratio: 0.79 where it is 79 % of the other's.
    pub ratio: f64,
    /// Its 95 % interval; `None` for a single round.
    pub interval: Option<(f64, f64)>,
    /// The rounds that both have.
    pub rounds: usize,
}

impl Relative {
    /// Of two by round; `None` where they have no round in common, or a value is not positive.
    pub(super) fn of(own: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>) -> Option<Self> {
        let pairs = common_rounds(own, base);
        if let [(own, base)] = pairs[..] {
            let ratio = own / base;
            return (ratio.is_finite() && ratio > 0.0).then_some(Self {
                ratio,
                interval: None,
                rounds: 1,
            });
        }
        let ratio = Ratio::paired(&pairs)?;
        Some(Self {
            ratio: ratio.ratio,
            interval: Some((ratio.low, ratio.high)),
            rounds: ratio.n,
        })
    }
}
