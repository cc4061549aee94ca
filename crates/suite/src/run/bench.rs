//! What every start of a server takes: the bench, and a workload with its expected response.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prony_model::CpuAssignment;
use prony_server::{Freshness, Layout, SupervisorProgram};

use crate::response::{AssetError, ExpectedResponse};
use crate::workload::Workload;

/// A workload with its expected response, ready to be asked for.
pub struct Task {
    /// The workload.
    pub workload: Workload,
    /// Its expected response.
    pub right: Arc<ExpectedResponse>,
}

impl Task {
    /// The workload with its response made from the files in `assets`.
    ///
    /// # Errors
    /// If a file that the response is made from cannot be read.
    pub fn new(workload: &Workload, layout: &Layout) -> Result<Self, AssetError> {
        Ok(Self {
            right: ExpectedResponse::new(workload, &layout.assets())?.into(),
            workload: workload.clone(),
        })
    }
}

/// What is the same for every server that is started.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Where the project's files are.
    pub layout: Layout,
    /// What supervisors every process that is started.
    pub supervisor: SupervisorProgram,
    /// Which CPUs the server has, and which the load.
    pub cpus: CpuAssignment,
    /// Where the servers' output goes.
    pub logs: PathBuf,
    /// How long a server may take to its first expected response.
    pub ready_timeout: Duration,
    /// When an earlier build of a server is used again.
    pub freshness: Freshness,
}

/// The present, RFC 3339, UTC.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
