//! Where agents run: each scheduler is one implementation of a small trait.

mod bounded;
mod kubernetes;
mod local;
mod processes;
mod remote;
mod slurm;
mod ssh;

use std::sync::atomic::AtomicBool;

pub use kubernetes::Kubernetes;
pub use local::Local;
pub use processes::Processes;
pub use slurm::Slurm;
pub use ssh::{Ssh, SshSettings};

pub struct Launch<'a> {
    pub agents: usize,
    /// The id of this fleet, which agents repeat in each message: lower-case letters, digits and hyphens.
    pub id: &'a str,
    /// Set if the user stops the command.
    pub interrupt: &'a AtomicBool,
}

pub trait Launcher {
    /// Where agents run, for messages: `kubernetes`, `slurm`, `ssh` or `local`.
    fn name(&self) -> &'static str;

    /// Starts the agents: each as `prony agent --fleet ID --index N`, or with the index in the environment
    /// (`SLURM_PROCID`, `JOB_COMPLETION_INDEX`). If one cannot be started, nothing is left behind.
    fn launch(&self, launch: &Launch<'_>) -> Result<Processes, LaunchError>;
}

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
