//! A tool's process: pinned, with a time limit, and its resource usage.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{self, UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use prony_kernel::TreeCounters;
use prony_kernel::pin_current_thread;
use wait4::{ResUse, Wait4};

/// How often Prony checks whether the process has ended. The tool reports its own duration, so this does not affect the
/// result.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How many of a tool's last lines are shown when it fails.
const TAIL_LINES: usize = 8;

/// What a process used, including the descendants that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// From its start to its end, in seconds.
    pub wall_s: f64,
    /// CPU time in user mode, in seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub cpu_system_s: f64,
    /// Voluntary context switches: how often it had to wait.
    pub voluntary_switches: u64,
    /// Involuntary context switches: how often it was preempted.
    pub involuntary_switches: u64,
    /// CPU cycles in both modes; `None` if the machine has no counters for them.
    pub cycles: Option<u64>,
    /// Instructions, likewise.
    pub instructions: Option<u64>,
}

impl Usage {
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) usage: Usage,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot run `{program}`: {source}")]
    System { program: String, source: io::Error },
    #[error("it ended with {status}; its last lines of output:\n{tail}")]
    Failed { status: ExitStatus, tail: String },
    #[error("it was still running after {limit:?} and was killed; its last lines:\n{tail}")]
    TimeLimit { limit: Duration, tail: String },
    #[error("interrupted")]
    Interrupted,
}

/// Runs a command to its end on `cpus` (all of them if the list is empty).
///
/// Its whole process group is killed in the end, even if this process dies. The context switches are a difference over
/// all children, so they are correct only if this process waits for no other child meanwhile.
pub(crate) fn run(
    command: &mut Command,
    cpus: &[usize],
    limit: Duration,
    interrupt: &AtomicBool,
) -> Result<Ended, RunError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let result = run_in_group(command, cpus, limit, interrupt);
    result.unwrap_or_else(|source| Err(RunError::System { program, source }))
}

/// As [`run`]; the outer error is one of the system.
fn run_in_group(
    command: &mut Command,
    cpus: &[usize],
    limit: Duration,
    interrupt: &AtomicBool,
) -> io::Result<Result<Ended, RunError>> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut group = Group::new()?;
    group.take(command);
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let begin = Instant::now();
    let Spawned { tool, counters } = spawn_on(command, cpus)?;
    group.tool = Some(tool);
    let used = loop {
        if let Some(used) = group.poll()? {
            break used;
        }
        if interrupt.load(Relaxed) {
            return Ok(Err(RunError::Interrupted));
        }
        if begin.elapsed() > limit {
            drop(group);
            let tail = tail(&mut stdout, &mut stderr)?;
            return Ok(Err(RunError::TimeLimit { limit, tail }));
        }
        thread::sleep(POLL_INTERVAL);
    };
    let wall_s = begin.elapsed().as_secs_f64();
    // Before the group is killed: the watcher's switches are not the tool's.
    let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let switches = |count: fn(&resource::Usage) -> i64| {
        u64::try_from(count(&after) - count(&before)).unwrap_or(0)
    };
    // Kills what the tool left in the background, which could still write to the files.
    drop(group);
    if !used.status.success() {
        let (status, tail) = (used.status, tail(&mut stdout, &mut stderr)?);
        return Ok(Err(RunError::Failed { status, tail }));
    }
    let counted = counters.and_then(|counters| counters.read());
    Ok(Ok(Ended {
        stdout: text(&mut stdout)?,
        usage: Usage {
            wall_s,
            cpu_user_s: used.rusage.utime.as_secs_f64(),
            cpu_system_s: used.rusage.stime.as_secs_f64(),
            voluntary_switches: switches(resource::Usage::voluntary_context_switches),
            involuntary_switches: switches(resource::Usage::involuntary_context_switches),
            cycles: counted.map(|counted| counted.cycles),
            instructions: counted.map(|counted| counted.instructions),
        },
    }))
}

struct Spawned {
    tool: Child,
    /// Counts for it and all that it starts; `None` if the machine cannot.
    counters: Option<TreeCounters>,
}

/// Starts the command from a thread pinned to `cpus` whose cycles and instructions are counted: a child process inherits
/// the thread's CPUs and counters.
fn spawn_on(command: &mut Command, cpus: &[usize]) -> io::Result<Spawned> {
    thread::scope(|scope| {
        let starting = scope.spawn(|| {
            pin_current_thread(cpus)?;
            // 0 is the calling thread.
            let counters = TreeCounters::open(|| Ok(BTreeSet::from([0])));
            let tool = command.spawn()?;
            Ok(Spawned { tool, counters })
        });
        starting
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
    })
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The last lines of standard error, or of standard output if standard error is empty.
fn tail(stdout: &mut File, stderr: &mut File) -> io::Result<String> {
    let mut output = text(stderr)?;
    if output.trim().is_empty() {
        output = text(stdout)?;
    }
    Ok(last_lines(&output, TAIL_LINES))
}

/// The watcher's script: it prints a line to show that it is running, waits until the pipe closes, and kills its group.
const WATCH: &str = "trap '' HUP INT TERM; echo; read -r nothing; kill -KILL 0";

/// A process group of a tool. Dropping it kills all its processes, with everything that the tool has started there.
#[derive(Debug)]
pub(crate) struct Group {
    /// The watcher, with Prony's end of the pipe.
    watcher: Child,
    /// `None` before it was started, and once it was reaped.
    tool: Option<Child>,
}

impl Group {
    /// A group that contains only its watcher, which already waits.
    pub(crate) fn new() -> io::Result<Group> {
        let mut watcher = Command::new("/bin/sh")
            .args(["-c", WATCH])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let ready = watcher.stdout.take();
        // From here on it is killed and reaped, whatever happens.
        let group = Group {
            watcher,
            tool: None,
        };
        let mut ready = ready.ok_or_else(|| io::Error::other("the watcher has no output"))?;
        ready.read_exact(&mut [0]).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("/bin/sh did not start watching: {error}"),
            )
        })?;
        Ok(group)
    }

    pub(crate) fn take(&self, command: &mut Command) {
        command.process_group(self.id().as_raw());
    }

    fn poll(&mut self) -> io::Result<Option<ResUse>> {
        let Some(tool) = &mut self.tool else {
            return Ok(None);
        };
        let used = tool.try_wait4()?;
        if used.is_some() {
            self.tool = None;
        }
        Ok(used)
    }

    fn id(&self) -> Pid {
        // Linux keeps process ids below 2^22.
        Pid::from_raw(self.watcher.id() as i32)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It cannot fail: the watcher remains in the group until it is reaped.
        let _ = killpg(self.id(), Signal::SIGKILL);
        for killed in self.tool.iter_mut().chain([&mut self.watcher]) {
            // This does not take long, and an error could not be reported.
            let _ = killed.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_exceeds_its_limit_is_killed() {
        let limit = Duration::from_millis(20);
        let interrupt = AtomicBool::new(false);
        let mut command = Command::new("sleep");
        let error = run(command.arg("600"), &[], limit, &interrupt).unwrap_err();
        assert!(matches!(error, RunError::TimeLimit { .. }), "{error}");
    }

    #[test]
    fn a_process_and_its_children_are_counted_if_the_machine_counts() {
        let count = |loops: u32| {
            let script = format!("(i=0; while [ $i -lt {loops} ]; do i=$((i+1)); done); true");
            let mut command = Command::new("sh");
            let (limit, interrupt) = (Duration::from_secs(60), AtomicBool::new(false));
            let ended = run(command.args(["-c", &script]), &[], limit, &interrupt).unwrap();
            ended.usage.instructions
        };
        let counted = count(1).zip(count(100_000));
        let can_count = prony_kernel::Counters::open().is_some();
        assert_eq!(counted.is_some(), can_count);
        assert!(
            counted.is_none_or(|(few, many)| many > few + 10_000_000),
            "{counted:?}"
        );
    }
}

#[cfg(test)]
mod group_tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A long-running process in the group.
    fn member(group: &Group) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600");
        group.take(&mut command);
        command.spawn().unwrap()
    }

    fn killed(mut member: Child) -> bool {
        member.wait().unwrap().signal() == Some(Signal::SIGKILL as i32)
    }

    #[test]
    fn the_watcher_survives_signals_to_its_group() {
        let mut group = Group::new().unwrap();
        let mut first = member(&group);
        killpg(group.id(), Signal::SIGTERM).unwrap();
        assert_eq!(first.wait().unwrap().signal(), Some(Signal::SIGTERM as i32));
        let second = member(&group);
        drop(group.watcher.stdin.take());
        assert!(killed(second));
    }
}
