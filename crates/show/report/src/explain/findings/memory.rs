//! Memory that grows, and pages that are mapped again and again.

use prony_model::CostFigure;
use prony_present::number::{about_times, bytes, interval};

use super::{above, each, named};
use crate::explain::costs::ServerCosts;
use crate::explain::summary::WorkloadCosts;

/// Memory grows if every round adds more than this for each request, in bytes.
const LEAST_GROWTH: f64 = 16.0;
/// With fewer rounds, growth in each of them says little.
const LEAST_ROUNDS: usize = 3;

/// Which servers' memory grew in every round.
pub(super) fn growth(workload: &WorkloadCosts<'_>) -> Option<String> {
    let named = named(workload, |server| {
        let growth = server.figure(CostFigure::HeapGrowth);
        let growth = growth.filter(|_| grew_in_every_round(server))?;
        let per_thousand = interval(growth.low * 1000.0, growth.high * 1000.0, bytes);
        Some((above(Some(growth), LEAST_GROWTH)?, per_thousand))
    })?;
    Some(format!(
        "The memory of {} grew in every round, by this much for 1,000 {}s, which may be a leak, or a heap that has not reached its limit.",
        named.words,
        workload.unit.name()
    ))
}

fn grew_in_every_round(server: &ServerCosts<'_>) -> bool {
    let rounds = &server.of.rounds;
    let grew = rounds.iter().filter(|round| {
        let growth = round.figures.get(&CostFigure::HeapGrowth);
        growth.is_some_and(|growth| *growth > LEAST_GROWTH)
    });
    rounds.len() >= LEAST_ROUNDS && grew.count() == rounds.len()
}

/// Page faults matter from this many for each request on.
const LEAST_FAULTS: f64 = 0.5;

/// Which servers have the kernel map memory for nearly every request.
pub(super) fn faults(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let faults = above(server.figure(CostFigure::MinorFaults), LEAST_FAULTS)?;
        Some((faults, about_times(faults)))
    })?;
    let servers = servers.and("uses", "use");
    Some(format!(
        "{servers} memory that the kernel has to map first, as often {} (page faults).",
        each(workload.unit)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_says;
    use super::*;

    #[test]
    fn memory_that_grows_in_every_round_is_mentioned() {
        assert_says(
            growth,
            "
            a heap-growth=100,101,99,100,100 | The memory of a (96.…KiB) grew in every round, by this much for 1,000 requests,…
            // The interval reaches lower.
            a heap-growth=100,100,100,100,17 | -
            a heap-growth=100,100,100,100,0 | -
            a heap-growth=17,17,17 | …
            // Too little, and too few rounds.
            a heap-growth=16,16,16 | -
            a heap-growth=100,100 | -
            ",
        );
    }

    #[test]
    fn page_faults_are_mentioned_from_every_second_request_on() {
        assert_says(
            faults,
            "
            a minor-faults=2.1 | a (2.1) uses memory that the kernel has to map first, as often a request (page faults).
            a minor-faults=0.52 | …
            a minor-faults=0.5 | -
            ",
        );
    }
}
