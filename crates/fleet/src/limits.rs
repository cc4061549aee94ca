//! How long a fleet waits for its agents.

use std::time::Duration;

use crate::error::AgentName;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the first reply of every agent.
    pub launch: Duration,
    /// For the next message of an agent. It sends at least one per second.
    pub silence: Duration,
    /// For every agent to have prepared a load.
    pub prepare: Duration,
    /// How late an agent may begin.
    pub start_lag: Duration,
    /// How far apart agents may begin before the result has a warning.
    pub start_spread: Duration,
    /// For results, after the longest time that the load may take.
    pub result: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            launch: Duration::from_secs(60),
            silence: Duration::from_secs(3),
            prepare: Duration::from_secs(60),
            start_lag: Duration::from_millis(50),
            start_spread: Duration::from_millis(5),
            result: Duration::from_secs(30),
        }
    }
}

/// An agent that may soon be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentAgent {
    pub agent: AgentName,
    /// For how long it has sent nothing.
    pub silent: Duration,
}
