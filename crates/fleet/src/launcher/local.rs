//! Agents as processes of this host: for tests, and for machines so large that one process cannot load them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::processes::{Processes, allow_files};
use super::{Agents, Launch, LaunchError, Launcher};

/// Starts agents on this host.
#[derive(Clone, Debug)]
pub struct Local {
    program: PathBuf,
}

/// Agents end by themselves at once when their standard input closes.
const GRACE: Duration = Duration::from_secs(1);

impl Local {
    /// Agents of the program that runs.
    ///
    /// # Errors
    ///
    /// If its path is unknown.
    pub fn new() -> Result<Self, LaunchError> {
        match std::env::current_exe() {
            Ok(program) => Ok(Self::of(program)),
            Err(error) => Err(LaunchError(format!(
                "cannot find the program that runs: {error}"
            ))),
        }
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

    fn launch(&self, launch: &Launch<'_>) -> Result<Box<dyn Agents>, LaunchError> {
        allow_files();
        let commands = (0..launch.agents).map(|index| {
            let mut command = Command::new(&self.program);
            command.args(["agent", "--fleet", launch.id, "--index"]);
            command.arg(index.to_string());
            (Some(index), command)
        });
        Ok(Box::new(Processes::start(commands, GRACE)?))
    }
}
