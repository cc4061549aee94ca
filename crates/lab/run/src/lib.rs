//! What to measure and in which order: suites, workloads and their expected responses, the interleaved plan.
#![forbid(unsafe_code)]

mod adaptive;
pub mod capacity;
mod files;
mod message;
mod one_or_more;
mod plan;
mod prepared_traffic;
mod project_file;
mod request;
mod response;
pub mod run;
mod scenario;
mod suite;
mod values;
mod workload;

pub use adaptive::{AdaptiveRounds, NoPrecision, Precision};
pub use files::{AssetError, Files};
pub use message::{Message, MessageStream};
pub use one_or_more::OneOrMore;
pub use plan::{Measure, Plan, Planned, TrialAttempt, Warming};
pub use prepared_traffic::PreparedTraffic;
pub use project_file::{ProjectFile, ProjectFileError};
pub use request::{
    BasicAuth, DeclaredRequest, HttpRequest, MultipartPart, PartContent, PrepareError,
    PreparedRequest, RequestBody, Secret, Value, Variable,
};
pub use response::{DeclaredResponse, ExpectedBody, ExpectedContent, SchemaSource, Status};
pub use scenario::{DeclaredScenario, PreparedScenario, ScenarioFault};
pub use suite::{Changes, MeasureSpec, Suite, SuiteError, SuiteLoad, WARMUP_LIMIT};
pub use values::{DeclaredValues, PreparedValues, ValuesError};
pub use workload::{Exchange, Workload, WorkloadKind, Workloads};

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
