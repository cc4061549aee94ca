//! The regression gate: what a new measurement says beside an old one, metric by metric, with a verdict that a
//! program can act on.
//!
//! It reads recorded runs and nothing else. How a comparison came about, in one run or in two, decides how it is
//! made ([`Basis`]); what it says is a [`Finding`].
#![forbid(unsafe_code)]

mod case;
mod ceiling;
mod comparer;
mod comparison;
mod conditions;
mod failures;
mod finding;
mod limit;
mod markdown;
mod metric;
mod noise;
mod rounds;
mod row;
mod side;
mod terminal;
mod text;
mod threshold;

pub use comparison::{Comparison, Incomparable, Question, Sessions};
pub use finding::{Finding, Tally};
pub use markdown::markdown;
pub use metric::{Metric, UnknownMetric};
pub use noise::Noise;
pub use row::{Basis, Case, Change, Row, What};
pub use side::{Named, Side};
pub use terminal::terminal;
pub use threshold::{ThresholdError, Thresholds};
