//! Why a load of a fleet is invalid.

use std::fmt;
use std::time::Duration;

use crate::launcher::LaunchError;

/// An agent, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentName {
    pub index: usize,
    /// Its host, if it has told it.
    pub host: Option<String>,
}

impl AgentName {
    pub(crate) fn sent_foreign(self, what: &str) -> FleetError {
        let fault = format!("sent {what}, which does not belong to this load");
        FleetError::Faulty { agent: self, fault }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "agent {} on {host}", self.index),
            None => write!(f, "agent {}", self.index),
        }
    }
}

/// More agents are counted, not named.
const NAMED: usize = 8;

pub(crate) fn in_words(agents: &[AgentName]) -> String {
    let named = agents.iter().take(NAMED).map(AgentName::to_string);
    let named = named.collect::<Vec<_>>().join(", ");
    match agents.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Why a load of a fleet is invalid. Nothing of it is reported, and its agents are stopped. Notes are the last lines that an
/// agent or the scheduler wrote to standard error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FleetError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("you stopped it before every agent had replied")]
    Interrupted,
    #[error("a fleet needs from 1 to {most} agents, not {given}", most = prony_load::MOST_AGENTS)]
    Count { given: usize },
    #[error("the load is for {wanted} agents, and the fleet has {there}: use fewer, or start more")]
    TooFew { wanted: usize, there: usize },
    #[error(
        "{of} agents were started, and {agents} did not reply within {} s{notes}; check that the scheduler has room for all of them, or use fewer agents",
        .within.as_secs()
    )]
    NotPlaced {
        agents: String,
        of: usize,
        within: Duration,
        notes: String,
    },
    /// It runs another version, sent what it should not, or cannot run its part.
    #[error("{agent} {fault}")]
    Faulty { agent: AgentName, fault: String },
    #[error("{agent} was lost: {reason}{notes}")]
    Ended {
        agent: AgentName,
        reason: String,
        notes: String,
    },
    #[error("{how}: {reason}{notes}")]
    AllLost {
        how: &'static str,
        reason: String,
        notes: String,
    },
    #[error(
        "{agent} has sent nothing for {:.1} s: its process hangs, its host is overloaded, or the network to it is cut{notes}",
        .silent.as_secs_f64()
    )]
    Silent {
        agent: AgentName,
        silent: Duration,
        notes: String,
    },
    /// A line of an agent, or of what passes as one, is wrong.
    #[error("{0}")]
    Frame(String),
    #[error(
        "{agents} had not prepared the load within {} s: check that the target accepts connections from there",
        .within.as_secs()
    )]
    NotReady { agents: String, within: Duration },
    #[error(
        "{agent} began {:.1} ms after the agreed instant, more than the {} ms allowed: its host is overloaded",
        .lag.as_secs_f64() * 1e3,
        .most.as_millis()
    )]
    LateStart {
        agent: AgentName,
        lag: Duration,
        most: Duration,
    },
    #[error("{agents} sent no result within {} s of the end of the load", .within.as_secs())]
    NoResult { agents: String, within: Duration },
    #[error("{0}")]
    NotPortable(String),
    #[error("the fleet was lost before this load: {0}")]
    Lost(Box<FleetError>),
}
