//! What a load cost the server and the generator: the figures that noise affects least.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{CountedRounds, GeneratorCost, Measurement};
use prony_stats::Estimate;

use super::over_rounds::{estimate, over};

/// What a response (a flow, if the load has any) and a connection cost the server. Costs and responses both include the
/// warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct CostFigures {
    /// CPU time per ok response, in nanoseconds; `None` if no response was ok.
    pub cpu_ns_per_request: Option<Estimate>,
    /// Ok responses per second of CPU time.
    pub requests_per_cpu_s: Option<Estimate>,
    /// The same by round.
    pub(crate) requests_per_cpu_s_by_round: BTreeMap<u32, f64>,
    /// Instructions per ok response, in user mode and in the kernel; `None` if they were not counted.
    pub instructions_per_request: Option<Estimate>,
    /// CPU cycles per ok response, counted the same way.
    pub(crate) cycles_per_request: Option<Estimate>,
    /// Joules of the processor's packages per ok response, everything on the machine included.
    pub joules_per_request: Option<Estimate>,
    /// By how many bytes the server grew per connection, up to its peak; `None` if that is unknown or it shrank.
    pub growth_per_connection: Option<Estimate>,
}

impl CostFigures {
    pub(super) fn of(rounds: &CountedRounds<'_>) -> Self {
        let measurements = rounds.measurements();
        let over = |figure: fn(&Measurement) -> Option<f64>| over(&measurements, figure);
        let per_cpu_s = rounds.by_round(requests_per_cpu_s);
        Self {
            cpu_ns_per_request: over(|round| round.per_completed(round.server_cpu_s()? * 1e9)),
            requests_per_cpu_s: estimate(&per_cpu_s),
            requests_per_cpu_s_by_round: per_cpu_s,
            instructions_per_request: over(|round| {
                round.per_completed(round.server.as_ref()?.instructions? as f64)
            }),
            cycles_per_request: over(|round| {
                round.per_completed(round.server.as_ref()?.cycles? as f64)
            }),
            joules_per_request: over(|round| round.per_completed(round.noise.energy_j?)),
            growth_per_connection: over(growth_per_connection),
        }
    }
}

fn requests_per_cpu_s(round: &Measurement) -> Option<f64> {
    let (completed, cpu_s) = (round.completed(), round.server_cpu_s()?);
    (completed > 0.0 && cpu_s > 0.0).then(|| completed / cpu_s)
}

/// Held streams are connections too.
fn growth_per_connection(round: &Measurement) -> Option<f64> {
    let server = round.server.as_ref()?;
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

/// What a load cost the generator, per request: the median of the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorFigures {
    /// CPU time per request, in nanoseconds; `None` if there was no request.
    pub cpu_ns_per_request: Option<f64>,
    /// System calls per request; `None` in records from before they were counted.
    pub(crate) system_calls_per_request: Option<f64>,
    /// CPU cycles per request; `None` if the machine has no counter for them.
    pub(crate) cycles_per_request: Option<f64>,
    /// Instructions per request; `None` if the machine has no counter for them.
    pub instructions_per_request: Option<f64>,
    /// The busiest thread's share (0 to 1) of the measured time, in the round with the greatest one.
    pub busy_max: f64,
    /// The event loops that ran, without duplicates.
    pub event_loops: Vec<String>,
}

impl GeneratorFigures {
    pub(super) fn of(rounds: &[&Measurement]) -> Self {
        let costs = || rounds.iter().map(|round| &round.load.generator);
        let event_loops: BTreeSet<&str> = costs().map(|cost| cost.event_loop.as_str()).collect();
        let cpu_ns = |cost: &GeneratorCost| Some((cost.cpu_user_s + cost.cpu_system_s) * 1e9);
        let counted = |calls: u64| (calls > 0).then_some(calls as f64);
        Self {
            cpu_ns_per_request: per_request(rounds, cpu_ns),
            system_calls_per_request: per_request(rounds, |cost| counted(cost.system_calls)),
            cycles_per_request: per_request(rounds, |cost| Some(cost.cycles? as f64)),
            instructions_per_request: per_request(rounds, |cost| Some(cost.instructions? as f64)),
            busy_max: costs().map(|cost| cost.busy_max).fold(0.0, f64::max),
            event_loops: event_loops.into_iter().map(str::to_owned).collect(),
        }
    }
}

fn per_request(
    rounds: &[&Measurement],
    cost: impl Fn(&GeneratorCost) -> Option<f64>,
) -> Option<f64> {
    let of_round = |round: &Measurement| {
        let requests = round.load.requests;
        (requests > 0).then_some(cost(&round.load.generator)? / requests as f64)
    };
    Some(over(rounds, of_round)?.median)
}
