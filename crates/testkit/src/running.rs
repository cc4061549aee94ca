//! Commands as users run them: their output, their exit codes, and their end.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::{PATIENCE, until};

/// A running command, with its output in files. It is killed if the test gives up.
pub struct Running {
    command: String,
    child: Child,
    output: TempDir,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its program and arguments.
    pub command: String,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let output = tempfile::tempdir().unwrap();
        let file = |name| fs::File::create(output.path().join(name)).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .unwrap();
        Self {
            command: format!("{command:?}"),
            child,
            output,
        }
    }

    fn written(&self, name: &str) -> String {
        let bytes = fs::read(self.output.path().join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for a text on standard error.
    pub fn await_stderr(&mut self, text: &str) {
        until(text, || {
            // In this order: it may say the text and end in between.
            let ended = self.child.try_wait().unwrap();
            let said = self.written("stderr");
            assert!(
                said.contains(text) || ended.is_none(),
                "ended ({ended:?}) without `{text}`: {said}"
            );
            said.contains(text).then_some(())
        });
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// Waits for its end.
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// Waits for its end for at most this long.
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let give_up = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let said = || format!("{}{}", self.written("stdout"), self.written("stderr"));
            assert!(Instant::now() < give_up, "it does not end: {}", said());
            std::thread::sleep(Duration::from_millis(10));
        };
        Ended {
            command: std::mem::take(&mut self.command),
            code: status.code(),
            stdout: self.written("stdout"),
            stderr: self.written("stderr"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If it has ended there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn run(command: Command) -> Ended {
    Running::start(command).end()
}

impl Ended {
    /// It must have ended with this exit code.
    #[track_caller]
    pub fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.report());
        self
    }

    /// Standard error must hold this.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "no `{text}` on standard error in {}",
            self.report()
        );
        self
    }

    /// Standard output must hold this.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "no `{text}` on standard output in {}",
            self.report()
        );
        self
    }

    /// Neither of the two may hold this.
    #[track_caller]
    pub fn lacks(self, text: &str) -> Self {
        let is_there = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(!is_there, "`{text}` in {}", self.report());
        self
    }

    /// The lines of standard output that begin with `start`.
    pub fn lines(&self, start: &str) -> Vec<&str> {
        let lines = self.stdout.lines();
        lines.filter(|line| line.starts_with(start)).collect()
    }

    /// The command and all that it left, for the message of a test that fails.
    pub fn report(&self) -> String {
        format!("{}: {}", self.command, self.all())
    }

    pub fn all(&self) -> String {
        format!(
            "exit code {:?}\n--- standard output\n{}\n--- standard error\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}
