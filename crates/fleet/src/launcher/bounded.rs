//! Short commands, such as `squeue` or `kubectl delete`, which must not keep Prony waiting for ever.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// How often to look whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

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
    let (stdout, stderr) = (read(child.stdout.take())?, read(child.stderr.take())?);
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read it fails, and says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let Some(status) = end_within(&mut child, limit)? else {
        return Ok(None);
    };
    Ok(Some(Output {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    }))
}

fn read(from: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<String>> {
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What has arrived before a failure still counts.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
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
}
