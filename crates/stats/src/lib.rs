//! What rounds of measurements say: medians with honest intervals, ratios, and ranks.
//!
//! Pure arithmetic on slices of numbers; it knows nothing of servers or loads.
#![forbid(unsafe_code)]

mod estimate;
mod rank;
mod ratio;

pub use estimate::{Estimate, TARGET_COVERAGE, median};
pub use rank::ranks;
pub use ratio::ratio_of_medians;
