//! Where agents run: each scheduler is one implementation of a small trait.

mod bounded;
mod event;
mod kubernetes;
mod local;
mod processes;
mod remote;
mod slurm;
mod ssh;

use std::sync::atomic::AtomicBool;

pub use event::{Event, LaunchError};
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
