//! Short commands, such as `squeue` or `kubectl delete`, which must not keep Prony waiting for ever.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::lock;

/// How often to look whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How long Prony waits for the end of the output after a command has ended. A process that the command started may keep
/// it open for as long as that process runs.
const AFTER_END: Duration = Duration::from_secs(1);

/// What a command wrote, and how it ended.
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a command with that standard input. `None` if it takes longer than `limit`: it is killed then, with whatever it
/// has started.
pub(super) fn run(
    command: &mut Command,
    input: &str,
    limit: Duration,
) -> io::Result<Option<Output>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C in the terminal must not end what cleans up.
        .process_group(0)
        .spawn()?;
    let stdout = OutputReader::start(child.stdout.take())?;
    let stderr = OutputReader::start(child.stderr.take())?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        thread::Builder::new().spawn(move || {
            // A command that does not read it fails, and says why.
            let _ = stdin.write_all(input.as_bytes());
        })?;
    }
    let Some(status) = end_within(&mut child, limit)? else {
        return Ok(None);
    };
    let give_up = Instant::now() + AFTER_END;
    Ok(Some(Output {
        status,
        stdout: stdout.text_by(give_up),
        stderr: stderr.text_by(give_up),
    }))
}

/// Reads an output of a command in a thread of its own, which ends when nothing has the output open any more.
struct OutputReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl OutputReader {
    fn start(from: Option<impl Read + Send + 'static>) -> io::Result<Self> {
        let bytes = Arc::default();
        let mut to = OutputBytes(Arc::clone(&bytes));
        let thread = thread::Builder::new().spawn(move || {
            if let Some(mut from) = from {
                // What has arrived before a failure still counts.
                let _ = io::copy(&mut from, &mut to);
            }
        })?;
        Ok(Self { bytes, thread })
    }

    /// The whole output, or what has arrived by then.
    fn text_by(&self, give_up: Instant) -> String {
        while !self.thread.is_finished() && Instant::now() < give_up {
            thread::sleep(LOOK);
        }
        String::from_utf8_lossy(&lock(&self.bytes)).into_owned()
    }
}

struct OutputBytes(Arc<Mutex<Vec<u8>>>);

impl Write for OutputBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn end_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let give_up = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= give_up {
            let id = i32::try_from(child.id()).unwrap_or(i32::MAX);
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::kill;

    use super::*;

    fn shell(script: &str, input: &str, limit: Duration) -> Option<Output> {
        run(Command::new("sh").args(["-c", script]), input, limit).unwrap()
    }

    #[test]
    fn a_command_reads_its_input_and_its_output_is_told_apart() {
        let long = "x".repeat(1024 * 1024);
        let output = shell("cat; echo no >&2; exit 3", &long, Duration::from_secs(60)).unwrap();
        assert_eq!(
            (output.stdout.len(), output.stderr.as_str()),
            (long.len(), "no\n")
        );
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_what_it_started() {
        let began = Instant::now();
        let output = shell("sleep 600 & sleep 600", "", Duration::from_millis(50));
        assert!(output.is_none() && began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn the_output_of_a_command_is_not_waited_for_when_what_it_started_keeps_it_open() {
        let began = Instant::now();
        let script = "echo done; echo why >&2; sleep 600 & echo $!";
        let output = shell(script, "", Duration::from_secs(60)).unwrap();
        let (done, sleeper) = output.stdout.trim_end().split_once('\n').unwrap();
        let _ = kill(Pid::from_raw(sleeper.parse().unwrap()), Signal::SIGKILL);
        assert_eq!((done, output.stderr.as_str()), ("done", "why\n"));
        assert!(output.status.success() && began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_command_that_does_not_read_its_input_is_killed_too() {
        let long = "x".repeat(1024 * 1024);
        let began = Instant::now();
        let output = shell("sleep 600", &long, Duration::from_millis(50));
        assert!(output.is_none() && began.elapsed() < Duration::from_secs(60));
    }
}
