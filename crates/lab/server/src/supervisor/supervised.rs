//! Prony's side of a supervised process.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::logs::tail_or_note;

use super::protocol::{Exit, SUPERVISOR, SupervisorMessage};
use prony_kernel::format_cpu_list;

/// How long the supervisor may take to report that the command has started.
const START_TIME: Duration = Duration::from_secs(30);

/// How much longer than the grace period the supervisor may take to end everything.
const STOP_TIME: Duration = Duration::from_secs(15);

/// The program that runs as supervisor: Prony itself, or a stand-in in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupervisorProgram(PathBuf);

impl SupervisorProgram {
    /// The program at this path, which must call [`crate::run_if_asked`] first.
    pub fn new(path: impl Into<PathBuf>) -> SupervisorProgram {
        SupervisorProgram(path.into())
    }

    pub fn current() -> std::io::Result<SupervisorProgram> {
        std::env::current_exe().map(SupervisorProgram)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[derive(Clone, Debug, Default)]
pub struct Task {
    pub command: Vec<String>,
    pub folder: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    /// Variables that Prony has and the command must not.
    pub removed_env: Vec<OsString>,
    /// The file that its output is appended to.
    pub log: PathBuf,
    /// The file that its standard error is appended to; `None` for the same as its output.
    pub error_log: Option<PathBuf>,
    /// A folder of its own, removed with its contents when none of its processes is left.
    pub scratch: Option<PathBuf>,
    /// The CPUs it may use; empty for all.
    pub cpus: Vec<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("there is no command to run")]
    Empty,
    #[error("cannot start the supervisor {program}: {source}")]
    Supervisor { program: PathBuf, source: io::Error },
    #[error("{0}")]
    Command(String),
    #[error("the supervisor did not report that the command had started")]
    Silent,
}

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("cannot run `{command}`: {source}")]
    Spawn { command: String, source: SpawnError },
    #[error("`{command}` {exit}:\n{tail}")]
    Failed {
        command: String,
        exit: Exit,
        tail: String,
    },
    #[error("interrupted")]
    Interrupted,
}

/// A process tree under a supervisor. Dropping it kills the tree.
#[derive(Debug)]
pub struct Supervised {
    supervisor: Child,
    calls: ChildStdin,
    events: ChildStdout,
    unread: Vec<u8>,
    pid: i32,
    started_at_ns: u64,
    exit: Option<Exit>,
}

impl SupervisorProgram {
    /// Starts a command under a supervisor of its own.
    ///
    /// # Errors
    /// If the supervisor or the command cannot be started; the text names the command.
    pub fn spawn(&self, task: &Task) -> Result<Supervised, SpawnError> {
        if task.command.is_empty() {
            return Err(SpawnError::Empty);
        }
        let supervisor_error = |source| SpawnError::Supervisor {
            program: self.path().to_owned(),
            source,
        };
        if !task.folder.is_dir() {
            // Otherwise the error would be that the program does not exist.
            let folder = task.folder.display();
            return Err(SpawnError::Command(format!("there is no folder {folder}")));
        }
        // The supervisor runs in the task's folder, so paths relative to Prony's must become absolute.
        let program = std::path::absolute(self.path()).map_err(supervisor_error)?;
        let absolute = |path: &PathBuf| std::path::absolute(path).map_err(supervisor_error);
        let optional = |path: &Option<PathBuf>| path.as_ref().map(absolute).transpose();
        let log = absolute(&task.log)?;
        let error_log = optional(&task.error_log)?.unwrap_or_else(|| log.clone());
        let scratch = optional(&task.scratch)?.unwrap_or_default();
        let mut supervisor = Command::new(program);
        for name in &task.removed_env {
            supervisor.env_remove(name);
        }
        let mut supervisor = supervisor
            .arg(SUPERVISOR)
            .arg(log)
            .arg(error_log)
            .arg(scratch)
            .arg(format_cpu_list(&task.cpus))
            .args(&task.command)
            .current_dir(&task.folder)
            .envs(task.env.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(supervisor_error)?;
        let (Some(calls), Some(events)) = (supervisor.stdin.take(), supervisor.stdout.take())
        else {
            return Err(SpawnError::Silent);
        };
        let mut supervised = Supervised {
            supervisor,
            calls,
            events,
            unread: Vec::new(),
            pid: 0,
            started_at_ns: 0,
            exit: None,
        };
        match supervised.await_event(START_TIME) {
            Some(SupervisorMessage::Started { pid, at_ns }) => {
                supervised.pid = pid;
                supervised.started_at_ns = at_ns;
                Ok(supervised)
            }
            Some(SupervisorMessage::Failed(reason)) => Err(SpawnError::Command(reason)),
            Some(SupervisorMessage::Exited(_)) | None => Err(SpawnError::Silent),
        }
    }

    /// Runs a command to its end; an error has this many last lines of its output. If `interrupt` is set, its whole tree is
    /// killed.
    pub fn run(
        &self,
        task: &Task,
        tail_lines: usize,
        interrupt: &AtomicBool,
    ) -> Result<(), CommandError> {
        let command = || task.command.join(" ");
        let mut supervised = self.spawn(task).map_err(|source| {
            let command = command();
            CommandError::Spawn { command, source }
        })?;
        loop {
            match supervised.wait(Duration::from_millis(100)) {
                Some(exit) if exit.success() => return Ok(()),
                Some(exit) => {
                    return Err(CommandError::Failed {
                        command: command(),
                        exit,
                        tail: tail_or_note(&task.log, tail_lines),
                    });
                }
                None if interrupt.load(Ordering::Relaxed) => {
                    supervised.stop(Duration::ZERO);
                    return Err(CommandError::Interrupted);
                }
                None => {}
            }
        }
    }
}

impl Supervised {
    /// The command's process id, which is also its process group's.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The supervisor's process id: every process of the tree descends from it.
    pub fn supervisor_pid(&self) -> i32 {
        // Linux keeps process ids below 2^22.
        self.supervisor.id() as i32
    }

    /// When the command was executed: CLOCK_MONOTONIC in nanoseconds.
    pub fn started_at_ns(&self) -> u64 {
        self.started_at_ns
    }

    /// How the command ended, if it has; waits for that no longer than `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Option<Exit> {
        if self.exit.is_none()
            && let Some(SupervisorMessage::Exited(exit)) = self.await_event(timeout)
        {
            self.exit = Some(exit);
            if exit == Exit::Lost {
                self.kill_group();
            }
            // The supervisor ends after this report; waiting for it leaves no zombie.
            let _ = self.supervisor.wait();
        }
        self.exit
    }

    /// Ends the tree: SIGTERM to the command's process group, and when it has ended or `grace` is over, SIGKILL to the
    /// rest.
    pub fn stop(&mut self, grace: Duration) -> Exit {
        if let Some(exit) = self.wait(Duration::ZERO) {
            return exit;
        }
        // If the pipe is broken, the supervisor has ended, and the wait below notices that.
        let _ = self
            .calls
            .write_all(format!("stop {}\n", grace.as_millis()).as_bytes());
        if let Some(exit) = self.wait(grace + STOP_TIME) {
            return exit;
        }
        // The kernel kills the command with its supervisor.
        let _ = self.supervisor.kill();
        self.kill_group();
        let _ = self.supervisor.wait();
        *self.exit.insert(Exit::Lost)
    }

    /// If the supervisor was killed, so was the command, but not what it had started. Only its process group can still
    /// be killed: nobody knows the processes that have left it.
    fn kill_group(&self) {
        if self.pid > 0 {
            // The group may be empty.
            let _ = killpg(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }

    /// The supervisor's next report; `None` if it does not come in time.
    fn await_event(&mut self, timeout: Duration) -> Option<SupervisorMessage> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(event) = self.take_event() {
                return Some(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(self.events.as_fd(), PollFlags::POLLIN)];
            // An interrupted call counts as nothing ready.
            if poll(&mut fds, timeout).unwrap_or(0) > 0 {
                let mut buffer = [0; 512];
                match self.events.read(&mut buffer) {
                    Ok(0) | Err(_) => return Some(SupervisorMessage::Exited(Exit::Lost)),
                    Ok(length) => self.unread.extend_from_slice(&buffer[..length]),
                }
            } else if Instant::now() >= deadline {
                return None;
            }
        }
    }

    fn take_event(&mut self) -> Option<SupervisorMessage> {
        while let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            if let Ok(event) = serde_json::from_slice(&line) {
                return Some(event);
            }
        }
        None
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
