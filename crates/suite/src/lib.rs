//! What to measure and in which order: suites, workloads and their expected responses, the interleaved
//! plan.
#![forbid(unsafe_code)]

mod adaptive;
mod message;
mod plan;
mod response;
pub mod run;
mod suite;
mod toml_file;
mod unknown_name;
mod workload;

pub use adaptive::{AdaptiveRounds, NoPrecision, Precision};
pub use plan::{Measure, Plan, Planned};
pub use response::{AssetError, ExpectedResponse};
pub use suite::{Changes, MeasureSpec, Suite, SuiteError, SuiteLoad, WARMUP_LIMIT};
pub use toml_file::FileError;
pub use unknown_name::UnknownName;
pub use workload::{DeclaredResponse, ExpectedBody, Request, Workload, Workloads};
