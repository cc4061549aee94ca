//! A run: one suite on one machine, with the servers that took part.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{FleetResult, LoadSpec, Published};

/// The id of the built-in reference server, which does the least possible work.
pub const CEILING: &str = "ceiling";

/// The suite of the runs of `prony ab`, which compare two revisions of a server.
pub const AB: &str = "ab";

/// One run of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Its id, unique in the store: `20261121-203000-tour`.
    pub id: String,
    /// The suite's id.
    pub suite: String,
    /// The suite's title.
    pub title: String,
    /// Notes for the readers of its report, one sentence each (for instance that trials are short).
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
    /// The CPUs of server and generator. The generator's are empty if it ran on other machines.
    pub cpus: CpuAssignment,
    /// The agents that generated the load; `None` if Prony's own process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<RunFleet>,
    /// The requested servers, in the suite's order, including those that could not be measured.
    pub servers: Vec<ServerRecord>,
    /// The document that the suite reproduces, if there is one.
    #[serde(default)]
    pub published: Option<Published>,
    /// The server chosen as the baseline of all ratios; `None` for the reference server, or else the first server.
    #[serde(default)]
    pub baseline: Option<String>,
    /// How the number of rounds was decided, if rounds were added as needed; `None` if it was fixed.
    #[serde(default)]
    pub adaptive: Option<Adaptive>,
}

impl Run {
    /// The two servers that the run was made to compare, the baseline first; `None` if it was made to rank servers.
    pub fn compared(&self) -> Option<[&str; 2]> {
        let base = self.baseline.as_deref().filter(|_| self.suite == AB)?;
        let servers = self.servers.iter().filter(|server| !server.is_ceiling());
        let ids: Vec<&str> = servers.map(|server| server.id.as_str()).collect();
        match ids[..] {
            [one, new] if one == base => Some([base, new]),
            [new, other] if other == base => Some([base, new]),
            _ => None,
        }
    }
}

/// The agents that generated the loads of a run together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunFleet {
    /// Where they ran: `kubernetes`, `slurm`, `ssh` or `local`.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = ["kubernetes", "slurm", "ssh", "local"]))
    )]
    pub on: String,
    /// How many there were.
    pub agents: usize,
}

impl RunFleet {
    /// The agents of one load.
    pub fn of(fleet: &FleetResult) -> Self {
        Self {
            on: fleet.on.clone(),
            agents: fleet.agents.len(),
        }
    }
}

/// `3 agents on slurm`.
impl fmt::Display for RunFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { on, agents } = self;
        let s = if *agents == 1 { "" } else { "s" };
        write!(f, "{agents} agent{s} on {on}")
    }
}

/// Rounds that are added until the comparisons are precise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Adaptive {
    /// How far an interval's ends may be from its ratio, as a share of it: 0.03 for ±3 %.
    pub precision: f64,
    /// How long all trials together may take, in seconds.
    pub budget_s: f64,
    /// Why no more rounds were added, for each workload under each load that was measured.
    pub ends: Vec<RoundsEnd>,
}

/// Why one workload under one load had no more rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EnoughRounds {
    /// Every comparison is as precise as requested.
    Precise,
    /// The budget was spent.
    Budget,
    /// The maximum number of rounds was reached.
    MostRounds,
    /// The run was stopped, or one of the servers to compare had no figures in the first rounds.
    Interrupted,
}

crate::named! {
    /// How a run ended.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum RunEnd {
        /// It is still running, or Prony was killed.
        #[default]
        Open = "open",
        /// Every planned trial was run.
        Complete = "complete",
        /// The user stopped it; the trials until then are kept.
        Interrupted = "interrupted",
        /// It could not continue (for instance because the disk was full); the trials until then are kept.
        Failed = "failed",
    }
}

impl Run {
    /// The server with this id, if it was requested.
    pub fn server(&self, id: &str) -> Option<&ServerRecord> {
        self.servers.iter().find(|server| server.id == id)
    }
}

/// The CPUs of server and generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The CPU's model name.
    pub cpu_model: String,
    /// How many CPUs the system has on line.
    pub cpus: usize,
    /// How much CPU time a quota leaves Prony's process, in CPUs; `None` without a quota, and in older records.
    #[serde(default)]
    pub cpu_quota: Option<f64>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Operating system, for instance `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Whether it is a virtual machine, and of which hypervisor, if that is visible.
    pub virtualization: Option<String>,
    /// CPU frequency governor, if visible.
    pub governor: Option<String>,
    /// Active vulnerability mitigations, one per line: `name: state`.
    pub mitigations: Vec<String>,
    /// TCP and socket settings that affect the figures, one per line: `name = value`.
    pub tcp_settings: Vec<String>,
}

/// A server of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerRecord {
    /// Its id: the name of its folder.
    pub id: String,
    /// Programming language.
    pub language: String,
    /// Framework or library.
    pub framework: String,
    /// The framework's or toolchain's version, as found.
    pub version: Option<String>,
    /// `stdlib`, `framework`, `tuned` or `reference`; in a run of `prony generators`, `generator`.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = ["stdlib", "framework", "tuned", "reference", "generator"]))
    )]
    pub class: String,
    /// SHA-256 of its sources, hexadecimal.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9a-f]*$")))]
    pub source_hash: String,
    /// The command that ran it.
    pub run_command: Vec<String>,
    /// Size of its artefacts in bytes, if it names any.
    pub artefact_bytes: Option<u64>,
    /// How long its build took, in seconds; `None` if an earlier build was used or there is none.
    pub build_s: Option<f64>,
    /// Whether it took part.
    pub status: ServerStatus,
    /// The workloads that it serves. Empty in records of Prony 0.1.
    #[serde(default)]
    pub serves: Vec<String>,
    /// The results of verification, one per workload.
    pub verified: Vec<VerifyResult>,
    /// Where it already ran; `None` if Prony built and started it.
    #[serde(default)]
    pub outside: Option<OutsideProcess>,
}

/// A server that already ran: Prony did not build, start or pin it, and does not know its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideProcess {
    /// Its URL.
    pub url: String,
    /// Why its CPU time and memory are unknown; `None` if Prony measured them.
    pub unmeasured: Option<String>,
}

impl ServerRecord {
    /// Whether it is a reference server: a limit of the machine, not a competitor.
    pub fn is_reference(&self) -> bool {
        self.class == "reference"
    }

    /// Whether it is the ceiling: the built-in reference server, which the others are compared with.
    pub fn is_ceiling(&self) -> bool {
        self.id == CEILING
    }

    /// Language, framework and version in one line, without repetitions.
    pub fn title(&self) -> String {
        let mut words = vec![self.language.as_str()];
        if !self.framework.eq_ignore_ascii_case(&self.language) {
            words.push(&self.framework);
        }
        words.extend(self.version.as_deref());
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }

    /// Whether it serves a workload. Old records do not list workloads; the server may then.
    pub fn may_serve(&self, workload: &str) -> bool {
        self.serves.is_empty() || self.serves.iter().any(|served| served == workload)
    }

    /// Whether it can be measured at all: it is ready and has passed verification of a workload.
    pub fn is_measurable(&self) -> bool {
        let mut results = self.verified.iter();
        results.any(|result| self.is_verified(&result.workload))
    }

    /// Whether it can be measured with a workload: it is ready and has passed verification of it.
    pub fn is_verified(&self, workload: &str) -> bool {
        let is_right = |result: &VerifyResult| {
            result.workload == workload && result.verdict == VerifyVerdict::Right
        };
        self.status == ServerStatus::Ready && self.verified.iter().any(is_right)
    }
}

/// Whether a server took part, and if not, why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "status")]
pub enum ServerStatus {
    /// It was built and can be measured.
    #[default]
    Ready,
    /// Its toolchain is not installed.
    Skipped {
        /// What is missing.
        missing: String,
        /// The command that installs it.
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
    /// It should already run, and does not respond.
    Unreachable {
        /// What went wrong.
        reason: String,
    },
}

/// The result of verification for one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyResult {
    /// The workload.
    pub workload: String,
    /// The result.
    #[serde(flatten)]
    pub verdict: VerifyVerdict,
}

/// Whether the response is the expected one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum VerifyVerdict {
    /// It is.
    Right,
    /// It is not.
    Wrong {
        /// What was expected.
        expected: String,
        /// What was received.
        received: String,
    },
}

/// The baseline of a measure: the first that was `measured` of the server chosen for the run, the ceiling, and
/// `servers` in their order.
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
    fn the_baseline_is_the_chosen_server_or_the_ceiling_or_the_first_measured() {
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
