//! A trial, and the measurement it gave.

use serde::{Deserialize, Serialize};

use crate::{LoadResult, LoadSpec};

/// One subject × workload × load × round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its place in the run's order, from 0.
    pub sequence: u32,
    /// The subject's id.
    pub subject: String,
    /// The workload's id.
    pub workload: String,
    /// The load.
    pub load: LoadSpec,
    /// The round, from 1.
    pub round: u32,
}

/// A trial and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The trial.
    pub trial: Trial,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What came of it.
    pub result: TrialResult,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
#[allow(clippy::large_enum_variant)] // Nearly every trial is a measurement.
pub enum TrialResult {
    /// It gave figures.
    Measured(Measurement),
    /// It gave none.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// What went wrong, with the last lines of the server's output where that helps.
        message: String,
    },
}

/// Why a trial gave no figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The subject failed verification of this workload, so it was not loaded.
    NotVerified,
    /// The server could not be started, or never gave a right answer.
    NotReady,
    /// The server's process ended during the load.
    ServerExited,
    /// The load could not be made.
    Load,
    /// What the server counted and what the client counted do not agree.
    NotReconciled,
}

impl FailureKind {
    /// The name used in JSON, CSV and tables.
    pub const fn name(self) -> &'static str {
        match self {
            FailureKind::NotVerified => "not-verified",
            FailureKind::NotReady => "not-ready",
            FailureKind::ServerExited => "server-exited",
            FailureKind::Load => "load",
            FailureKind::NotReconciled => "not-reconciled",
        }
    }
}

/// The figures of one trial, from both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What the client saw.
    pub load: LoadResult,
    /// What it cost the server.
    pub server: ServerCost,
    /// From the spawn of the server's process to its first right answer, in nanoseconds.
    pub startup_ns: u64,
    /// What else happened on the machine meanwhile.
    pub noise: MachineNoise,
    /// The lines that the server logged, against the requests that ask for one.
    pub log_lines: Option<LogLines>,
}

impl Measurement {
    /// Whether the generator, not the server, was the limit: a worker was nearly always busy
    /// while the server was not. Where both were, the server had no more to give.
    pub fn client_limited(&self) -> bool {
        self.load.generator.client_limited && self.server.busy_share < SATURATED
    }
}

/// From this share on, a server is taken to have kept its CPUs busy all the time.
const SATURATED: f64 = 0.95;

/// What a load cost the server, over its whole process tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCost {
    /// CPU time in user mode during the load (warm-up included), in seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel during the load (warm-up included), in seconds.
    pub cpu_system_s: f64,
    /// CPU time as a share of the load's time on all CPUs that it was given: 1 where it kept them
    /// all busy.
    pub busy_share: f64,
    /// The most memory it held at once since its start, in bytes: resident set of a single process;
    /// sum of the proportional sets where it has several.
    pub peak_memory_bytes: u64,
    /// The most processes it had at once.
    pub processes: u32,
}

impl ServerCost {
    /// User and kernel time together, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }
}

/// What else happened on the machine during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineNoise {
    /// Share (0 to 1) of all CPU time that the hypervisor gave to others.
    pub steal_share: f64,
    /// Share (0 to 1) of all CPU time that the machine was idle.
    pub idle_share: f64,
}

/// Log lines of a workload that asks the server for one line a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLines {
    /// Lines the server wrote during the load.
    pub written: u64,
    /// At least this many were owed: one for every whole answer.
    pub least: u64,
    /// At most this many: one for every request that was started.
    pub most: u64,
}

impl LogLines {
    /// Whether both sides agree.
    pub fn reconciled(&self) -> bool {
        (self.least..=self.most).contains(&self.written)
    }
}
