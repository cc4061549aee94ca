//! Every case, round after round, every tool in its turn.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_driver::{Arrivals, DriverResult, Load, Resources, Tool};
use serde::Serialize;

use super::case::Case;
use super::reference_server::{ReferenceServer, ReferenceServers};
use super::truth::Freeze;

/// The shares of the percentiles that are held against the truth.
pub const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// How the cases are measured.
pub struct Plan {
    pub tools: Vec<Tool>,
    pub cases: Vec<Case>,
    pub rounds: u32,
    pub duration: Duration,
    pub freeze: Freeze,
    pub limits: Resources,
    pub servers: ReferenceServers,
}

/// What a case gave, as far as it came.
#[derive(Serialize)]
pub struct CaseResult {
    #[serde(skip)]
    pub case: Case,
    /// The case as it was asked for.
    pub name: String,
    /// How long each turn was, in seconds.
    pub duration_s: f64,
    /// The true p50, p90, p99 and p99.9 on a server that freezes, in nanoseconds.
    pub truth_ns: Option<[f64; 4]>,
    /// The tools, in the order in which they were named.
    pub tools: Vec<ToolResult>,
}

/// What a tool gave in a case.
#[derive(Serialize)]
pub struct ToolResult {
    /// The driver's id.
    pub tool: String,
    /// Whether it made the rate that was asked for, and not a closed loop instead.
    pub open_loop: bool,
    /// What each round gave; `None` where it did not come to it.
    pub rounds: Vec<Option<DriverResult>>,
    /// Why it took no part.
    pub cannot: Option<String>,
    /// Why it was left out from some round on.
    pub failure: Option<String>,
}

/// Measures all; ends early, with what there is, when `interrupt` is set.
///
/// # Errors
/// Where the reference server cannot be started or ends.
pub fn measure(
    plan: &Plan,
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

impl Plan {
    fn empty(&self, case: &Case) -> CaseResult {
        let duration = case.duration(self.duration, self.freeze);
        let truth = case.rate().filter(|_| case.is_frozen()).map(|rate| {
            let truth = self.freeze.true_latencies(rate, duration);
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
        let load = turn(case, tool, "127.0.0.1:1", duration);
        ToolResult {
            tool: tool.id.clone(),
            open_loop: load.arrivals != Arrivals::Closed,
            rounds: vec![None; self.rounds as usize],
            cannot: tool.cannot_make(&load).map(|why| why.to_string()),
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
                errln!(
                    "{}: round {} of {}: {}",
                    result.name,
                    round + 1,
                    self.rounds,
                    tool.manifest.title
                );
                // The first request begins a server's first freeze, so each turn needs its own.
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
                let load = turn(&result.case, tool, &server.host(), duration);
                match tool.run(&load, &self.limits, interrupt) {
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

    /// A server for a case; `None` where the user stopped it.
    fn server(
        &self,
        case: &Case,
        interrupt: &AtomicBool,
    ) -> Result<Option<ReferenceServer>, Box<dyn Error>> {
        let freeze = case.is_frozen().then_some(self.freeze);
        match self.servers.start(freeze, interrupt) {
            Ok(server) => Ok(Some(server)),
            Err(_) if interrupt.load(Relaxed) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What a tool is made to do. On a server that freezes, one that makes no rates makes a closed loop
/// instead: it shows what such a loop hides.
fn turn(case: &Case, tool: &Tool, host: &str, duration: Duration) -> Load {
    let mut load = case.load(host, duration);
    if case.is_frozen() && !tool.manifest.makes_rates() {
        load.arrivals = Arrivals::Closed;
    }
    load
}

/// The tools' order in a round: another one begins each time, and when each has begun once, they run
/// backwards, so that a drift of the machine does not always hit the same ones.
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
