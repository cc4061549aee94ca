//! The regression check: compares a new measurement with an old one, metric by metric, and gives a verdict that a program can act
//! on.
//!
//! It reads recorded runs and nothing else. Whether both sides were measured in one run or in two decides how they are compared
//! ([`Basis`]); the result of each comparison is a [`Finding`].

mod case;
mod ceiling;
mod comparison;
mod conditions;
mod failures;
mod finding;
mod instructions;
mod junit;
mod limit;
mod metric;
mod noise;
mod pages;
mod question;
mod row;
mod side;

pub use comparison::{Comparison, Incomparable};
pub use conditions::differences;
pub use finding::{Finding, Tally};
pub use instructions::{CpuBeside, FunctionChange, InstructionDetails};
pub use junit::junit;
pub use metric::{Metric, UnknownMetric};
pub use noise::Noise;
pub use pages::{markdown, page, result, terminal, with_verdict};
pub use question::{Question, Sessions, ThresholdError, Thresholds};
pub use row::{Basis, Case, Change, MetricRow, What};
pub use side::{Named, Side};
