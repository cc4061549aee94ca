//! A run: one suite on one machine, with the servers that took part.

use serde::{Deserialize, Serialize};

use crate::{LoadSpec, Published};

/// The id of the built-in reference server, which does the least work.
pub const CEILING: &str = "ceiling";

/// One run of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its name, unique in the store: `20261121-203000-tour`.
    pub id: String,
    /// The suite's id.
    pub suite: String,
    /// The suite's title.
    pub title: String,
    /// What a reader of its report must know, a sentence each (for instance that trials are short).
    pub notes: Vec<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; `None` while it runs, or if Prony was killed.
    pub finished_at: Option<String>,
    /// How it ended.
    pub end: RunEnd,
    /// Prony's own version.
    pub prony_version: String,
    /// The command line that started it.
    pub command: Vec<String>,
    /// The seed of the shuffled order.
    pub seed: u64,
    /// How many rounds were planned.
    pub rounds: u32,
    /// The machine.
    pub machine: Machine,
    /// Which CPUs did what.
    pub cpus: CpuAssignment,
    /// The servers that were asked for, in the suite's order, whatever became of them.
    pub servers: Vec<ServerRecord>,
    /// The document behind the suite, with what it published, if there is one.
    #[serde(default)]
    pub published: Option<Published>,
    /// The server chosen as the baseline of all ratios; `None` for the reference server, or if that
    /// took no part the first server.
    #[serde(default)]
    pub baseline: Option<String>,
    /// How the rounds were decided on, if they were added as needed; `None` if their number was set.
    #[serde(default)]
    pub adaptive: Option<Adaptive>,
}

/// Rounds that are added until the comparisons are precise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// How far an interval's ends may be from its ratio, as a share of it: 0.03 for ±3 %.
    pub precision: f64,
    /// How long all trials together may take, in seconds.
    pub budget_s: f64,
    /// Why no more rounds were added, for each workload under each load that was measured.
    pub ends: Vec<RoundsEnd>,
}

/// Why no more rounds were added of one workload under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsEnd {
    /// The workload's id.
    pub workload: String,
    /// The load.
    pub load: LoadSpec,
    /// How many rounds it had.
    pub rounds: u32,
    /// Why it had no more.
    pub reason: EnoughRounds,
    /// How far the ends of the widest interval are from its ratio, as a share of it; `None` if there was nothing
    /// to compare.
    pub widest: Option<f64>,
}

/// Why no more rounds are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnoughRounds {
    /// Every comparison is as precise as was asked.
    Precise,
    /// The budget was spent.
    Budget,
    /// The maximum was reached.
    MostRounds,
    /// The run was stopped.
    Interrupted,
}

crate::named! {
    /// How a run ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RunEnd {
        /// It is not over, or Prony was killed in it.
        Open = "open",
        /// Every planned trial was run.
        Complete = "complete",
        /// The user stopped it; the trials up to then are kept.
        Interrupted = "interrupted",
        /// It could not continue (for instance because the disk was full); the trials up to then are kept.
        Failed = "failed",
    }
}

/// The CPUs of server and generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuAssignment {
    /// Where the server ran.
    pub server: Vec<usize>,
    /// Where the load generator ran.
    pub load: Vec<usize>,
}

impl CpuAssignment {
    /// Whether server and generator had to share a CPU.
    pub fn shared(&self) -> bool {
        self.server.iter().any(|cpu| self.load.contains(cpu))
    }
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's model name.
    pub cpu_model: String,
    /// How many CPUs the system has on line.
    pub cpus: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Operating system, for instance `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Whether it is a virtual machine, and under what, if that can be seen.
    pub virtualization: Option<String>,
    /// CPU frequency governor, if visible.
    pub governor: Option<String>,
    /// Vulnerability mitigations in force, a line each: `name: state`.
    pub mitigations: Vec<String>,
    /// TCP and socket settings that bear on the figures, a line each: `name = value`.
    pub tcp_settings: Vec<String>,
}

/// A server as it took part in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its id: the name of its folder.
    pub id: String,
    /// Programming language.
    pub language: String,
    /// Framework or library.
    pub framework: String,
    /// The framework's or toolchain's version, as found.
    pub version: Option<String>,
    /// `stdlib`, `framework`, `tuned` or `reference`.
    pub class: String,
    /// SHA-256 of its sources, hexadecimal.
    pub source_hash: String,
    /// The command that ran it.
    pub run_command: Vec<String>,
    /// Size of what its build made, in bytes, if it names artefacts.
    pub artefact_bytes: Option<u64>,
    /// How long its build took, in seconds; `None` if an earlier build was used or there is none.
    pub build_s: Option<f64>,
    /// Whether it took part.
    pub status: ServerStatus,
    /// The workloads that it serves. Empty in records of Prony 0.1.
    #[serde(default)]
    pub serves: Vec<String>,
    /// What verification found, workload by workload.
    pub verified: Vec<VerifyResult>,
}

/// Whether a server took part, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "status")]
pub enum ServerStatus {
    /// It was built and could be measured.
    Ready,
    /// Its toolchain is not installed.
    Skipped {
        /// What is missing.
        missing: String,
        /// The one line that installs it.
        install: String,
    },
    /// Its build failed.
    BuildFailed {
        /// The last lines of the build's output.
        output: String,
    },
    /// It was built but could not be started.
    StartFailed {
        /// What went wrong.
        reason: String,
    },
}

/// What verification found for one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// The workload.
    pub workload: String,
    /// What was found.
    #[serde(flatten)]
    pub verdict: VerifyVerdict,
}

/// Right or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum VerifyVerdict {
    /// The response is right.
    Right,
    /// The response is wrong.
    Wrong {
        /// What was expected.
        expected: String,
        /// What came.
        came: String,
    },
}

/// The server that the others' ratios are taken to in a measure: the one that was chosen for the
/// run, else the ceiling, else the first of `servers`; of these the first that was `measured` there.
pub fn baseline<'a>(
    chosen: Option<&'a str>,
    servers: impl IntoIterator<Item = &'a str>,
    measured: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let preferred = chosen.into_iter().chain([CEILING]);
    preferred.chain(servers).find(|server| measured(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_chosen_one_or_the_ceiling_or_the_first_of_those_that_were_measured() {
        let servers = ["bun", "go", "ceiling"];
        let of = |chosen, measured: &[&str]| {
            let measured: Vec<String> = measured.iter().map(|&one| one.to_owned()).collect();
            baseline(chosen, servers, move |one| {
                measured.iter().any(|id| id == one)
            })
        };
        assert_eq!(of(Some("go"), &servers), Some("go"));
        assert_eq!(of(Some("go"), &["bun", "ceiling"]), Some("ceiling"));
        assert_eq!(of(None, &servers), Some("ceiling"));
        assert_eq!(of(None, &["go", "bun"]), Some("bun"));
        assert_eq!(of(Some("go"), &[]), None);
    }
}
