//! One agent's part of a load: what its workers counted, in a form that other processes read.

use std::collections::BTreeSet;
use std::time::Duration;

use prony_kernel::CounterValues;
use prony_model::{Ended, Outcomes, Scheduling, Throttled};
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, seconds};
use super::encoded::{Encoded, MOST_COUNTED, possibly_scheduled, possibly_throttled, some_seconds};
use super::event_loop::EventLoopName;
use super::phase::{DueTime, PhaseResult};
use super::silence::Silences;
use super::stage_rows::StageEnds;
use super::tally::Tally;
use super::tcp_events::HostEvents;
use super::timeline::WorkerTimeline;
use super::worker::{ConnectionCounts, WorkerResult};
use super::worker_number::share_of_agent;
use crate::plan::LoadPlan;
use crate::wire::tls::Agreement;

/// What one agent counted. It holds whole histograms, so parts can be merged exactly, and takes some kilobytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartResult {
    pub(super) agent: usize,
    pub(super) agents: usize,
    given_connections: u64,
    start_lag: Nanoseconds,
    pub(super) ended: Ended,
    pub(super) duration: Nanoseconds,
    pub(super) due: DueTime,
    pub(super) measured: Tally<Encoded>,
    pub(super) warmup: Option<WarmupPart>,
    pub(super) connections: ConnectionCounts,
    pub(super) agreement: Option<AgreementPart>,
    pub(super) cost: PartCost,
    pub(super) timeline: WorkerTimeline,
    pub(super) silences: Silences,
    pub(super) tcp: Option<HostEvents>,
    /// How its CPU quota stopped it.
    #[serde(default, deserialize_with = "possibly_throttled")]
    pub(super) throttled: Option<Throttled>,
}

/// The warm-up of an agent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct WarmupPart {
    pub(super) duration: Nanoseconds,
    pub(super) outcomes: Outcomes,
    pub(super) failed_without_request: u64,
}

/// What TLS agreed on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AgreementPart {
    pub(super) version: String,
    pub(super) cipher_suite: String,
}

/// What the load cost an agent in the measured part: sums over its workers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartCost {
    #[serde(deserialize_with = "some_seconds")]
    pub(super) cpu_user_s: f64,
    #[serde(deserialize_with = "some_seconds")]
    pub(super) cpu_system_s: f64,
    /// The busiest worker's.
    #[serde(deserialize_with = "some_seconds")]
    pub(super) busy_max: f64,
    /// The share (0 to 1) of the time for which a worker was ready to run and waited for a CPU, of the one that waited
    /// most; 0 if the kernel does not report it.
    #[serde(deserialize_with = "some_seconds")]
    pub(super) waited_max: f64,
    pub(super) spun: Nanoseconds,
    pub(super) system_calls: u64,
    /// `None` unless all workers counted them.
    pub(super) counted: Option<CounterPart>,
    #[serde(default, deserialize_with = "possibly_scheduled")]
    pub(super) scheduling: Option<Scheduling>,
    pub(super) event_loops: BTreeSet<EventLoopName>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct CounterPart {
    pub(super) cycles: u64,
    pub(super) instructions: u64,
}

/// Why a result cannot be that of an agent of the load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignPart {
    #[error("it is the result of agent {agent} of {agents}, not of agent {expected} of {of}")]
    Agent {
        agent: usize,
        agents: usize,
        expected: usize,
        of: usize,
    },
    #[error("it has {given} connections instead of {expected}")]
    Connections { given: u64, expected: u64 },
    #[error("it has {given} entries of a scenario that has {expected}")]
    Entries { given: usize, expected: usize },
    #[error("it has {given} stages of a load that has {expected}")]
    Stages { given: usize, expected: usize },
    #[error("it counts more requests or flows than any host can send")]
    TooManyRequests,
}

impl PartResult {
    /// Merges what the workers of an agent counted.
    pub(super) fn of(
        plan: &LoadPlan,
        agent: usize,
        workers: Vec<WorkerResult>,
        tcp: Option<HostEvents>,
    ) -> Self {
        let mut tally: Tally = Tally::default();
        let mut connections = ConnectionCounts::default();
        for worker in &workers {
            tally.merge(&worker.figures.measured.tally);
            connections.merge(&worker.connections);
        }
        let mut measured = Tally::default();
        measured.merge(&tally);
        let silences =
            Silences::common(workers.iter().map(|worker| worker.figures.silences.clone()));
        let agreement = workers.iter().find_map(|worker| worker.agreement);
        let phases = || workers.iter().map(|worker| &worker.figures.measured);
        let start_lag = workers.iter().map(|worker| worker.start_lag).max();
        Self {
            agent,
            agents: plan.agents,
            given_connections: given_connections(plan, agent),
            start_lag: start_lag.unwrap_or(0),
            ended: ended(workers.iter().map(|worker| worker.ended)),
            duration: phases().map(|phase| phase.duration).max().unwrap_or(0),
            due: DueTime::merged(phases().map(|phase| phase.due)),
            measured,
            warmup: WarmupPart::merged(
                workers
                    .iter()
                    .filter_map(|it| Some(it.figures.warmup.as_ref()?.into())),
            ),
            connections,
            agreement: agreement.as_ref().map(AgreementPart::from),
            cost: PartCost::of(&workers),
            timeline: WorkerTimeline::merged(
                workers.into_iter().map(|worker| worker.figures.timeline),
            ),
            silences,
            tcp,
            throttled: None,
        }
    }

    /// The number of its agent, from 0 on.
    pub fn agent(&self) -> usize {
        self.agent
    }

    /// How many connections the agent was given, initially.
    pub fn connections(&self) -> u64 {
        self.given_connections
    }

    /// How long after the agreed instant the last of its threads began.
    pub fn start_lag(&self) -> Duration {
        Duration::from_nanos(self.start_lag)
    }

    /// Sees whether it is the result of agent `agent` of that load.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn check(&self, plan: &LoadPlan, agent: usize) -> Result<(), ForeignPart> {
        if (self.agent, self.agents) != (agent, plan.agents) {
            return Err(ForeignPart::Agent {
                agent: self.agent,
                agents: self.agents,
                expected: agent,
                of: plan.agents,
            });
        }
        let (given, expected) = (self.given_connections, given_connections(plan, agent));
        if given != expected {
            return Err(ForeignPart::Connections { given, expected });
        }
        let (given, expected) = (self.measured.entries(), plan.request.entries());
        if given > expected {
            return Err(ForeignPart::Entries { given, expected });
        }
        let (given, expected) = (self.measured.stages(), StageEnds::of(plan).count());
        if given > expected {
            return Err(ForeignPart::Stages { given, expected });
        }
        let counted = self.measured.outcomes.total();
        if counted.max(self.connections.flows_begun) > MOST_COUNTED {
            return Err(ForeignPart::TooManyRequests);
        }
        Ok(())
    }
}

impl LoadPlan {
    /// Lets the next load of a scenario continue after the flows of this one, which other processes have begun. Agents take
    /// flows in turn, so those that an agent with fewer flows has not begun are left out.
    pub fn continue_after(&self, parts: &[PartResult]) {
        if let Some(scenario) = self.request.scenario() {
            let rounds = parts.iter().map(|part| part.connections.flows_begun).max();
            let flows = rounds.unwrap_or(0).saturating_mul(self.agents as u64);
            scenario.skip_flows(flows);
        }
    }
}

/// How many of the load's connections an agent has at the beginning.
fn given_connections(plan: &LoadPlan, agent: usize) -> u64 {
    share_of_agent(plan, agent, plan.load.connections as u64)
}

/// Why a load ended that has several workers, or agents.
pub(super) fn ended(all: impl Iterator<Item = Ended>) -> Ended {
    let rank = |ended: &Ended| match ended {
        Ended::Requests => 0,
        Ended::Duration => 1,
        Ended::Interrupted => 2,
    };
    all.max_by_key(rank).unwrap_or(Ended::Interrupted)
}

impl From<&PhaseResult> for WarmupPart {
    fn from(phase: &PhaseResult) -> Self {
        let flows = phase.tally.counted_flows();
        Self {
            duration: phase.duration,
            outcomes: phase.tally.outcomes,
            failed_without_request: flows.map_or(0, |flows| flows.failed_without_request),
        }
    }
}

impl WarmupPart {
    /// Those of several workers, or agents; `None` if there was none.
    pub(super) fn merged(warmups: impl Iterator<Item = Self>) -> Option<Self> {
        warmups.reduce(|mut sum, warmup| {
            sum.duration = sum.duration.max(warmup.duration);
            sum.outcomes.merge(&warmup.outcomes);
            let failed = &mut sum.failed_without_request;
            *failed = failed.saturating_add(warmup.failed_without_request);
            sum
        })
    }
}

impl From<&Agreement> for AgreementPart {
    fn from(agreement: &Agreement) -> Self {
        Self {
            version: agreement.version.to_string(),
            cipher_suite: agreement.cipher_suite.to_owned(),
        }
    }
}

impl PartCost {
    fn of(workers: &[WorkerResult]) -> Self {
        let costs = workers.iter().map(Self::of_worker);
        costs
            .reduce(|sum, cost| sum.plus(&cost))
            .unwrap_or_default()
    }

    fn of_worker(worker: &WorkerResult) -> Self {
        let PhaseResult { cost, duration, .. } = &worker.figures.measured;
        // Busy-waiting was requested, and gives way to work at once.
        let worked_s = cost.cpu.total_s() - seconds(cost.spun);
        let share = |of_s: f64| match *duration {
            0 => 0.0,
            duration => (of_s / seconds(duration)).clamp(0.0, 1.0),
        };
        let waited_s = cost.scheduling.map_or(0.0, |it| it.run_queue_wait_s);
        let counted = |it: CounterValues| CounterPart {
            cycles: it.cycles,
            instructions: it.instructions,
        };
        Self {
            cpu_user_s: cost.cpu.total_s() - cost.cpu.system_s(),
            cpu_system_s: cost.cpu.system_s(),
            busy_max: share(worked_s),
            waited_max: share(waited_s),
            spun: cost.spun,
            system_calls: cost.system_calls,
            counted: cost.counted.map(counted),
            scheduling: cost.scheduling,
            event_loops: [worker.event_loop].into(),
        }
    }

    /// The sum of two.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let add = u64::saturating_add;
        let counted = self.counted.zip(other.counted);
        let schedulings = self.scheduling.zip(other.scheduling);
        Self {
            cpu_user_s: self.cpu_user_s + other.cpu_user_s,
            cpu_system_s: self.cpu_system_s + other.cpu_system_s,
            busy_max: self.busy_max.max(other.busy_max),
            waited_max: self.waited_max.max(other.waited_max),
            spun: add(self.spun, other.spun),
            system_calls: add(self.system_calls, other.system_calls),
            counted: counted.map(|(a, b)| CounterPart {
                cycles: add(a.cycles, b.cycles),
                instructions: add(a.instructions, b.instructions),
            }),
            scheduling: schedulings.map(|(a, b)| Scheduling {
                run_queue_wait_s: a.run_queue_wait_s + b.run_queue_wait_s,
                voluntary_switches: add(a.voluntary_switches, b.voluntary_switches),
                involuntary_switches: add(a.involuntary_switches, b.involuntary_switches),
            }),
            event_loops: &self.event_loops | &other.event_loops,
        }
    }

    /// Nearly always one; two if the kernel refused io_uring to some worker.
    pub(super) fn event_loop(&self) -> String {
        let names: Vec<&str> = self.event_loops.iter().map(|it| it.as_str()).collect();
        names.join(" and ")
    }
}

#[cfg(test)]
mod tests;
