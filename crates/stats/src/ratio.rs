//! How one compares with another: ratios, with their intervals.

use std::collections::BTreeMap;

use crate::shift::{self, Shift};

/// A ratio of one to a baseline, with its interval.
///
/// It is taken of logarithms, so that twice as fast and half as fast are equally far from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio: 1.05 where the one is 5 % above the baseline.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end of its 95 % interval.
    pub high: f64,
    /// How probable data at least as far from a ratio of 1 are where it is 1: the two-sided p-value. It is
    /// below 0.05 exactly where the interval leaves 1 out.
    pub p: f64,
    /// How many rounds it rests on: pairs, or the values of the one that has fewer.
    pub n: usize,
}

impl Ratio {
    /// Of rounds in which both were measured, one after the other: what drifts from round to round
    /// cancels out. A pair is the one's value and the baseline's. `None` for fewer than two pairs, or
    /// where a value is not a positive number.
    pub fn paired(pairs: &[(f64, f64)]) -> Option<Ratio> {
        let logs: Option<Vec<f64>> = pairs
            .iter()
            .map(|&(value, baseline)| Some(log(value)? - log(baseline)?))
            .collect();
        Some(Ratio::of(shift::paired(&logs?)?))
    }

    /// Of two sessions that have no rounds in common.
    pub fn unpaired(values: &[f64], baseline: &[f64]) -> Option<Ratio> {
        let logs =
            |values: &[f64]| -> Option<Vec<f64>> { values.iter().copied().map(log).collect() };
        Some(Ratio::of(shift::unpaired(
            &logs(values)?,
            &logs(baseline)?,
        )?))
    }

    /// How far the interval's ends are from its middle, as a share of it: 0.03 for ±3 %.
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

/// The values of the rounds that both have, in the order of the rounds: the one's, then the other's.
pub fn common_rounds(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Vec<(f64, f64)> {
    one.iter()
        .filter_map(|(round, &value)| Some((value, *other.get(round)?)))
        .collect()
}

fn log(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.ln())
}

#[cfg(test)]
#[path = "ratio_tests.rs"]
mod tests;
