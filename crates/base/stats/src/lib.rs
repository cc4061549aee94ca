//! What rounds of measurements say: medians and ratios with their intervals, ranks, verdicts, trends and warm-up.
//!
//! Pure arithmetic on slices of numbers; it does not depend on servers or loads.
#![forbid(unsafe_code)]

mod batches;
mod correlation;
mod distribution;
mod draws;
mod median;
mod order;
mod pairwise;
mod percentile;
mod ratio;
mod series;
mod shift;
#[cfg(test)]
mod simulated;
mod steady;
mod variance;
mod verdict;

pub use batches::{Interval, LEAST_BATCHES, cases_to_show, ratio_of_sums, share_of};
pub use correlation::{Correlation, spearman};
pub use draws::{binomial, goodness_of_fit, independence};
pub use median::{Estimate, TARGET_COVERAGE, median};
pub use order::{Band, Beside, Competitor, Known, Order, bands, stands};
pub use pairwise::holm;
pub use percentile::{LEAST_BEYOND, bootstrap, bootstrap_of, supports_percentile};
pub use ratio::{LEAST_ROUNDS, LEAST_VERDICT_ROUNDS, Ratio, common_rounds, enough, enough_after};
pub use series::{grows, knee, warm_up_rise};
pub use steady::{
    Course, LEAST_WARM_UP_S, Pace, Reading, Round, Warmth, improved, improves_over_rounds,
};
pub use variance::{mean, squares};
pub use verdict::{Better, Verdict, judge, judge_at};
