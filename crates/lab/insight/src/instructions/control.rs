//! Switches the counting of a running program on and off, and has its counts written.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bounded;
use crate::instructions::emulator::{COUNTS, Emulator, PIPES};
use crate::instructions::profile::{InstructionCount, ProfileError};

/// How long a process may take to do what vgdb wants. Writing the counts of a large program takes seconds.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// After how long vgdb interrupts a process that waits in a system call, as a server without requests does, in
/// milliseconds. Its default of 100 would be most of the time that a command takes.
const INTERRUPT_AFTER_MS: u32 = 5;

/// The most processes of a program: each costs a few calls of `vgdb`.
const MOST_PROCESSES: usize = 256;

/// Controls the emulator in every process of one program.
#[derive(Clone, Debug)]
pub struct Control {
    vgdb: PathBuf,
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("cannot read {}: {source}", path.display())]
    Folder {
        /// The folder, or a file in it.
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "no process of the server runs under valgrind; does it start through a program that valgrind does not follow, such as \
         one with the setuid bit?"
    )]
    NoProcess,
    #[error(
        "the server has {0} processes; Prony counts the instructions of at most {MOST_PROCESSES}"
    )]
    TooMany(usize),
    #[error("vgdb could not tell process {pid} to `{command}`: {why}")]
    Command {
        pid: i32,
        command: &'static str,
        /// What vgdb wrote, or the error of the system.
        why: String,
    },
    #[error("valgrind wrote no counts for process {0}")]
    NoCounts(i32),
    #[error("the counts that valgrind wrote for process {pid} cannot be used: {source}")]
    Counts { pid: i32, source: ProfileError },
}

/// A process under the emulator.
struct Traced {
    pid: i32,
    /// The part of its pipes' names that depends on the environment that it was started in: `USER-on-HOST`.
    owner: String,
}

impl Control {
    /// Controls a program that `emulator` runs, whose pipes and counts are in `folder`.
    pub fn new(emulator: &Emulator, folder: &Path) -> Self {
        Self {
            vgdb: emulator.control.clone(),
            folder: folder.to_owned(),
        }
    }

    /// Switches counting on in every process of the program. Processes that start later count from their start if a
    /// counting process forks them.
    ///
    /// # Errors
    /// If there is no process, or one cannot be controlled.
    pub fn start(&self) -> Result<(), ControlError> {
        self.tell_all("instrumentation on")
    }

    /// Sets all counts to 0.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn zero(&self) -> Result<(), ControlError> {
        self.tell_all("zero")
    }

    /// The counts of all processes together since the last [`zero`](Self::zero). A process that has ended since wrote its
    /// counts when it ended.
    ///
    /// # Errors
    /// As [`start`](Self::start), and if counts are missing or unusable.
    pub fn read(&self) -> Result<InstructionCount, ControlError> {
        let processes = self.processes()?;
        let mut total = InstructionCount::default();
        for process in &processes {
            self.discard_counts(process.pid)?;
            self.tell(process, "dump")?;
            let file = self.counts_of(process.pid)?;
            let file = file.ok_or(ControlError::NoCounts(process.pid))?;
            let unusable = |source| ControlError::Counts {
                pid: process.pid,
                source,
            };
            let opened = File::open(&file).map_err(|error| self.folder_error(&file, error))?;
            total.add(InstructionCount::read(opened).map_err(unusable)?);
            // It may be large, and the folder may be in memory.
            let _ = fs::remove_file(&file);
        }
        total.processes = processes.len();
        Ok(total)
    }

    fn tell_all(&self, command: &'static str) -> Result<(), ControlError> {
        for process in self.processes()? {
            self.tell(&process, command)?;
        }
        Ok(())
    }

    fn tell(&self, process: &Traced, command: &'static str) -> Result<(), ControlError> {
        let pid = process.pid;
        let failed = |why: String| ControlError::Command { pid, command, why };
        let (user, host) = process.owner.split_once("-on-").unwrap_or_default();
        let prefix = self.folder.join(PIPES);
        let output = bounded::run(
            Command::new(&self.vgdb)
                .arg(format!("--vgdb-prefix={}", prefix.display()))
                .arg(format!("--max-invoke-ms={INTERRUPT_AFTER_MS}"))
                .arg(format!("--pid={pid}"))
                .args(command.split(' '))
                // The names of the pipes contain what the program had in these variables.
                .envs([("LOGNAME", user), ("USER", user), ("HOST", host)]),
            COMMAND_TIME,
        );
        let output = output.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => failed("it did not respond within 60 s".to_owned()),
            _ => failed(error.to_string()),
        })?;
        if output.status.success() {
            Ok(())
        } else {
            Err(failed(last_line(&output.stderr, output.status)))
        }
    }

    /// The processes of the program that run under the emulator.
    fn processes(&self) -> Result<Vec<Traced>, ControlError> {
        let prefix = format!("{PIPES}-from-vgdb-to-");
        let mut found: Vec<Traced> = Vec::new();
        for file in self.files(&prefix)? {
            let name = file.file_name().and_then(OsStr::to_str);
            let traced = name.and_then(|name| traced(name.strip_prefix(&prefix)?));
            // A process that was killed leaves its pipes behind.
            found.extend(traced.filter(|one| is_running(one.pid)));
        }
        match found.len() {
            0 => Err(ControlError::NoProcess),
            count if count > MOST_PROCESSES => Err(ControlError::TooMany(count)),
            _ => Ok(found),
        }
    }

    fn discard_counts(&self, pid: i32) -> Result<(), ControlError> {
        for file in self.files(&format!("{COUNTS}.{pid}"))? {
            let _ = fs::remove_file(file);
        }
        Ok(())
    }

    fn counts_of(&self, pid: i32) -> Result<Option<PathBuf>, ControlError> {
        Ok(self.files(&format!("{COUNTS}.{pid}."))?.pop())
    }

    /// The files in the folder whose names begin like this, sorted.
    fn files(&self, beginning: &str) -> Result<Vec<PathBuf>, ControlError> {
        let entries = fs::read_dir(&self.folder);
        let entries = entries.map_err(|error| self.folder_error(&self.folder, error))?;
        let begins = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| name.starts_with(beginning))
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = paths.filter(begins).collect();
        files.sort();
        Ok(files)
    }

    fn folder_error(&self, path: &Path, source: io::Error) -> ControlError {
        ControlError::Folder {
            path: path.to_owned(),
            source,
        }
    }
}

/// The process of a pipe, from the rest of the pipe's name: `PID-by-USER-on-HOST`.
fn traced(rest: &str) -> Option<Traced> {
    let (pid, owner) = rest.split_once("-by-")?;
    Some(Traced {
        pid: pid.parse().ok().filter(|pid| *pid > 0)?,
        owner: owner.to_owned(),
    })
}

fn is_running(pid: i32) -> bool {
    use nix::{sys::signal::kill, unistd::Pid};
    kill(Pid::from_raw(pid), None).is_ok()
}

/// The last line with text, or how the program ended.
fn last_line(output: &[u8], status: std::process::ExitStatus) -> String {
    let text = String::from_utf8_lossy(output);
    let mut lines = text.lines().rev().map(str::trim);
    let last = lines.find(|line| !line.is_empty());
    last.map_or_else(|| status.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_names_its_process() {
        let traced = traced("12-by-ann-on-127.0.0.1").unwrap();
        assert_eq!((traced.pid, &*traced.owner), (12, "ann-on-127.0.0.1"));
        for not_one in ["x-by-ann-on-host", "12", "-1-by-ann-on-host", "0-by-a-on-b"] {
            assert!(super::traced(not_one).is_none(), "{not_one}");
        }
    }

    #[test]
    fn without_a_process_there_is_nothing_to_count() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control {
            vgdb: "vgdb".into(),
            folder: folder.path().to_owned(),
        };
        assert!(matches!(control.start(), Err(ControlError::NoProcess)));
        // The largest possible process id, which nothing has.
        let pipe = format!("{PIPES}-from-vgdb-to-4194304-by-ann-on-host");
        fs::write(folder.path().join(pipe), "").unwrap();
        assert!(matches!(control.read(), Err(ControlError::NoProcess)));
        let gone = Control {
            folder: folder.path().join("gone"),
            ..control
        };
        assert!(matches!(gone.zero(), Err(ControlError::Folder { .. })));
    }
}
