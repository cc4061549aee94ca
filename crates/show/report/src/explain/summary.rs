//! Everything that is shown of a set of explanations.

use prony_model::{CostUnit, Explanation, LoadSpec};

use crate::explain::absent::{self, Absent};
use crate::explain::costs::ServerCosts;

/// What requests cost each server with each workload.
#[derive(Clone, Debug)]
pub struct ExplanationSummary<'a> {
    /// The workloads, in the order in which they come first.
    pub workloads: Vec<WorkloadCosts<'a>>,
    /// What could not be measured, each reason once.
    pub absent: Vec<Absent>,
}

/// What requests of one workload cost each server under one load.
#[derive(Clone, Debug)]
pub struct WorkloadCosts<'a> {
    /// The workload's id.
    pub workload: &'a str,
    pub load: &'a LoadSpec,
    /// What figures are divided by.
    pub unit: CostUnit,
    /// The servers, in the order in which they come first.
    pub servers: Vec<ServerCosts<'a>>,
}

impl<'a> ExplanationSummary<'a> {
    /// Computes everything that is shown.
    pub fn of(explanations: &'a [Explanation]) -> Self {
        let mut workloads: Vec<WorkloadCosts<'a>> = Vec::new();
        for explanation in explanations {
            let costs = ServerCosts::of(explanation);
            match workloads.iter_mut().find(|one| one.has(explanation)) {
                Some(workload) => workload.servers.push(costs),
                None => workloads.push(WorkloadCosts {
                    workload: &explanation.workload,
                    load: &explanation.load,
                    unit: explanation.unit,
                    servers: vec![costs],
                }),
            }
        }
        let servers: Vec<_> = workloads.iter().flat_map(|one| &one.servers).collect();
        Self {
            absent: absent::of(&servers),
            workloads,
        }
    }
}

impl WorkloadCosts<'_> {
    fn has(&self, other: &Explanation) -> bool {
        self.workload == other.workload
            && self.unit == other.unit
            && self.load.same_load(&other.load)
    }

    /// How many rounds the server with most rounds has.
    pub fn rounds(&self) -> usize {
        let rounds = self.servers.iter().map(|server| server.of.rounds.len());
        rounds.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::testing::Builder;

    #[test]
    fn servers_are_side_by_side_only_with_the_same_workload_load_and_unit() {
        let mut other_load = Builder::server("c").done();
        other_load.load.connections += 1;
        let mut other_seed = Builder::server("d").done();
        other_seed.load.seed = 7;
        let all = [
            Builder::server("a").done(),
            Builder::server("b").events().done(),
            other_load,
            other_seed,
        ];
        let summary = ExplanationSummary::of(&all);
        let workloads = summary.workloads.iter();
        let servers = workloads.map(|one| one.servers.iter().map(ServerCosts::server).collect());
        let servers: Vec<Vec<&str>> = servers.collect();
        assert_eq!(servers, [vec!["a", "d"], vec!["b"], vec!["c"]]);
        assert_eq!(summary.workloads[0].rounds(), 5);
    }
}
