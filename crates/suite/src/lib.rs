//! What to measure and in which order: suites, workloads and their expected responses, the interleaved plan.
#![forbid(unsafe_code)]

mod adaptive;
mod message;
mod plan;
mod project_file;
mod response;
pub mod run;
mod suite;
mod workload;

pub use adaptive::{AdaptiveRounds, NoPrecision, Precision};
pub use plan::{Measure, Plan, Planned, TrialAttempt, Warming};
pub use project_file::{ProjectFile, ProjectFileError};
pub use response::{AssetError, ExpectedResponse};
pub use suite::{Changes, MeasureSpec, Suite, SuiteError, SuiteLoad, WARMUP_LIMIT};
pub use workload::{DeclaredResponse, ExpectedBody, Request, Workload, Workloads};

/// The message of an error in a file, without the field that its reader names.
#[cfg(test)]
fn without_field(error: &str) -> String {
    let parts = error
        .split_once(": field `")
        .map(|(place, rest)| (place, rest.split_once("`: ")));
    match parts {
        Some((place, Some((_, message)))) => format!("{place}: {message}"),
        _ => error.to_owned(),
    }
}
