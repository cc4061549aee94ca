//! What generates the loads of a run: this process, or agents.

use std::cell::OnceCell;
use std::sync::atomic::AtomicBool;

use prony_load::{LoadError, LoadPlan, LoadRunner, Progress, ThisProcess};
use prony_model::{CpuAssignment, LoadResult, LoadSpec, RunFleet};

use super::bench::Testbed;

/// Generates the loads of a run.
pub struct Generator<'a> {
    runner: &'a dyn LoadRunner,
    agents: Option<Agents>,
    /// Why it can generate no load any more.
    lost: OnceCell<String>,
}

/// The agents that generate the loads of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agents {
    /// Where they run: `kubernetes`, `slurm`, `ssh` or `local`.
    pub on: String,
    /// How many there are.
    pub count: usize,
    /// How many threads each may use.
    pub threads: usize,
    /// Whether they run on this machine, beside the server.
    pub are_here: bool,
}

/// How many agents share a load, and with how many threads each.
struct Sharing {
    agents: usize,
    threads: usize,
}

impl Agents {
    /// How many threads all of them may use together.
    pub fn all_threads(&self) -> usize {
        self.count.saturating_mul(self.threads)
    }

    /// How many threads they use together for a load, whatever its number for one process is.
    pub fn threads_of(&self, spec: &LoadSpec) -> usize {
        let sharing = self.sharing(&LoadSpec {
            threads: self.all_threads().min(spec.connections),
            ..spec.clone()
        });
        sharing.agents * sharing.threads
    }

    /// How many of them, and with how many threads each, share a load: as many as have a connection.
    fn sharing(&self, spec: &LoadSpec) -> Sharing {
        let agents = self.count.min(spec.threads).max(1);
        let threads = (spec.threads / agents).clamp(1, self.threads.max(1));
        Sharing { agents, threads }
    }
}

impl<'a> Generator<'a> {
    /// This process, if there are no agents; otherwise `runner` runs the loads of the agents.
    fn new(runner: &'a dyn LoadRunner, agents: Option<Agents>) -> Self {
        Self {
            runner,
            agents,
            lost: OnceCell::new(),
        }
    }

    pub fn this_process() -> Self {
        Self::new(&ThisProcess, None)
    }

    /// Agents, whose loads `runner` runs.
    pub fn agents(runner: &'a dyn LoadRunner, agents: Agents) -> Self {
        Self::new(runner, Some(agents))
    }

    /// The agents; `None` if this process generates the loads.
    pub fn fleet(&self) -> Option<&Agents> {
        self.agents.as_ref()
    }

    /// What the record of a run says about them.
    pub(super) fn recorded(&self) -> Option<RunFleet> {
        self.agents.as_ref().map(|agents| RunFleet {
            on: agents.on.clone(),
            agents: agents.count,
        })
    }

    /// Whether the loads come from other machines.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.agents.as_ref().is_some_and(|agents| !agents.are_here)
    }

    /// The CPUs of server and load on this machine. Agents elsewhere use none of it.
    pub(super) fn cpus(&self, testbed: &Testbed) -> CpuAssignment {
        if self.is_elsewhere() {
            CpuAssignment {
                load: Vec::new(),
                ..testbed.cpus.clone()
            }
        } else {
            testbed.cpus.clone()
        }
    }

    /// Why it can generate no load any more, if that is so.
    pub fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Divides the load among the agents, if there are any.
    pub(super) fn divide(&self, spec: &LoadSpec, plan: LoadPlan) -> LoadPlan {
        let Some(agents) = &self.agents else {
            return plan;
        };
        let sharing = agents.sharing(spec);
        plan.with(|plan| {
            plan.agents = sharing.agents;
            plan.load.threads = sharing.threads;
            if !agents.are_here {
                plan.here.cpus.clear();
            }
        })
    }
}

impl LoadRunner for Generator<'_> {
    fn run(
        &self,
        plan: &LoadPlan,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, LoadError> {
        let result = self.runner.run(plan, interrupt, observe);
        if let Err(LoadError::Fleet(error)) = &result {
            // The agents are gone, so no further load can be run.
            let _ = self.lost.set(error.to_string());
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::load_plan;

    fn agents(count: usize, threads: usize) -> Agents {
        Agents {
            on: "local".into(),
            count,
            threads,
            are_here: true,
        }
    }

    fn spec(threads: usize) -> LoadSpec {
        LoadSpec {
            threads,
            connections: 64,
            ..LoadSpec::default()
        }
    }

    #[test]
    fn as_many_agents_share_a_load_as_it_has_threads_for() {
        assert_eq!(agents(3, 2).all_threads(), 6);
        // A suite may name a number of threads that cannot be divided: 4.
        let shared = |count, each, threads| {
            let Sharing { agents, threads } = agents(count, each).sharing(&spec(threads));
            (agents, threads)
        };
        for (threads, expected) in [(6, (3, 2)), (1, (1, 1)), (2, (2, 1)), (4, (3, 1))] {
            assert_eq!(shared(3, 2, threads), expected, "{threads}");
        }
        assert_eq!(shared(3, 1, 64), (3, 1));
        let few = LoadSpec {
            connections: 4,
            ..spec(1)
        };
        // 4 threads cannot be divided among 3 agents.
        assert_eq!(agents(3, 2).threads_of(&few), 3);
        assert_eq!(agents(3, 2).threads_of(&spec(1)), 6);
    }

    #[test]
    fn a_load_of_few_connections_is_one_of_as_many_agents() {
        let generator = Generator::agents(&Losing, agents(12, 4));
        for (connections, shared) in [(1, (1, 1)), (5, (5, 1)), (12, (12, 1)), (64, (12, 4))] {
            let mut spec = spec(1);
            spec.connections = connections;
            spec.threads = agents(12, 4).threads_of(&spec);
            let plan = load_plan().with(|plan| {
                plan.load.connections = connections;
                plan.load.max_connections = Some(connections);
                plan.load.requests = Some(1000);
            });
            let plan = generator.divide(&spec, plan);
            assert_eq!((plan.agents, plan.load.threads), shared, "{connections}");
            assert_eq!(plan.validate(), Ok(()));
        }
    }

    /// Loses its agents in its first load.
    struct Losing;

    impl LoadRunner for Losing {
        fn run(
            &self,
            _: &LoadPlan,
            _: &AtomicBool,
            _: &mut dyn FnMut(Progress),
        ) -> Result<LoadResult, LoadError> {
            Err(LoadError::Fleet("agent 2 on node-b: it ended".into()))
        }
    }

    #[test]
    fn a_lost_agent_ends_all_later_loads() {
        let generator = Generator::agents(&Losing, agents(3, 1));
        assert_eq!(generator.lost(), None);
        let plan = generator.divide(&spec(3), load_plan());
        assert_eq!((plan.agents, plan.load.threads), (3, 1));
        let load = generator.run(&plan, &AtomicBool::new(false), &mut |_| {});
        assert!(load.is_err());
        assert_eq!(generator.lost(), Some("agent 2 on node-b: it ended"));
    }
}
