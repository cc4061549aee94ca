//! Valgrind: where it is, and the command that runs a program under it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use prony_kernel::on_path;

use crate::bounded;
use crate::instructions::messages::Messages;
use crate::variable::RuntimeVariable;

/// How long valgrind may take to print its version.
const VERSION_TIME: Duration = Duration::from_secs(10);

/// The names of its pipes and of its output begin with these.
pub(crate) const PIPES: &str = "pipe";
pub(crate) const COUNTS: &str = "counts";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    program: PathBuf,
    pub(crate) control: PathBuf,
    version: String,
}

#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    #[error("{0} is not installed")]
    Missing(&'static str),
    #[error("{} does not run: {why}", program.display())]
    Broken {
        program: PathBuf,
        /// What it says, or the error of the system.
        why: String,
    },
}

impl Emulator {
    /// Looks for valgrind, and for its program `vgdb`, through which a running process is controlled.
    ///
    /// # Errors
    /// If one of them is not installed, or if valgrind does not print its version.
    pub fn find() -> Result<Self, EmulatorError> {
        let find = |name| on_path(name).into_iter().next();
        let program = find("valgrind").ok_or(EmulatorError::Missing("valgrind"))?;
        let control = find("vgdb").ok_or(EmulatorError::Missing("vgdb, a part of valgrind,"))?;
        let version = version_of(&program)?;
        Ok(Self {
            program,
            control,
            version,
        })
    }

    /// Its version as it prints it: `valgrind-3.19.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What precedes a program's command so that it runs under the emulator. It counts nothing until [`Control::start`]
    /// switches that on, so that the program starts about ten times as fast as it would otherwise.
    ///
    /// `folder` must exist when the command runs; pipes and counts are there. It may be a text that is replaced by the folder
    /// later. Valgrind's own messages go to `messages`.
    ///
    /// [`Control::start`]: crate::instructions::Control::start
    pub fn before(&self, folder: &str, messages: &Messages) -> Vec<String> {
        vec![
            self.program.display().to_string(),
            "--tool=callgrind".to_owned(),
            // Servers that fork, or that a shell or a launcher starts.
            "--trace-children=yes".to_owned(),
            "--instr-atstart=no".to_owned(),
            format!("--vgdb-prefix={folder}/{PIPES}"),
            format!("--callgrind-out-file={folder}/{COUNTS}.%p"),
            messages.option(),
        ]
    }
}

fn version_of(program: &Path) -> Result<String, EmulatorError> {
    let broken = |why: String| EmulatorError::Broken {
        program: program.to_owned(),
        why,
    };
    let output = bounded::run(Command::new(program).arg("--version"), VERSION_TIME);
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => broken("it did not print its version in 10 s".to_owned()),
        _ => broken(error.to_string()),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find(|line| line.starts_with("valgrind-"));
    match version {
        Some(version) if output.status.success() => Ok(version.trim().to_owned()),
        _ => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let said = errors.lines().chain(text.lines()).next();
            Err(broken(said.unwrap_or("it prints no version").to_owned()))
        }
    }
}

/// The variables with which runtimes do the same work each time.
pub const SETTINGS: [RuntimeVariable; 2] = [
    // Go preempts a goroutine that runs for 10 ms with a signal. Under an emulator that happens often, and costs instructions.
    RuntimeVariable {
        name: "GODEBUG",
        value: "asyncpreemptoff=1",
        separator: Some(','),
    },
    // Python draws the seed of its hashes at each start, and so the number of collisions.
    RuntimeVariable {
        name: "PYTHONHASHSEED",
        value: "0",
        separator: None,
    },
];

/// The options of Node.js (18 to 25) that make V8 do the same work each time: it compiles on the main thread, collects
/// garbage without regard to time, and hashes in the same way at each start. The variable NODE_OPTIONS refuses them.
pub const NODE_OPTIONS: [&str; 4] = [
    "--predictable",
    "--predictable-gc-schedule",
    "--hash-seed=1",
    "--random-seed=1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_valgrind_is_refused() {
        let error = version_of(Path::new("/bin/false")).unwrap_err();
        assert!(matches!(error, EmulatorError::Broken { .. }), "{error}");
        let error = version_of(Path::new("/no/such/valgrind")).unwrap_err();
        assert!(error.to_string().contains("does not run"), "{error}");
    }
}
