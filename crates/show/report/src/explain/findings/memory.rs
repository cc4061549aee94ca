//! Memory that grows, and pages that are mapped again and again.

use prony_model::{CostFigure, CostUnit};
use prony_present::number::{about_times, bytes, interval};

use super::{Case, above, each, named};
use crate::explain::costs::ServerCosts;
use crate::explain::summary::WorkloadCosts;

/// Memory grows if every round adds more than this for each request, in bytes.
const LEAST_GROWTH: f64 = 16.0;
/// With fewer rounds, growth in each of them says little.
const LEAST_ROUNDS: usize = 3;

/// Which servers' memory grew in every round.
pub fn growth(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = workload.servers.iter().filter_map(|server| {
        let growth = server
            .figure(CostFigure::HeapGrowth)
            .filter(|_| grew_in_every_round(server))?;
        let per_thousand = interval(growth.low * 1000.0, growth.high * 1000.0, bytes);
        above(growth, LEAST_GROWTH).then(|| Case::new(server, growth.median, per_thousand))
    });
    let named = named(cases.collect())?;
    let units = match workload.unit {
        CostUnit::Request => "requests",
        CostUnit::Event => "events",
    };
    Some(format!(
        "The memory of {} grew in every round, by this much for 1,000 {units}, which may be a leak, or a heap that has not reached its limit.",
        named.words
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
pub fn faults(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = workload.servers.iter().filter_map(|server| {
        let faults = server
            .figure(CostFigure::MinorFaults)
            .filter(|faults| above(faults, LEAST_FAULTS))?;
        Some(Case::new(server, faults.median, about_times(faults.median)))
    });
    let servers = named(cases.collect())?.and("uses", "use");
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
