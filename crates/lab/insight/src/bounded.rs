//! Running a program for a limited time.

use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often to look whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// The most of its output that is kept, in bytes; the rest is read and dropped.
const MOST_OUTPUT: u64 = 64 * 1024;

/// Runs a command to its end, or kills it when `time` is over.
///
/// # Errors
/// If it cannot be started, or with the kind `TimedOut` if it did not end in time.
pub(crate) fn run(command: &mut Command, time: Duration) -> io::Result<Output> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().map(drain);
    let errors = child.stderr.take().map(drain);
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < time => thread::sleep(PAUSE),
            Ok(None) => {
                end(&mut child);
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => {
                end(&mut child);
                return Err(error);
            }
        }
    };
    let read = |thread: Option<thread::JoinHandle<Vec<u8>>>| {
        thread.and_then(|one| one.join().ok()).unwrap_or_default()
    };
    Ok(Output {
        status,
        stdout: read(output),
        stderr: read(errors),
    })
}

fn end(child: &mut Child) {
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
}

fn drain(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        // What cannot be read is not there.
        let _ = from.by_ref().take(MOST_OUTPUT).read_to_end(&mut kept);
        let _ = io::copy(&mut from, &mut io::sink());
        kept
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_output_is_kept_up_to_a_limit() {
        let script = "echo one; echo two >&2; head -c 1000000 /dev/zero; exit 3";
        let output = run(&mut shell(script), Duration::from_secs(20)).unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(output.stdout.starts_with(b"one\n"));
        assert_eq!(output.stdout.len() as u64, MOST_OUTPUT);
        assert_eq!(output.stderr, b"two\n");
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = shell("echo $$ > pid; exec sleep 600");
        // The process may get no CPU in this time, and then has not even begun.
        command.current_dir(folder.path());
        let error = run(&mut command, Duration::from_millis(200)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if !pid.is_empty() {
            assert!(!std::fs::exists(format!("/proc/{}", pid.trim())).unwrap());
        }
    }
}
