//! Intervals of a figure of one load, from the batches of time that it consists of.
//!
//! Responses that are close in time depend on each other: a stall delays hundreds of them. Batches that are long enough
//! hardly do (the method of batch means), so the scatter of the batches says how well the figure of all is known.

use crate::distribution::{MISS, student_reach};

/// With fewer batches than this there is no interval.
pub const LEAST_BATCHES: usize = 6;

/// How many standard errors a 95 % interval of the normal distribution reaches.
const REACH: f64 = 1.959_964;

/// A figure's 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The smallest interval that contains both.
    pub fn with(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// The interval of the ratio of two sums over batches, `Σ parts / Σ sizes`: a share, a mean or a rate. `None` if there are
/// fewer than [`LEAST_BATCHES`], or all sizes are 0.
///
/// The interval is that of the ratio estimator (Cochran 1977, section 6.3) with Student's distribution. Batches count
/// by their size.
pub fn ratio_of_sums(batches: &[(f64, f64)]) -> Option<Interval> {
    let count = batches.len() as f64;
    let (parts, sizes) = sums(batches);
    if batches.len() < LEAST_BATCHES || sizes <= 0.0 {
        return None;
    }
    let ratio = parts / sizes;
    let squares = batches.iter().map(|(part, size)| part - ratio * size);
    let squares: f64 = squares.map(|residual| residual * residual).sum();
    let error = (squares * count / (count - 1.0)).sqrt() / sizes;
    let reach = student_reach(MISS, count - 1.0) * error;
    Some(Interval {
        low: ratio - reach,
        high: ratio + reach,
    })
}

/// The interval of a share of which `count` of `all` independent cases were seen (Wilson 1927): it is from 0 to 1 if there
/// are none.
pub fn share_of(count: u64, all: u64) -> Interval {
    if all == 0 {
        return Interval {
            low: 0.0,
            high: 1.0,
        };
    }
    let (share, all) = (count as f64 / all as f64, all as f64);
    let square = REACH * REACH;
    let middle = share + square / (2.0 * all);
    let reach = REACH * (share * (1.0 - share) / all + square / (4.0 * all * all)).sqrt();
    let whole = 1.0 + square / all;
    Interval {
        low: ((middle - reach) / whole).max(0.0),
        high: ((middle + reach) / whole).min(1.0),
    }
}

/// How many independent cases, none of which counts, show that a share is below `limit` (0 to 1): with as many the interval
/// of [`share_of`] ends below it. `None` if no number does.
pub fn cases_to_show(limit: f64) -> Option<u64> {
    let least = REACH * REACH * (1.0 - limit) / limit;
    (limit > 0.0 && limit < 1.0).then_some((least as u64).saturating_add(1))
}

fn sums(batches: &[(f64, f64)]) -> (f64, f64) {
    let (mut parts, mut sizes) = (0.0, 0.0);
    for (part, size) in batches {
        parts += part;
        sizes += size;
    }
    (parts, sizes)
}

#[cfg(test)]
mod tests;
