//! What a user requires of a load, and whether a load met it.
//!
//! [`Objectives`] is the notation, on the command line and in files: `p99<50ms,errors<0.1%,rate>5k/s`. [`judge`] gives each
//! objective of a load its verdict.

mod figures;
mod judge;
mod objectives;
mod text;

pub use figures::LoadFigures;
pub use judge::{Evidence, Judged, Verdict, is_missed, judge, judge_rounds};
pub use objectives::{Limit, Objective, Objectives, Percentile, Statistic};
pub use text::{ObjectiveError, Problem};
