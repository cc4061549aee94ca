//! One server's figures over its rounds.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{CostFigure, CostRound, Explanation};
use prony_stats::Estimate;

use crate::explain::functions::{Function, heaviest};

/// What a request (or event) of one workload costs one server: medians over rounds with their 95 % intervals.
#[derive(Clone, Debug)]
pub struct ServerCosts<'a> {
    /// What was measured.
    pub of: &'a Explanation,
    /// Each figure that some round has. The units are those of [`CostFigure`].
    pub figures: BTreeMap<CostFigure, Estimate>,
    /// System calls by name, for each request; empty if they could not be counted.
    pub system_calls: BTreeMap<&'a str, Estimate>,
    /// The part of the CPU time that is in the kernel, from 0 to 1.
    pub(crate) kernel_share: Option<Estimate>,
    /// How much more CPU time a request took while system calls were counted, as a share.
    pub tracing_cost: Option<Estimate>,
    /// The functions that used most CPU time, the heaviest first; empty without a profile.
    pub functions: Vec<Function<'a>>,
}

impl<'a> ServerCosts<'a> {
    /// The figures of a server.
    pub fn of(explanation: &'a Explanation) -> Self {
        let rounds = &explanation.rounds;
        let figures = CostFigure::ALL.into_iter().filter_map(|figure| {
            let of_rounds = rounds.iter().filter_map(|round| round.figures.get(&figure));
            Some((figure, estimate(of_rounds.copied())?))
        });
        let costs = rounds.iter().filter_map(|round| round.tracing_cost);
        Self {
            of: explanation,
            figures: figures.collect(),
            system_calls: system_calls(rounds),
            kernel_share: estimate(rounds.iter().filter_map(kernel_share)),
            tracing_cost: estimate(costs),
            functions: explanation.on_cpu.as_ref().map_or_else(Vec::new, heaviest),
        }
    }

    /// The server's id.
    pub fn server(&self) -> &'a str {
        &self.of.server
    }

    pub fn figure(&self, figure: CostFigure) -> Option<&Estimate> {
        self.figures.get(&figure)
    }

    /// How often a request makes this system call; `None` if calls could not be counted by name, or it makes none.
    pub fn call(&self, name: &str) -> Option<&Estimate> {
        self.system_calls.get(name)
    }
}

/// The estimate over the rounds that have the figure.
pub(super) fn estimate(rounds: impl Iterator<Item = f64>) -> Option<Estimate> {
    Estimate::of(&rounds.collect::<Vec<_>>())
}

/// The rounds in which calls were counted by name.
fn counted(rounds: &[CostRound]) -> impl Iterator<Item = &CostRound> {
    rounds.iter().filter(|round| !round.system_calls.is_empty())
}

/// A call that a round does not name was not made in it.
fn system_calls(rounds: &[CostRound]) -> BTreeMap<&str, Estimate> {
    let names: BTreeSet<&str> = counted(rounds)
        .flat_map(|round| round.system_calls.keys().map(String::as_str))
        .collect();
    let calls = names.into_iter().filter_map(|name| {
        let times = |round: &CostRound| round.system_calls.get(name).copied().unwrap_or(0.0);
        Some((name, estimate(counted(rounds).map(times))?))
    });
    calls.collect()
}

fn kernel_share(round: &CostRound) -> Option<f64> {
    let figure = |figure| round.figures.get(&figure).copied();
    let (user, kernel) = (figure(CostFigure::CpuUser)?, figure(CostFigure::CpuKernel)?);
    Some(kernel / (user + kernel)).filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::testing::Builder;

    #[test]
    fn a_figure_is_the_median_of_the_rounds_that_have_it() {
        let builder = Builder::server("a").exactly(CostFigure::Cpu, &[3.0, 1.0, 2.0]);
        let mut one = builder.done();
        one.rounds.push(CostRound::default());
        let costs = ServerCosts::of(&one);
        let cpu = costs.figure(CostFigure::Cpu).unwrap();
        assert_eq!((cpu.median, cpu.n), (2.0, 3));
        assert!(cpu.low < 1.0 && cpu.high > 3.0, "few rounds, wide interval");
        assert_eq!(costs.figure(CostFigure::Cycles), None);
    }

    #[test]
    fn a_call_that_only_some_rounds_name_was_not_made_in_the_others() {
        let mut one = Builder::server("a").call("read", 1.0).done();
        for round in &mut one.rounds[..2] {
            round.system_calls.insert("futex".into(), 0.5);
        }
        one.rounds[4].system_calls.clear();
        let costs = ServerCosts::of(&one);
        let futex = costs.call("futex").unwrap();
        assert_eq!((futex.median, futex.n), (0.25, 4));
        assert_eq!(costs.call("read").unwrap().n, 4);
        assert_eq!(costs.call("write"), None);
    }

    #[test]
    fn the_share_of_the_kernel_is_that_within_rounds() {
        let user = || Builder::server("a").exactly(CostFigure::CpuUser, &[1.0, 2.0]);
        let both = user().exactly(CostFigure::CpuKernel, &[3.0, 6.0]).done();
        let share = ServerCosts::of(&both).kernel_share.unwrap();
        assert_eq!((share.median, share.low, share.high), (0.75, 0.75, 0.75));
        assert_eq!(ServerCosts::of(&user().done()).kernel_share, None);
    }
}
