//! Runs each case with each tool, in the rounds of an ordinary run.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_driver::{Arrivals, Load, Tool};
use prony_model::{
    CpuAssignment, FailureKind, LoadShape, LoadSpec, Measurement, ServerRecord, ServerStatus,
    Trial, TrialRecord, TrialResult,
};
use prony_present::number;
use prony_reference::script::{Freeze, Script, even_arrivals};
use prony_run::run::{DriverRun, RoundRules, RoundsRun, RunEvent, TrialRunner, now, run_rounds};
use prony_run::{Measure, Plan, TrialAttempt};
use prony_server::Sampler;
use prony_store::StoreError;

use super::case::Case;
use crate::reference_server::{ReferenceServers, Serving};

/// The shares of the percentiles that are compared with the true ones.
const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// How the cases are measured.
pub(super) struct CasePlan {
    pub(crate) tools: Vec<Tool>,
    pub(crate) cases: Vec<Case>,
    pub(crate) rounds: u32,
    /// The seed of the order.
    pub(crate) seed: u64,
    /// Whether no progress is shown.
    pub(crate) is_quiet: bool,
    pub(crate) duration: Duration,
    pub(crate) freeze: Freeze,
    pub(crate) cpus: CpuAssignment,
    pub(crate) servers: ReferenceServers,
    /// The file that declares the gRPC call.
    pub(crate) proto: PathBuf,
}

/// What is known of a case before it is measured.
pub(super) struct PlannedCase {
    pub(crate) case: Case,
    pub(crate) load: LoadSpec,
    /// The true p50, p90, p99 and p99.9 on a server that freezes, in nanoseconds.
    pub(crate) truth_ns: Option<[f64; 4]>,
    /// Why tools cannot run it, by their ids.
    pub(crate) cannot: BTreeMap<String, String>,
}

impl PlannedCase {
    /// For the record: why tools cannot run it, and the truth about its latency.
    pub(super) fn notes(&self) -> Vec<String> {
        let name = &self.case.name;
        let truth = self.truth_ns.map(|truth| {
            let [p50, p90, p99, p999] = truth.map(number::duration);
            format!("{name}: the true latency has p50 {p50}, p90 {p90}, p99 {p99} and p99.9 {p999}")
        });
        let cannot = self.cannot.iter();
        let cannot = cannot.map(|(tool, why)| format!("{name}: {tool} is left out: {why}"));
        truth.into_iter().chain(cannot).collect()
    }
}

impl CasePlan {
    /// The cases, in the order in which they were named.
    pub(super) fn planned(&self) -> Vec<PlannedCase> {
        self.cases
            .iter()
            .map(|case| self.planned_case(case))
            .collect()
    }

    fn planned_case(&self, case: &Case) -> PlannedCase {
        let load = case.spec(self.duration, self.freeze);
        let truth = case.rate().filter(|_| case.is_frozen).map(|rate| {
            let script = Script {
                freeze: Some(self.freeze),
                ..Script::default()
            };
            let requests = rate * load.duration.unwrap_or_default().as_secs_f64();
            let requests = requests.round().max(1.0) as u64;
            let truth = script.latencies(even_arrivals(rate, requests));
            SHARES.map(|share| truth.at(share).as_nanos() as f64)
        });
        let cannot = self.tools.iter().filter_map(|tool| {
            let why = match self.turn(case, tool, &load, "127.0.0.1:1") {
                Ok(turn) => tool.unsupported(&turn.load)?.to_string(),
                Err(what) => format!("it does not support {what}"),
            };
            Some((tool.id.clone(), why))
        });
        PlannedCase {
            case: case.clone(),
            truth_ns: truth,
            cannot: cannot.collect(),
            load,
        }
    }

    /// The tools as a record has them: in the place of servers, and each serves the cases that it can run.
    pub(super) fn records(&self, cases: &[PlannedCase]) -> Vec<ServerRecord> {
        let record = |tool: &Tool| {
            let able = cases
                .iter()
                .filter(|one| !one.cannot.contains_key(&tool.id));
            ServerRecord {
                id: tool.id.clone(),
                language: tool.manifest.title.clone(),
                version: tool.version.clone(),
                class: "generator".to_owned(),
                status: ServerStatus::Ready,
                serves: able.map(|one| one.case.name.clone()).collect(),
                ..ServerRecord::default()
            }
        };
        self.tools.iter().map(record).collect()
    }

    /// Measures all cases. Ends early, with the trials so far, when `interrupt` is set.
    pub(super) fn measure(
        &self,
        cases: &[PlannedCase],
        interrupt: &AtomicBool,
    ) -> Result<Vec<TrialRecord>, StoreError> {
        let ids: Vec<String> = self.tools.iter().map(|tool| tool.id.clone()).collect();
        let measures = cases.iter().map(|one| Measure {
            workload: one.case.name.clone(),
            load: one.load.clone(),
            rounds: self.rounds,
            warmup_limit: Duration::ZERO,
        });
        let measures: Vec<Measure> = measures.collect();
        let takes_part = |tool: &str, measure: &Measure| {
            let mut cases = cases.iter();
            cases.any(|one| one.case.name == measure.workload && !one.cannot.contains_key(tool))
        };
        let plan = Plan::interleaved(&ids, &measures, takes_part, self.seed);
        let rule = RoundRules {
            adaptive: None,
            baseline: None,
            servers: &ids,
            alike: &[],
        };
        let mut turns = Turns {
            plan: self,
            interrupt,
            begun: Instant::now(),
            trials: Vec::new(),
        };
        run_rounds(plan, &rule, &mut turns, &mut RoundsRun::default())?;
        Ok(turns.trials)
    }

    /// What a tool does in a case. On a server that freezes, a tool without rates runs a closed loop instead, which shows
    /// what such a loop hides.
    fn turn(
        &self,
        case: &Case,
        tool: &Tool,
        spec: &LoadSpec,
        host: &str,
    ) -> Result<Turn, &'static str> {
        let mut turn = Turn {
            load: case.load(spec, host, &self.proto)?,
            spec: spec.clone(),
        };
        if case.is_frozen && !tool.manifest.supports_rates() {
            turn.load.arrivals = Arrivals::Closed;
            turn.spec.shape = LoadShape::Closed;
        }
        Ok(turn)
    }

    fn tool(&self, id: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    /// Runs a tool once, on a server of its own: the first request begins the first period of one that freezes.
    fn run(&self, trial: &Trial, interrupt: &AtomicBool) -> Result<Measurement, Box<dyn Error>> {
        let mut cases = self.cases.iter();
        let case = cases.find(|case| case.name == trial.workload);
        let (Some(case), Some(tool)) = (case, self.tool(&trial.server)) else {
            return Err("it is not planned".into());
        };
        let serving = Serving {
            freeze: case.is_frozen.then_some(self.freeze),
            tls: case.is_tls(),
        };
        let mut server = self.servers.start(&serving, interrupt)?;
        let turn = self.turn(case, tool, &trial.load, &server.host())?;
        let drive = DriverRun {
            tool,
            spec: &turn.spec,
            host: server.host(),
            cpus: &self.cpus.load,
        };
        let sampler = Sampler::start(server.tree(), &self.cpus, Sampler::INTERVAL)?;
        let load = match (drive.run(&turn.load, interrupt), server.ended()) {
            (Ok(load), _) => load,
            (Err(_), Some(end)) => return Err(end.into()),
            (Err(error), None) => return Err(error.into()),
        };
        let sampled = sampler.finish(load.loaded_s())?;
        Ok(Measurement {
            load,
            server: Some(sampled.server),
            noise: sampled.noise,
            ..Measurement::default()
        })
    }
}

/// A load as drivers have it, and as records have it.
struct Turn {
    load: Load,
    spec: LoadSpec,
}

/// The turns of the tools.
struct Turns<'a> {
    plan: &'a CasePlan,
    interrupt: &'a AtomicBool,
    begun: Instant,
    trials: Vec<TrialRecord>,
}

impl Turns<'_> {
    fn title(&self, trial: &Trial) -> String {
        let tool = self.plan.tool(&trial.server);
        tool.map_or(trial.server.clone(), |tool| tool.manifest.title.clone())
    }
}

impl TrialRunner for Turns<'_> {
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord> {
        let trial = attempt.trial.clone();
        let started_at = now();
        if self.interrupt.load(Relaxed) {
            return None;
        }
        let result = match self.plan.run(&trial, self.interrupt) {
            Ok(measurement) => TrialResult::Measured(measurement),
            Err(_) if self.interrupt.load(Relaxed) => return None,
            Err(error) => TrialResult::Failed {
                kind: FailureKind::Load,
                message: error.to_string(),
            },
        };
        Some(TrialRecord {
            trial,
            started_at,
            attempt: attempt.number,
            noisy: Vec::new(),
            result,
        })
    }

    fn store(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        self.trials.push(record);
        Ok(())
    }

    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn report(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Trial(attempt) if !self.plan.is_quiet => {
                let Trial {
                    workload, round, ..
                } = &attempt.trial;
                let (rounds, title) = (self.plan.rounds, self.title(&attempt.trial));
                let again = if attempt.number > 1 { ", again" } else { "" };
                errln!("{workload}: round {round} of {rounds}: {title}{again}");
            }
            RunEvent::TrialOver { record, .. } => {
                if let TrialResult::Failed { message, .. } = &record.result {
                    errln!("  {} failed: {message}", self.title(&record.trial));
                }
            }
            _ => {}
        }
    }
}
