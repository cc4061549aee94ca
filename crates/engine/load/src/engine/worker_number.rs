//! Which worker a thread is, among those of all agents.

use super::pacer::random_source;
use crate::plan::{LoadPlan, share_of, shares_before};

/// A worker's number among those of all agents, from 0 on. All that a worker does depends on it alone, so agents generate
/// the load that one process with as many threads would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerNumber {
    pub(super) worker: usize,
    /// How many there are.
    pub(super) workers: usize,
}

impl WorkerNumber {
    /// The number of an agent's thread. Agents take turns, so that their shares differ by one of anything at most.
    pub(super) fn of(plan: &LoadPlan, agent: usize, thread: usize) -> Self {
        Self {
            worker: agent + plan.agents * thread,
            workers: plan.all_threads(),
        }
    }

    /// The numbers of all threads of an agent.
    pub(super) fn all_of(plan: &LoadPlan, agent: usize) -> impl Iterator<Item = Self> {
        (0..plan.load.threads).map(move |thread| Self::of(plan, agent, thread))
    }

    /// Its share of a number that all workers share.
    pub(super) fn share(self, whole: u64) -> u64 {
        share_of(whole, self.workers as u64, self.worker as u64)
    }

    /// The shares of those before it.
    pub(super) fn before(self, whole: u64) -> u64 {
        shares_before(whole, self.workers as u64, self.worker as u64)
    }

    /// A random source that no other worker has.
    pub(super) fn random(self, seed: u64) -> fastrand::Rng {
        random_source(seed, self.worker as u64)
    }
}

/// An agent's share of a number that all workers of all agents share.
pub(super) fn share_of_agent(plan: &LoadPlan, agent: usize, whole: u64) -> u64 {
    let numbers = WorkerNumber::all_of(plan, agent);
    numbers.map(|number| number.share(whole)).sum()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use prony_model::{Arrivals, Schedule};
    use proptest::prelude::*;

    use super::super::pacer::{Pacer, Rate, SharedBudget};
    use super::*;
    use prony_traffic::RequestParts;

    fn plan(agents: usize, threads: usize) -> LoadPlan {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
        let request = RequestParts::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
        LoadPlan::new(address.into(), "http://a/", request).with(|plan| {
            plan.agents = agents;
            plan.load.threads = threads;
        })
    }

    #[test]
    fn even_arrivals_of_agents_take_turns() {
        let plan = plan(3, 2);
        let budget = SharedBudget::new(None);
        let first = |agent, thread| {
            let number = WorkerNumber::of(&plan, agent, thread);
            let schedule = Schedule::constant(Arrivals::Even, 1000.0);
            let random = number.random(7);
            let mut pacer = Rate::new(schedule, number, &budget, false, false, random);
            pacer.start(0);
            let first = pacer.next_arrival() / 1_000_000;
            assert!(pacer.take_arrival());
            [first, pacer.next_arrival() / 1_000_000]
        };
        let of_agent = |agent| [first(agent, 0), first(agent, 1)].concat();
        // Every 3rd of one arrival per millisecond, by two threads in turn.
        assert_eq!(of_agent(0), [0, 6, 3, 9]);
        assert_eq!(of_agent(1), [1, 7, 4, 10]);
        assert_eq!(of_agent(2), [2, 8, 5, 11]);
    }

    proptest! {
        #[test]
        fn agents_divide_everything_exactly_and_evenly(
            agents in 1usize..12,
            threads in 1usize..8,
            whole in 0u64..100_000,
        ) {
            let plan = plan(agents, threads);
            let numbers = |agent| WorkerNumber::all_of(&plan, agent);
            let mut all: Vec<usize> =
                (0..agents).flat_map(numbers).map(|number| number.worker).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..agents * threads).collect::<Vec<_>>());
            let share = |agent| share_of_agent(&plan, agent, whole);
            let shares: Vec<u64> = (0..agents).map(share).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), whole);
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}
