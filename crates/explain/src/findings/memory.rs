//! Memory that grows, and pages that are mapped again and again.

use prony_model::{CostFigure, CostUnit};
use prony_present::number::{about_times, bytes, interval};

use super::{Case, above, each, named};
use crate::costs::ServerCosts;
use crate::summary::WorkloadCosts;

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
    use super::super::tests::says;
    use super::*;
    use crate::made::Made;

    fn growing(rounds: &[f64]) -> Option<String> {
        says(
            growth,
            &[Made::server("a")
                .exactly(CostFigure::HeapGrowth, rounds)
                .done()],
        )
    }

    #[test]
    fn memory_that_grows_in_every_round_is_mentioned() {
        let sentence = growing(&[100.0, 101.0, 99.0, 100.0, 100.0]).unwrap();
        assert!(sentence.starts_with("The memory of a (96."), "{sentence}");
        assert!(
            sentence.contains("KiB) grew in every round, by this much for 1,000 requests,"),
            "{sentence}"
        );
    }

    #[test]
    fn memory_that_once_did_not_grow_is_not() {
        assert!(
            growing(&[100.0, 100.0, 100.0, 100.0, 17.0]).is_none(),
            "the interval reaches lower"
        );
        assert!(growing(&[100.0, 100.0, 100.0, 100.0, 0.0]).is_none());
        assert!(growing(&[17.0, 17.0, 17.0]).is_some());
        assert!(growing(&[16.0, 16.0, 16.0]).is_none(), "too little");
        assert!(growing(&[100.0, 100.0]).is_none(), "too few rounds");
    }

    #[test]
    fn page_faults_are_mentioned_from_every_second_request_on() {
        let with = |times| {
            says(
                faults,
                &[Made::server("a")
                    .with(CostFigure::MinorFaults, times)
                    .done()],
            )
        };
        assert_eq!(
            with(2.1).unwrap(),
            "a (2.1) uses memory that the kernel has to map first, as often a request (page faults)."
        );
        assert!(with(0.52).is_some());
        assert_eq!(with(0.5), None);
    }
}
