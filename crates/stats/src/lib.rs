//! What rounds of measurements say: medians and ratios with their intervals, rank bands, verdicts, and what a series
//! shows.
//!
//! Pure arithmetic on slices of numbers; it knows nothing of servers or loads.
#![forbid(unsafe_code)]

mod band;
mod bootstrap;
mod correction;
mod correlation;
mod draws;
mod estimate;
mod gamma;
mod moderated;
mod null;
mod order;
mod pairwise;
mod percentile;
mod ratio;
mod series;
mod shift;
#[cfg(test)]
mod simulated;
mod steady;
mod stopping;
mod student;
mod verdict;

pub use band::{Band, Competitor, Known, bands, stands};
pub use bootstrap::{BOOTSTRAP_DRAWS, bootstrap, bootstrap_of};
pub use correction::holm;
pub use correlation::spearman;
pub use draws::{binomial, goodness_of_fit, independence};
pub use estimate::{Estimate, TARGET_COVERAGE, median};
pub use order::Order;
pub use pairwise::{PairTest, compare, corrected};
pub use percentile::{LEAST_BEYOND, supports_percentile};
pub use ratio::{Ratio, common_rounds};
pub use series::{grows, knee, warm_up_rise};
pub use steady::{Course, Pace, Reading, Round, Warmth, improved, improves_over_rounds};
pub use stopping::{LEAST_ROUNDS, enough};
pub use verdict::{Better, Verdict, judge};
