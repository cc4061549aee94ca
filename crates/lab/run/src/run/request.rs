//! What a run needs.

use prony_driver::Tool;
use prony_server::Server;

use super::bench::{Task, Testbed};
use super::explain::ExplainPlan;
use super::generator::Generator;
use crate::plan::Measure;
use crate::suite::Suite;

/// What a run needs.
pub struct RunRequest<'a> {
    /// The run's id.
    pub id: String,
    pub testbed: Testbed,
    /// The suite, for its name, its notes, its published tables, and whether it adds rounds as needed.
    pub suite: &'a Suite,
    pub servers: Vec<&'a Server>,
    /// The workloads with their expected responses.
    pub tasks: Vec<Task>,
    /// The workloads with their loads and rounds; with adaptive rounds, the maximum.
    pub measures: Vec<Measure>,
    /// The server that the others are compared with; `None` for the ceiling (reference server), or the first one
    /// without it.
    pub baseline: Option<String>,
    /// Servers that are compared with each other: if one of them is kept running because it takes long to warm up, so
    /// are the others, and if one of them cannot be measured, the others are not measured either.
    pub alike: Vec<String>,
    /// The seed of the order.
    pub seed: u64,
    /// The command line.
    pub command: Vec<String>,
    /// The tool that generates the load; `None` for Prony's own engine.
    pub driver: Option<Tool>,
    /// What runs Prony's own engine.
    pub generator: Generator<'a>,
    /// How the servers are explained after the trials; `None` if they are not.
    pub explain: Option<ExplainPlan>,
}

impl<'a> RunRequest<'a> {
    /// A run of a fixed number of rounds in an order drawn from `seed`, with the load from this process.
    pub fn new(
        id: String,
        testbed: Testbed,
        suite: &'a Suite,
        servers: Vec<&'a Server>,
        tasks: Vec<Task>,
        measures: Vec<Measure>,
        seed: u64,
    ) -> Self {
        Self {
            id,
            testbed,
            suite,
            servers,
            tasks,
            measures,
            baseline: None,
            alike: Vec::new(),
            seed,
            command: Vec::new(),
            driver: None,
            generator: Generator::this_process(),
            explain: None,
        }
    }

    /// The number of rounds of its longest measure.
    pub fn rounds(&self) -> u32 {
        let rounds = self.measures.iter().map(|measure| measure.rounds);
        rounds.max().unwrap_or(0)
    }
}
