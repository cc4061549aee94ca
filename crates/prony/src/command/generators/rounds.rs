//! Measures each case, round after round, with one tool after the other.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_driver::{Arrivals, DriverResult, Load, Tool};
use prony_reference::script::{Freeze, Script, even_arrivals};
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
    /// How long each tool ran in a round, in seconds.
    pub duration_s: f64,
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
        let duration = case.duration(self.duration, self.freeze);
        let truth = case.rate().filter(|_| case.is_frozen()).map(|rate| {
            let script = Script {
                freeze: Some(self.freeze),
                ..Script::default()
            };
            let requests = (rate * duration.as_secs_f64()).round().max(1.0) as u64;
            let truth = script.latencies(even_arrivals(rate, requests));
            SHARES.map(|share| truth.at(share).as_nanos() as f64)
        });
        CaseResult {
            name: case.name.clone(),
            duration_s: duration.as_secs_f64(),
            truth_ns: truth,
            tools: self
                .tools
                .iter()
                .map(|tool| self.part(case, tool, duration))
                .collect(),
            case: case.clone(),
        }
    }

    /// What a tool can do in a case.
    fn part(&self, case: &Case, tool: &Tool, duration: Duration) -> ToolResult {
        let load = self.turn(case, tool, "127.0.0.1:1", duration);
        ToolResult {
            tool: tool.id.clone(),
            open_loop: load.arrivals != Arrivals::Closed,
            rounds: vec![None; self.rounds as usize],
            cannot: tool.unsupported(&load).map(|why| why.to_string()),
            failure: None,
        }
    }

    fn measure(
        &self,
        result: &mut CaseResult,
        interrupt: &AtomicBool,
    ) -> Result<(), Box<dyn Error>> {
        let mut shared: Option<ReferenceServer> = None;
        for round in 0..self.rounds as usize {
            for number in order(self.tools.len(), round) {
                let part = &mut result.tools[number];
                if part.cannot.is_some() || part.failure.is_some() {
                    continue;
                }
                if interrupt.load(Relaxed) {
                    return Ok(());
                }
                let tool = &self.tools[number];
                if !self.is_quiet {
                    errln!(
                        "{}: round {} of {}: {}",
                        result.name,
                        round + 1,
                        self.rounds,
                        tool.manifest.title
                    );
                }
                // The first request begins a server's first period, so each tool needs a server of its own.
                if result.case.is_frozen() {
                    shared = None;
                }
                let server = match &mut shared {
                    Some(server) => server,
                    None => match self.server(&result.case, interrupt)? {
                        Some(server) => shared.insert(server),
                        None => return Ok(()),
                    },
                };
                let duration = Duration::from_secs_f64(result.duration_s);
                let load = self.turn(&result.case, tool, &server.host(), duration);
                match tool.run(&load, &self.cpus, interrupt) {
                    Ok(gave) => part.rounds[round] = Some(gave),
                    Err(error) if error.is_interrupt() => return Ok(()),
                    Err(error) => {
                        if let Some(end) = server.ended() {
                            return Err(end.into());
                        }
                        errln!("  {} failed: {error}", tool.manifest.title);
                        part.failure = Some(error.to_string());
                    }
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
            freeze: case.is_frozen().then_some(self.freeze),
            tls: case.protocol.is_tls(),
        };
        match self.servers.start(&serving, interrupt) {
            Ok(server) => Ok(Some(server)),
            Err(_) if interrupt.load(Relaxed) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The load of a tool in a case. On a server that freezes, a tool without rates runs a closed loop instead, which shows
    /// what such a loop hides.
    fn turn(&self, case: &Case, tool: &Tool, host: &str, duration: Duration) -> Load {
        let mut load = case.load(host, &self.proto, duration);
        if case.is_frozen() && !tool.manifest.supports_rates() {
            load.arrivals = Arrivals::Closed;
        }
        load
    }
}

/// The tools' order in a round. Another one starts each time, and after each has started once the order is reversed, so
/// that a drift of the machine does not always affect the same tools.
fn order(tools: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tools).map(|number| (number + round) % tools).collect();
    if (round / tools) % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn every_tool_has_one_turn_a_round_and_the_order_changes() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [1, 2, 0]);
        assert_eq!(order(3, 3), [2, 1, 0]);
        for round in 0..7 {
            let mut all = order(5, round);
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4]);
        }
        let first: Vec<usize> = (0..4).map(|round| order(2, round)[0]).collect();
        assert_eq!(first, [0, 1, 1, 0]);
    }
}
