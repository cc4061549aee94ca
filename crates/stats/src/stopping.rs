//! When enough rounds have been measured.

use crate::Ratio;

/// A comparison rests on at least so many rounds before its interval may end the measuring.
///
/// Rounds that are added until an interval is narrow end too early where the first of them happen to lie close
/// together, and an interval that is too narrow holds the truth less often than it says. Simulated, with a look after
/// every round and a single comparison: begun at 6 rounds, 92 of 100 such intervals hold it at the worst; begun at
/// 12, between 93 and 95. Of four comparisons at once, of which the widest ends it, 95 do. Looking less often, or
/// asking for more than the precision, costs half as many rounds again and gains less than 1.
pub const LEAST_ROUNDS: usize = 12;

/// Whether every comparison is as precise as asked: its interval's ends are within `precision` (a share, 0.03 for ±3
/// %) of its middle, and it rests on [`LEAST_ROUNDS`] or more. Where there is nothing to compare nothing is missing.
///
/// It may be asked after every round.
pub fn enough(ratios: &[Ratio], precision: f64) -> bool {
    ratios
        .iter()
        .all(|ratio| ratio.n >= LEAST_ROUNDS && ratio.half_width() <= precision)
}

#[cfg(test)]
#[path = "stopping_tests.rs"]
mod tests;
