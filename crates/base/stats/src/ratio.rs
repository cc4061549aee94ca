//! The ratio of two figures, with its interval; and when it is precise enough.

use std::collections::BTreeMap;

use crate::shift::{self, Shift};

/// The ratio of a value to a baseline, with its interval.
///
/// It is estimated on logarithms, so that twice as fast and half as fast are equally far from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio: 1.05 if the value is 5 % above the baseline.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end of its 95 % interval.
    pub high: f64,
    /// The two-sided p-value: the chance of data at least this far from a ratio of 1 if it is 1. It is below 0.05 exactly
    /// if the interval excludes 1.
    pub p: f64,
    /// The number of rounds behind it: pairs, or the values of the side that has fewer.
    pub n: usize,
}

impl Ratio {
    /// From rounds in which both were measured, so that drift from round to round cancels out. Each pair is
    /// `(value, baseline)`. `None` for fewer than two pairs, or if a value is not a positive number.
    pub fn paired(pairs: &[(f64, f64)]) -> Option<Ratio> {
        let logs: Option<Vec<f64>> = pairs
            .iter()
            .map(|&(value, baseline)| Some(log(value)? - log(baseline)?))
            .collect();
        Some(Ratio::of(shift::paired(&logs?)?))
    }

    /// From two sessions that share no rounds.
    pub fn unpaired(values: &[f64], baseline: &[f64]) -> Option<Ratio> {
        let logs =
            |values: &[f64]| -> Option<Vec<f64>> { values.iter().copied().map(log).collect() };
        Some(Ratio::of(shift::unpaired(
            &logs(values)?,
            &logs(baseline)?,
        )?))
    }

    /// The ratio of the baseline to the value.
    pub(crate) fn inverse(self) -> Ratio {
        Ratio {
            ratio: 1.0 / self.ratio,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            ..self
        }
    }

    /// Half the interval's width as a share of its middle: 0.03 for ±3 %.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).sqrt() - 1.0
    }

    fn of(shift: Shift) -> Ratio {
        Ratio {
            ratio: shift.center.exp(),
            low: shift.low.exp(),
            high: shift.high.exp(),
            p: shift.p,
            n: shift.n,
        }
    }
}

/// The pairs of values from the rounds that both have, in the order of the rounds.
pub fn common_rounds(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Vec<(f64, f64)> {
    one.iter()
        .filter_map(|(round, &value)| Some((value, *other.get(round)?)))
        .collect()
}

fn log(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.ln())
}

/// The least number of rounds that a verdict on times needs, not counting those that were noisy in every attempt: from six
/// rounds on an interval is distribution-free.
pub const LEAST_VERDICT_ROUNDS: usize = 6;

/// The least number of rounds before a narrow interval may end the measuring.
///
/// Stopping as soon as an interval is narrow stops too early if the first rounds happen to lie close together; such
/// intervals contain the truth less often than they claim. Simulated with a look after every round and a single
/// comparison: starting at 6 rounds, at worst 92 of 100 such intervals contain it; starting at 12, 93 to 95. With four
/// comparisons at once, the widest of which decides, 95 do. Looking less often, or asking for more than the precision,
/// costs half as many rounds again and gains less than 1.
pub const LEAST_ROUNDS: usize = 12;

/// Whether every ratio is precise enough: its interval is within ±`precision` (a share: 0.03 for ±3 %), and it
/// has at least [`LEAST_ROUNDS`]. True if there are no ratios. May be called after every round.
pub fn enough(ratios: &[Ratio], precision: f64) -> bool {
    enough_after(LEAST_ROUNDS, ratios, precision)
}

/// The same with another least number of rounds.
pub fn enough_after(least: usize, ratios: &[Ratio], precision: f64) -> bool {
    ratios
        .iter()
        .all(|ratio| ratio.n >= least && ratio.half_width() <= precision)
}

#[cfg(test)]
mod tests;
