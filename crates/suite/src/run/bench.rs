//! What Prony needs to start and check any server: the bench, and workloads with their expected responses.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use prony_model::CpuAssignment;
use prony_server::{Freshness, Layout, SupervisorProgram};

use crate::response::{AssetError, ExpectedResponse};
use crate::workload::Workload;

/// A workload with its expected response.
pub struct Task {
    /// The workload.
    pub workload: Workload,
    /// Its expected response.
    pub expected: Arc<ExpectedResponse>,
}

impl Task {
    /// Reads the workload's expected response, whose body may be a file in the layout's `assets`.
    pub fn new(workload: &Workload, layout: &Layout) -> Result<Self, AssetError> {
        Ok(Self {
            expected: ExpectedResponse::new(workload, &layout.assets())?.into(),
            workload: workload.clone(),
        })
    }
}

/// Where and how servers run: the same for every server of a run.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Where the project's files are.
    pub layout: Layout,
    /// What supervises every process.
    pub supervisor: SupervisorProgram,
    /// The CPUs of server and load.
    pub cpus: CpuAssignment,
    /// The folder for the servers' output.
    pub logs: PathBuf,
    /// How long a server may take to its first expected response.
    pub ready_timeout: Duration,
    /// Whether an earlier build of a server may be used again.
    pub freshness: Freshness,
    /// Once set, whatever goes on ends early.
    pub interrupt: Arc<AtomicBool>,
}

impl Bench {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }
}

/// The current time, RFC 3339, UTC.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
