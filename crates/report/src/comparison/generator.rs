//! What a load cost the generator itself.

use prony_model::{GeneratorCost, Measurement};

use super::figures::over;

/// What a load cost the generator itself: for one request, the median of the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorFigures {
    /// CPU time for one request, in nanoseconds; `None` where there was none.
    pub cpu_ns_per_request: Option<f64>,
    /// System calls for one request; `None` in records from before they were counted.
    pub system_calls_per_request: Option<f64>,
    /// CPU cycles for one request; `None` where the machine has no counter for them.
    pub cycles_per_request: Option<f64>,
    /// Instructions for one request; `None` where the machine has no counter for them.
    pub instructions_per_request: Option<f64>,
    /// The busiest thread's share (0 to 1) of the measured time, in the round in which it was
    /// greatest.
    pub busy_max: f64,
    /// The event loops that ran, each once.
    pub event_loops: Vec<String>,
}

impl GeneratorFigures {
    pub(super) fn of(rounds: &[&Measurement]) -> Self {
        let costs = || rounds.iter().map(|round| &round.load.generator);
        let mut event_loops: Vec<String> = costs().map(|cost| cost.event_loop.clone()).collect();
        event_loops.sort_unstable();
        event_loops.dedup();
        let cpu_ns = |cost: &GeneratorCost| Some((cost.cpu_user_s + cost.cpu_system_s) * 1e9);
        let counted = |calls: u64| (calls > 0).then_some(calls as f64);
        Self {
            cpu_ns_per_request: per_request(rounds, cpu_ns),
            system_calls_per_request: per_request(rounds, |cost| counted(cost.system_calls)),
            cycles_per_request: per_request(rounds, |cost| Some(cost.cycles? as f64)),
            instructions_per_request: per_request(rounds, |cost| Some(cost.instructions? as f64)),
            busy_max: costs().map(|cost| cost.busy_max).fold(0.0, f64::max),
            event_loops,
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
