//! Measures each case, round after round, with one tool after the other.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_driver::{Arrivals, DriverResult, Load, Tool};
use prony_model::{LoadSpec, Trial};
use prony_reference::script::{Freeze, Script, even_arrivals};
use prony_suite::{Measure, Plan};
use serde::Serialize;

use super::case::Case;
use crate::reference_server::{ReferenceServer, ReferenceServers, Serving};

/// The shares of the percentiles that are compared with the true ones.
const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// How the cases are measured.
pub struct CasePlan {
    pub tools: Vec<Tool>,
    pub cases: Vec<Case>,
    pub rounds: u32,
    /// The seed of the order.
    pub seed: u64,
    /// Whether no progress is shown.
    pub is_quiet: bool,
    pub duration: Duration,
    pub freeze: Freeze,
    /// The CPUs of the tools.
    pub cpus: Vec<usize>,
    pub servers: ReferenceServers,
    /// The file that declares the gRPC call.
    pub proto: PathBuf,
}

/// The results of a case, as far as it was measured.
#[derive(Serialize)]
pub struct CaseResult {
    #[serde(skip)]
    pub case: Case,
    /// The case as the command line names it.
    pub name: String,
    /// The load, as runs record it.
    pub load: LoadSpec,
    /// The true p50, p90, p99 and p99.9 on a server that freezes, in nanoseconds.
    pub truth_ns: Option<[f64; 4]>,
    /// The tools, in the order in which they were named.
    pub tools: Vec<ToolResult>,
}

/// The results of a tool in a case.
#[derive(Serialize)]
pub struct ToolResult {
    /// The driver's id.
    pub tool: String,
    /// Whether it ran the scheduled rate, and not a closed loop instead.
    pub open_loop: bool,
    /// The result of each round; `None` if it did not run.
    pub rounds: Vec<Option<DriverResult>>,
    /// Why it cannot run the case.
    pub cannot: Option<String>,
    /// How it failed, after which it did not run again.
    pub failure: Option<String>,
}

/// Measures all cases. Ends early, with the results so far, when `interrupt` is set.
pub fn measure(
    plan: &CasePlan,
    interrupt: &AtomicBool,
    results: &mut Vec<CaseResult>,
) -> Result<(), Box<dyn Error>> {
    for case in &plan.cases {
        results.push(plan.empty(case));
        let Some(result) = results.last_mut() else {
            continue;
        };
        plan.measure(result, interrupt)?;
        if interrupt.load(Relaxed) {
            break;
        }
    }
    Ok(())
}

impl CasePlan {
    fn empty(&self, case: &Case) -> CaseResult {
        let load = case.spec(self.duration, self.freeze);
        let duration_s = load.duration_s.unwrap_or_default();
        let truth = case.rate().filter(|_| case.is_frozen).map(|rate| {
            let script = Script {
                freeze: Some(self.freeze),
                ..Script::default()
            };
            let requests = (rate * duration_s).round().max(1.0) as u64;
            let truth = script.latencies(even_arrivals(rate, requests));
            SHARES.map(|share| truth.at(share).as_nanos() as f64)
        });
        let parts = self.tools.iter().map(|tool| self.part(case, tool, &load));
        CaseResult {
            name: case.name.clone(),
            truth_ns: truth,
            tools: parts.collect(),
            case: case.clone(),
            load,
        }
    }

    /// What a tool can do in a case.
    fn part(&self, case: &Case, tool: &Tool, load: &LoadSpec) -> ToolResult {
        let turn = self.turn(case, tool, load, "127.0.0.1:1");
        let cannot = match &turn {
            Ok(turn) => tool.unsupported(turn).map(|why| why.to_string()),
            Err(why) => Some(format!("it does not support {why}")),
        };
        ToolResult {
            tool: tool.id.clone(),
            open_loop: turn.is_ok_and(|turn| turn.arrivals != Arrivals::Closed),
            rounds: vec![None; self.rounds as usize],
            cannot,
            failure: None,
        }
    }

    /// The turns of the tools, in an order drawn for each round.
    fn turns(&self, result: &CaseResult) -> Vec<Trial> {
        let able = result.tools.iter().filter(|part| part.cannot.is_none());
        let ids: Vec<String> = able.map(|part| part.tool.clone()).collect();
        let measure = Measure {
            workload: result.name.clone(),
            load: result.load.clone(),
            rounds: self.rounds,
            warmup_limit_s: 0.0,
        };
        Plan::interleaved(&ids, &[measure], |_, _| true, self.seed).trials(self.rounds)
    }

    fn measure(
        &self,
        result: &mut CaseResult,
        interrupt: &AtomicBool,
    ) -> Result<(), Box<dyn Error>> {
        let mut shared: Option<ReferenceServer> = None;
        for turn in self.turns(result) {
            let parts = self.tools.iter().zip(&mut result.tools);
            let found = parts.into_iter().find(|(tool, _)| tool.id == turn.server);
            let Some((tool, part)) = found.filter(|(_, part)| part.failure.is_none()) else {
                continue;
            };
            if interrupt.load(Relaxed) {
                return Ok(());
            }
            let (title, round) = (&tool.manifest.title, turn.round);
            if !self.is_quiet {
                errln!("{}: round {round} of {}: {title}", result.name, self.rounds);
            }
            // The first request begins a server's first period, so each tool needs a server of its own.
            if result.case.is_frozen {
                shared = None;
            }
            let server = match &mut shared {
                Some(server) => server,
                None => match self.server(&result.case, interrupt)? {
                    Some(server) => shared.insert(server),
                    None => return Ok(()),
                },
            };
            let load = self.turn(&result.case, tool, &turn.load, &server.host())?;
            match tool.run(&load, &self.cpus, interrupt) {
                Ok(gave) => part.rounds[round as usize - 1] = Some(gave),
                Err(error) if error.is_interrupt() => return Ok(()),
                Err(error) => {
                    if let Some(end) = server.ended() {
                        return Err(end.into());
                    }
                    errln!("  {title} failed: {error}");
                    part.failure = Some(error.to_string());
                }
            }
        }
        Ok(())
    }

    /// A server for a case; `None` if the user stopped the command.
    fn server(
        &self,
        case: &Case,
        interrupt: &AtomicBool,
    ) -> Result<Option<ReferenceServer>, Box<dyn Error>> {
        let serving = Serving {
            freeze: case.is_frozen.then_some(self.freeze),
            tls: case.is_tls(),
        };
        match self.servers.start(&serving, interrupt) {
            Ok(server) => Ok(Some(server)),
            Err(_) if interrupt.load(Relaxed) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The load of a tool in a case. On a server that freezes, a tool without rates runs a closed loop instead, which shows
    /// what such a loop hides.
    fn turn(
        &self,
        case: &Case,
        tool: &Tool,
        load: &LoadSpec,
        host: &str,
    ) -> Result<Load, &'static str> {
        let mut load = case.load(load, host, &self.proto)?;
        if case.is_frozen && !tool.manifest.supports_rates() {
            load.arrivals = Arrivals::Closed;
        }
        Ok(load)
    }
}
