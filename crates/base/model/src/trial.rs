//! A trial and its measurement.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{
    CpuNoise, CpuWaits, LoadResult, LoadSpec, LogTail, MachineNoise, NoiseCause, Outcome,
    RateCourse, Scheduling, UserInstructions,
};

/// One server × workload × load × round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Its place in the run's order, from 0.
    pub sequence: u32,
    /// The server's id.
    pub server: String,
    /// The workload's id.
    pub workload: String,
    /// The load.
    pub load: LoadSpec,
    /// The round, from 1.
    pub round: u32,
}

/// A trial and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialRecord {
    /// The trial.
    pub trial: Trial,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Which attempt at the trial this was, from 1: Prony re-runs a noisy trial and keeps both.
    #[serde(default = "first")]
    pub attempt: u32,
    /// What disturbed it; empty if nothing did.
    #[serde(default)]
    pub noisy: Vec<NoiseCause>,
    /// Its result.
    pub result: TrialResult,
}

const fn first() -> u32 {
    1
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "result")]
#[allow(clippy::large_enum_variant)] // Nearly every trial is a measurement.
pub enum TrialResult {
    /// It has figures.
    Measured(Measurement),
    /// It has none.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// What went wrong, with the server's last lines of output if they help.
        message: String,
    },
}

crate::named! {
    /// Why a trial has no figures.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum FailureKind {
        /// The server failed verification of this workload, so it was not loaded.
        NotVerified = "not-verified",
        /// The server could not be started, or never gave an expected response.
        NotReady = "not-ready",
        /// The server's process ended during the load.
        ServerExited = "server-exited",
        /// The load could not be run.
        Load = "load",
        /// The counts of server and client differ.
        NotReconciled = "not-reconciled",
        /// No response was ok under load.
        NoResponse = "no-response",
        /// Under load, the server did not draw a random line for each request.
        NotDrawn = "not-drawn",
    }
}

/// The figures of one trial, of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Measurement {
    /// What the client measured.
    pub load: LoadResult,
    /// What it cost the server; `None` if Prony did not start it and cannot see its processes: its record says why.
    pub server: Option<ServerCost>,
    /// From the spawn of the server's process to its first expected response, in nanoseconds; `None` if an earlier
    /// trial started the process and has its startup time.
    pub startup_ns: Option<u64>,
    /// How the server was warmed up; `None` if the load has no warm-up, and in older records.
    #[serde(default)]
    pub warm_up: Option<WarmUp>,
    /// How the load went that searched for the end of the warm-up, before `load`; `None` if the trial did not search, and
    /// in older records.
    #[serde(default)]
    pub search: Option<RateCourse>,
    /// What else happened on the machine meanwhile.
    pub noise: MachineNoise,
    /// The lines that the server logged, and how many were expected.
    pub log_lines: Option<LogLines>,
    /// What the server's process had written last when the trial ended; `None` if it wrote nothing, if Prony did not start
    /// it, if users captured secrets, which it may have written, and in older records.
    #[serde(default)]
    pub log_tail: Option<LogTail>,
    /// The server's instructions, if the load measures them; then nothing else in here is comparable with other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_instructions: Option<UserInstructions>,
}

impl Measurement {
    /// How long the server was under load, warm-up included, in seconds.
    pub fn loaded_s(&self) -> f64 {
        self.load.loaded_s()
    }

    /// Ok responses, warm-up included, as the server's cost includes it.
    pub fn responses(&self) -> u64 {
        let warmup = self.load.warmup.as_ref();
        self.load.outcomes[Outcome::Ok] + warmup.map_or(0, |warmup| warmup.outcomes[Outcome::Ok])
    }

    /// Wrong responses, warm-up included: the server did other work than intended. Each flow that could not go on had one.
    pub fn wrong(&self) -> u64 {
        let warmup = self.load.warmup.as_ref().map_or(0, |warmup| {
            warmup.outcomes.wrong() + warmup.failed_without_request
        });
        self.load.outcomes.wrong() + self.load.failed_without_request() + warmup
    }

    /// The first of them in words, as far as any was kept.
    pub fn first_wrong(&self) -> Option<String> {
        let wrong = self.load.first_wrong.as_ref();
        let wrong = wrong.map(|wrong| format!("{}: {}", wrong.outcome, wrong.detail));
        wrong.or_else(|| self.load.flows.as_ref()?.first_failure.clone())
    }

    /// What the CPUs of server and generator lost to others, as far as both were observed.
    pub fn losses(&self) -> Vec<CpuNoise> {
        let share = |it: Option<Scheduling>, seconds: f64| Some(it?.run_queue_wait_s / seconds);
        let Some(server) = &self.server else {
            // What other programs used may have been the server's.
            return self.noise.losses(CpuWaits {
                server: Some(0.0),
                generator: Some(0.0),
            });
        };
        self.noise.losses(CpuWaits {
            server: share(server.scheduling, self.loaded_s()),
            generator: share(self.load.generator.scheduling, self.load.duration_s),
        })
    }

    /// The server's CPU time, in seconds; `None` if it is unknown.
    pub fn server_cpu_s(&self) -> Option<f64> {
        self.server.as_ref().map(ServerCost::cpu_s)
    }

    /// Whether the server was still getting faster when its warm-up reached the limit: the figures are lower bounds.
    pub(crate) fn still_warming(&self) -> bool {
        self.warm_up.is_some_and(|warm_up| warm_up.still_improving)
    }

    /// Whether the generator, not the server, was the bottleneck: a thread was more than 90 % busy and the server was
    /// not, as far as is known. If both were busy, the server was at its limit.
    pub fn client_limited(&self) -> bool {
        let server = self.server.as_ref();
        let is_saturated = server.is_some_and(|server| server.busy_share >= SATURATED);
        self.load.generator.client_limited && !is_saturated
    }
}

/// How a server was warmed up before it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// Whether the trial started the process.
    pub process: ProcessStart,
    /// How long the process was under this load before measuring began, in seconds, earlier trials included.
    pub loaded_s: f64,
    /// How much of that this trial spent on the search for the end of the warm-up, in seconds; 0 if it did not search.
    pub searched_s: f64,
    /// How long a process may take to warm up under load, in seconds.
    pub limit_s: f64,
    /// How long this process was under load until its rate and its CPU time per response stopped improving, in seconds.
    /// `None` if they still improve, or if this trial did not measure it.
    pub time_to_warm_s: Option<f64>,
    /// Whether they still improved at the limit.
    pub still_improving: bool,
}

/// Prony keeps a server running from round to round if it takes longer than this to warm up, in seconds: a restart for
/// each trial would cost more than the trials.
const KEPT_FROM_S: f64 = 1.0;

impl WarmUp {
    /// Whether a server that showed this warm-up is kept running from round to round.
    pub fn is_slow(&self) -> bool {
        self.still_improving || self.time_to_warm_s.is_some_and(|s| s > KEPT_FROM_S)
    }
}

crate::named! {
    /// When the process of a trial's server was started.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum ProcessStart {
        /// For this trial.
        New = "new",
        /// For an earlier trial of the same server, workload and load.
        Kept = "kept",
        /// For this trial, to replace a kept one that had ended or was stopped to make room.
        Restarted = "restarted",
        /// Not by Prony: it already ran.
        Outside = "outside",
    }
}

/// From this share on, a server counts as having kept its CPUs busy all the time.
const SATURATED: f64 = 0.95;

/// What a load cost the server, over its whole process tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerCost {
    /// CPU time in user mode during the load (warm-up included), in seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel during the load (warm-up included), in seconds.
    pub cpu_system_s: f64,
    /// CPU time as a share of the load's time on all its CPUs: 1 if it kept them all busy.
    pub busy_share: f64,
    /// Its peak memory since its start, in bytes: the resident set of a single process, or the sum of the proportional
    /// sets of several.
    pub peak_memory_bytes: u64,
    /// The most processes it had at once.
    pub processes: u32,
    /// Its memory before its first load, in bytes, counted like `peak_memory_bytes`; `None` in older records.
    #[serde(default)]
    pub memory_before_bytes: Option<u64>,
    /// CPU cycles of the process tree, in user mode and in the kernel, during the load (warm-up included); `None`
    /// if the machine has no counters for it.
    #[serde(default)]
    pub cycles: Option<u64>,
    /// Instructions of the process tree, in user mode and in the kernel, during the load (warm-up included); `None` if
    /// the machine has no counters for it.
    #[serde(default)]
    pub instructions: Option<u64>,
    /// How the kernel scheduled its threads during the load (warm-up included), as far as they still ran at its end;
    /// `None` if the kernel does not report it, or if threads that have ended did much of the work.
    #[serde(default)]
    pub scheduling: Option<Scheduling>,
}

impl ServerCost {
    /// User and kernel time together, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }
}

/// Log lines of a workload that requires one per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogLines {
    /// Lines the server wrote during the load.
    pub written: u64,
    /// The fewest expected: one for every complete response.
    pub least: u64,
    /// The most expected: one for every request that was started.
    pub most: u64,
}

impl LogLines {
    /// Whether the server's count is possible.
    pub fn reconciled(&self) -> bool {
        (self.least..=self.most).contains(&self.written)
    }
}

/// What decides which attempt at a round counts: the greatest one does. Never a figure, which would favour a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptWeight {
    is_quiet: bool,
    /// The CPU time that noise took, in millionths of what server or generator could have had.
    lost: Reverse<u64>,
    attempt: u32,
    sequence: u32,
}

impl AttemptWeight {
    /// Whether the attempt was not noisy.
    pub const fn is_quiet(self) -> bool {
        self.is_quiet
    }
}

impl TrialRecord {
    /// Its weight against other attempts at the same round: one that was not noisy comes before noisy ones, of which the one
    /// that lost the least CPU time comes first. The later one of equals does.
    pub fn weight(&self) -> AttemptWeight {
        let lost: f64 = self.noisy.iter().map(NoiseCause::lost).sum();
        AttemptWeight {
            is_quiet: self.noisy.is_empty(),
            lost: Reverse((lost * 1e6) as u64),
            attempt: self.attempt,
            sequence: self.trial.sequence,
        }
    }
}

/// The attempt at a round that counts: the last one that was not noisy, or if all were noisy the one that lost the least CPU
/// time. `None` if there are no attempts.
pub fn attempt_that_counts<'a>(
    attempts: impl IntoIterator<Item = &'a TrialRecord>,
) -> Option<&'a TrialRecord> {
    attempts.into_iter().max_by_key(|one| one.weight())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseCause::{OtherPrograms, Steal, WarmUp};
    use crate::sample::failed;

    #[test]
    fn a_quiet_attempt_counts_or_else_the_least_disturbed_one() {
        let steal = |share| vec![Steal { share }];
        let both = vec![Steal { share: 0.2 }, OtherPrograms { share: 0.2 }];
        let warm_up = vec![WarmUp { rise: 0.9 }];
        for (noisy, expected) in [
            (vec![], None),
            (vec![steal(0.5), steal(0.5)], Some(2)),
            (vec![vec![], steal(0.5)], Some(1)),
            (vec![vec![], vec![]], Some(2)),
            // A re-run while the machine stood still.
            (vec![steal(0.1), steal(0.9)], Some(1)),
            (vec![steal(0.3), both, steal(0.31)], Some(1)),
            (vec![steal(0.1), warm_up, steal(0.06)], Some(2)),
        ] {
            let attempts = noisy.into_iter().zip(1..);
            let attempts: Vec<TrialRecord> = attempts
                .map(|(noisy, attempt)| TrialRecord {
                    attempt,
                    noisy,
                    ..failed("bun", "")
                })
                .collect();
            let counts = attempt_that_counts(attempts.iter().rev());
            assert_eq!(counts.map(|one| one.attempt), expected, "{attempts:?}");
        }
    }
}
