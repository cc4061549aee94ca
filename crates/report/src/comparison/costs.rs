//! What a response and a connection cost the server: figures that a noisy machine blurs least.

use std::collections::BTreeMap;

use prony_model::Measurement;
use prony_stats::Estimate;

use super::figures::{estimate, over};
use super::rounds::Rounds;

/// What a response and a connection cost the server. Costs and responses both have the warm-up in them.
#[derive(Clone, Debug, PartialEq)]
pub struct CostFigures {
    /// CPU time for one ok response, in nanoseconds; `None` where no response was ok.
    pub cpu_ns_per_request: Option<Estimate>,
    /// Ok responses for one second of CPU time.
    pub requests_per_cpu_s: Option<Estimate>,
    /// The same by round.
    pub(crate) requests_per_cpu_s_by_round: BTreeMap<u32, f64>,
    /// Instructions for one ok response, in user mode and in the kernel; `None` where they were not counted.
    pub instructions_per_request: Option<Estimate>,
    /// CPU cycles for one ok response, likewise.
    pub cycles_per_request: Option<Estimate>,
    /// Joules of the processor's packages for one ok response: of server, generator and all else together.
    pub joules_per_request: Option<Estimate>,
    /// By how many bytes the server grew for one connection, to the most that it held; `None` where that is not
    /// known, or it shrank.
    pub growth_per_connection: Option<Estimate>,
}

impl CostFigures {
    pub(super) fn of(rounds: &Rounds) -> Self {
        let measurements = rounds.measurements();
        let over = |figure: fn(&Measurement) -> Option<f64>| over(&measurements, figure);
        let per_cpu_s = rounds.by_round(requests_per_cpu_s);
        Self {
            cpu_ns_per_request: over(|round| round.per_response(round.server.cpu_s() * 1e9)),
            requests_per_cpu_s: estimate(&per_cpu_s),
            requests_per_cpu_s_by_round: per_cpu_s,
            instructions_per_request: over(|round| {
                round.per_response(round.server.instructions? as f64)
            }),
            cycles_per_request: over(|round| round.per_response(round.server.cycles? as f64)),
            joules_per_request: over(|round| round.per_response(round.noise.energy_j?)),
            growth_per_connection: over(growth_per_connection),
        }
    }
}

fn requests_per_cpu_s(round: &Measurement) -> Option<f64> {
    let (responses, cpu_s) = (round.responses(), round.server.cpu_s());
    (responses > 0 && cpu_s > 0.0).then(|| responses as f64 / cpu_s)
}

/// Held streams are connections too.
fn growth_per_connection(round: &Measurement) -> Option<f64> {
    let server = &round.server;
    let grown = server
        .peak_memory_bytes
        .checked_sub(server.memory_before_bytes?)?;
    let load = &round.load.load;
    let opened = round
        .load
        .open
        .as_ref()
        .map_or(0, |open| open.most_connections);
    let connections = (load.connections as u64).max(opened) + load.streams as u64;
    (connections > 0).then(|| grown as f64 / connections as f64)
}
