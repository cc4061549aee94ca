//! What a fleet and its agents tell one another: one JSON value a line.

use prony_load::{LoadPlan, PartResult, Progress};
use serde::{Deserialize, Serialize};

/// The version of Prony, which must be the same on all hosts: messages have no other version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// From the fleet to its agents. Each line goes to all of them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetMessage {
    /// Reply at once. An agent that hears nothing for a while stops.
    Ping {
        number: u64,
    },
    /// Prepare a load: build the plan, and open the connections of a rate.
    Prepare {
        /// Counts the loads of the fleet.
        load: u64,
        /// The whole load. The first agents take their parts, as many as share it, and the others ignore it.
        plan: Box<LoadPlan>,
    },
    Start {
        load: u64,
        /// The instant for each agent that shares it, by its index: nanoseconds of the agent's own clock.
        at_ns: Vec<u64>,
    },
    /// End the load now, and send the result so far.
    Stop {
        load: u64,
    },
    End,
}

/// From an agent to its fleet. `P` is what the agent counted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentMessage<P = PartResult> {
    Pong {
        number: u64,
        /// The agent's clock when it replied, in nanoseconds.
        clock_ns: u64,
        host: Host,
    },
    /// A long message of the fleet is arriving. It shows that the agent lives, although it cannot reply to pings.
    Receiving,
    /// The load is prepared, and waits for its start.
    Ready {
        load: u64,
    },
    /// How far the load has come. It also shows that the agent lives.
    Running {
        load: u64,
        progress: Box<Progress>,
    },
    Result {
        load: u64,
        part: Box<P>,
    },
    Failed {
        load: u64,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name: that of the node, if the scheduler tells it.
    pub name: String,
    /// How many CPUs the agent may use.
    pub cpus: usize,
    pub version: String,
}
