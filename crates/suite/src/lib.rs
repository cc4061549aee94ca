//! What to measure and in which order: suites, workloads and their right answers, the interleaved
//! plan.
#![forbid(unsafe_code)]

mod adaptive;
mod answer;
mod message;
mod plan;
pub mod run;
mod suite;
mod toml_file;
mod unknown_name;
mod workload;

pub use adaptive::{AdaptiveRounds, NoPrecision, Precision};
pub use answer::{AssetError, RightAnswer};
pub use plan::{Measure, Plan, Planned};
pub use suite::{Changes, MeasureSpec, Suite, SuiteError, SuiteLoad, WARMUP_LIMIT};
pub use toml_file::FileError;
pub use unknown_name::UnknownName;
pub use workload::{ExpectedAnswer, ExpectedBody, Request, Workload, Workloads};
