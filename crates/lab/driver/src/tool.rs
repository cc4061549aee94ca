//! An installed tool.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_kernel::{is_program, on_path};

use crate::command::{End, Load, Unsupported};
use crate::manifest::Manifest;
use crate::output::{ReadError, Reported};
use crate::process::{self, RunError, Usage, last_lines};

/// How much longer than its load a tool may take.
const SPARE_TIME: Duration = Duration::from_secs(30);
/// How long a load may take that ends after a number of requests.
const REQUESTS_TIME: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct Tool {
    pub id: String,
    pub manifest: Manifest,
    pub version: Option<String>,
    program: PathBuf,
    prony: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("{title} is not installed; to install it: {install}")]
pub struct FindError {
    pub title: String,
    pub install: String,
}

/// The result of one run of a tool: its own report, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverResult {
    /// The command, with the program's name only.
    pub command: Vec<String>,
    pub reported: Reported,
    /// What it used, its start and end included.
    pub usage: Usage,
}

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}: {1}")]
    Read(ReadError, String),
}

impl Tool {
    /// Looks for a driver's program in `PATH` and runs it to learn its version; `prony` is Prony's own program.
    pub fn find(id: &str, manifest: &Manifest, prony: &Path) -> Result<Tool, FindError> {
        let name = manifest.program_with(prony);
        let program = find_program(&name).ok_or_else(|| FindError {
            title: manifest.title.clone(),
            install: manifest.install.clone(),
        })?;
        Ok(Tool {
            id: id.to_owned(),
            version: version(manifest, &program),
            manifest: manifest.clone(),
            program,
            prony: prony.to_owned(),
        })
    }

    /// `wrk 4.1.0`, or its name alone if its version is unknown.
    pub fn name_and_version(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.manifest.title),
            None => self.manifest.title.clone(),
        }
    }

    pub fn unsupported(&self, load: &Load) -> Option<Unsupported> {
        self.manifest.invocation(load, &self.prony).err()
    }

    /// Runs a load on `cpus`, or on all of them if the list is empty.
    ///
    /// # Errors
    /// If it cannot generate that load, fails, takes too long, prints something its manifest does not describe, or
    /// `interrupt` is set.
    ///
    /// However it ends, even if this process is killed, no process of its group is left: the tool and what it started,
    /// except for daemons with a group of their own.
    pub fn run(
        &self,
        load: &Load,
        cpus: &[usize],
        interrupt: &AtomicBool,
    ) -> Result<DriverResult, DriveError> {
        let invocation = self.manifest.invocation(load, &self.prony)?;
        let mut command = Command::new(&self.program);
        command
            .args(&invocation.arguments)
            .envs(invocation.environment.iter().cloned());
        let ended = process::run(&mut command, cpus, time_limit(load), interrupt)?;
        let reported = self.manifest.output().read(&ended.stdout);
        Ok(DriverResult {
            command: self.shown_command(invocation.arguments),
            reported: reported
                .map_err(|error| DriveError::Read(error, last_lines(&ended.stdout, 3)))?,
            usage: ended.usage,
        })
    }

    /// The command as typed in a shell, with the program's name only.
    fn shown_command(&self, arguments: Vec<String>) -> Vec<String> {
        let program = self.program.file_name().unwrap_or(self.program.as_os_str());
        let mut words = vec![program.to_string_lossy().into_owned()];
        words.extend(arguments);
        words
    }
}

fn time_limit(load: &Load) -> Duration {
    match load.end {
        End::After(duration) => duration + SPARE_TIME,
        End::Requests(_) => REQUESTS_TIME,
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        Some(PathBuf::from(name)).filter(|path| is_program(path))
    } else {
        on_path(name).into_iter().next()
    }
}

/// Ignores the exit code: many tools print their version and fail.
fn version(manifest: &Manifest, program: &Path) -> Option<String> {
    let command = manifest.version.as_ref()?;
    let output = Command::new(program)
        .args(&command.arguments)
        .output()
        .ok()?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let captures = command.pattern.0.captures(&printed)?;
    Some(captures.get(1)?.as_str().to_owned())
}
