//! What happens to agents, and why they could not be started.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A line of an agent's standard output. The frame in it names the agent.
    Line(String),
    /// A line of an agent's, or the scheduler's, standard error.
    Note {
        /// Whose; `None` if it is unknown.
        agent: Option<usize>,
        text: String,
    },
    /// An agent ended, or can no longer be reached.
    Ended {
        /// Which one; `None` for all.
        agent: Option<usize>,
        /// Why, in the scheduler's words.
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LaunchError(pub String);
