//! What rounds of measurements say: medians with honest intervals, ratios, and rank bands.
//!
//! Pure arithmetic on slices of numbers; it knows nothing of servers or loads.
#![forbid(unsafe_code)]

mod band;
mod estimate;
mod ratio;

pub use band::rank_bands;
pub use estimate::{Estimate, TARGET_COVERAGE, median};
pub use ratio::{paired_ratio, ratio_of_medians};
