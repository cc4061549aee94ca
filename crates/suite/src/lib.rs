//! What to measure and in which order: suites, workloads and their right answers, the interleaved
//! plan.
#![forbid(unsafe_code)]

mod answer;
mod nearest;
mod plan;
pub mod run;
mod suite;
mod toml_file;
mod workload;

pub use answer::{AssetError, DRAWS, RightAnswer, draws_vary};
pub use nearest::{UnknownName, nearest};
pub use plan::{Measure, Plan};
pub use suite::{MeasureSpec, Suite, SuiteError, SuiteLoad};
pub use toml_file::FileError;
pub use workload::{ExpectedAnswer, ExpectedBody, Request, Workload, Workloads};
