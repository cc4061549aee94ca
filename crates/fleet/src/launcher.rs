//! Where agents run: each scheduler is one implementation of a small trait.

mod bounded;
mod kubernetes;
mod local;
mod processes;
mod remote;
mod slurm;
mod ssh;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

pub use kubernetes::{Kubernetes, KubernetesSettings};
pub use local::Local;
pub use processes::Processes;
pub use slurm::{Slurm, SlurmSettings};
pub use ssh::{Ssh, SshSettings};

/// What a launcher starts.
pub struct Launch<'a> {
    /// How many agents.
    pub agents: usize,
    /// The id of this fleet, which agents repeat in each message: lower-case letters, digits and hyphens.
    pub id: &'a str,
    /// Set if the user stops the command.
    pub interrupt: &'a AtomicBool,
}

/// Starts agents.
pub trait Launcher {
    /// Where agents run, for messages: `kubernetes`, `slurm`, `ssh` or `local`.
    fn name(&self) -> &'static str;

    /// Starts the agents: each as `prony agent --fleet ID --index N`, or with the index in the environment
    /// (`SLURM_PROCID`, `JOB_COMPLETION_INDEX`).
    ///
    /// # Errors
    ///
    /// If one could not be started. Nothing is left behind then.
    fn launch(&self, launch: &Launch<'_>) -> Result<Box<dyn Agents>, LaunchError>;
}

/// Agents that were started. Dropping them stops them and removes what was created for them.
pub trait Agents: Send {
    /// Sends one line to all. Does not wait for an agent that does not read.
    ///
    /// # Errors
    ///
    /// If no agent can be reached. The loss of a single one is an event.
    fn send(&mut self, line: &str) -> std::io::Result<()>;

    /// What they wrote, and how they ended.
    fn events(&self) -> &Receiver<Event>;
}

/// What happened to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A line of an agent's standard output. The frame in it names the agent.
    Line(String),
    /// A line of an agent's, or the scheduler's, standard error.
    Note {
        /// Whose; `None` if it is unknown.
        agent: Option<usize>,
        /// The line.
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

/// Why agents could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LaunchError(pub String);
