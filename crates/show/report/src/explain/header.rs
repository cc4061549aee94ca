//! What was run, and where.

use prony_model::{Machine, Run};
use serde::Serialize;

/// What was run, and where: the head of a page and of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// The run's id; `None` if it was not recorded.
    #[serde(rename = "id")]
    pub run: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Prony's version.
    pub prony_version: String,
    /// The command line.
    pub command: Vec<String>,
    /// The machine.
    pub machine: Machine,
}

impl From<&Run> for Header {
    fn from(run: &Run) -> Self {
        Self {
            run: Some(run.id.clone()),
            started_at: run.started_at.clone(),
            prony_version: run.prony_version.clone(),
            command: run.command.clone(),
            machine: run.machine.clone(),
        }
    }
}
