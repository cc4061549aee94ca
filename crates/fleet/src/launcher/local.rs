//! Agents as processes of this host: for tests, and for machines so large that one process cannot load them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::processes::{Processes, allow_files};
use super::remote::own;
use super::{Launch, LaunchError, Launcher};

#[derive(Clone, Debug)]
pub struct Local {
    program: PathBuf,
}

/// Agents end by themselves at once when their standard input closes.
const GRACE: Duration = Duration::from_secs(1);

impl Local {
    /// Agents of the program that runs, unless its path is unknown.
    pub fn new() -> Result<Self, LaunchError> {
        own().map(Self::of)
    }

    /// Agents of another program: `prony` or `prony-agent`.
    pub fn of(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
        }
    }
}

impl Launcher for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<Processes, LaunchError> {
        allow_files();
        let commands = (0..launch.agents).map(|index| {
            let mut command = Command::new(&self.program);
            command.args(["agent", "--fleet", launch.id, "--index"]);
            command.arg(index.to_string());
            (Some(index), command)
        });
        Processes::start(commands, GRACE)
    }
}
