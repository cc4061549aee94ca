//! The supervisor, which starts the launch, waits and leaves no process behind; and the launch, which becomes the command.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, getppid};
use prony_kernel::{monotonic_ns, parse_cpu_list, pin_current_thread};

use super::protocol::{Exit, LAUNCH, SupervisorMessage};
use crate::sampling::process_tree::descendants;

/// How long a launch may take to become the command.
const LAUNCH_TIME: Duration = Duration::from_secs(20);

/// How long killing may take before the supervisor gives up on processes that the kernel will not end.
const KILL_TIME: Duration = Duration::from_secs(10);

/// Supervises one command: `LOG ERROR_LOG SCRATCH CPUS PROGRAM ARGUMENT…`; no scratch folder if that is
/// empty.
pub(super) fn supervisor_main(args: Vec<OsString>) -> ExitCode {
    // So that `killall prony` does not hit the supervisors too. It is only a name, so a failure does not matter.
    let _ = nix::sys::prctl::set_name(c"server-supervisor");
    let event = match Supervisor::start(&args) {
        Ok((mut supervisor, started)) => {
            report(&started);
            supervisor.watch();
            let exit = supervisor.exit_seen();
            supervisor.kill_all();
            SupervisorMessage::Exited(exit.or(supervisor.exit).unwrap_or(Exit::Lost))
        }
        Err(reason) => SupervisorMessage::Failed(reason),
    };
    if let Some(scratch) = args.get(2).filter(|path| !path.is_empty()) {
        // No process is left that could use it; if it cannot be removed, that does no harm.
        let _ = std::fs::remove_dir_all(scratch);
    }
    report(&event);
    ExitCode::SUCCESS
}

/// Prony may have ended and no longer listen: that is not a reason to stop.
fn report(event: &SupervisorMessage) {
    let mut out = io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, event);
    let _ = writeln!(out).and_then(|()| out.flush());
}

struct Supervisor {
    command: Pid,
    signals: SignalFd,
    exit: Option<Exit>,
    /// Whether Prony has asked it to end the command.
    is_stopping: bool,
}

enum Call {
    /// End the command within this grace period.
    Stop(Duration),
    /// Kill at once: Prony has ended, or the supervisor must end.
    Kill,
}

impl Supervisor {
    fn start(args: &[OsString]) -> Result<(Supervisor, SupervisorMessage), String> {
        let [log, error_log, _, cpus, command @ ..] = args else {
            return Err("the supervisor was started with too few arguments".to_owned());
        };
        set_child_subreaper(true).map_err(|error| format!("cannot be a subreaper: {error}"))?;
        let signals = take_signals().map_err(|error| format!("cannot receive signals: {error}"))?;
        let (mine, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let (output, errors) = (append_to(log)?, append_to(error_log)?);
        let pid = spawn_launch(output, errors, cpus, command, theirs)?;
        let mut supervisor = Supervisor {
            command: pid,
            signals,
            exit: None,
            is_stopping: false,
        };
        match await_exec(mine) {
            Ok(at_ns) => Ok((
                supervisor,
                SupervisorMessage::Started {
                    pid: pid.as_raw(),
                    at_ns,
                },
            )),
            Err(reason) => {
                supervisor.kill_all();
                Err(reason)
            }
        }
    }

    /// Waits until the command has ended or must end.
    fn watch(&mut self) {
        let mut deadline: Option<Instant> = None;
        loop {
            self.reap();
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if self.exit.is_some() || late {
                return;
            }
            match self.wait(deadline) {
                None => {}
                Some(Call::Stop(grace)) => {
                    self.is_stopping = true;
                    // If the group has already ended, the next reap notices.
                    let _ = killpg(self.command, Signal::SIGTERM);
                    deadline = Some(Instant::now() + grace);
                }
                Some(Call::Kill) => return,
            }
        }
    }

    fn wait(&self, deadline: Option<Instant>) -> Option<Call> {
        let timeout = deadline.map_or(PollTimeout::NONE, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let input = io::stdin();
        let mut fds = [
            PollFd::new(input.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return None,
            Err(_) => return Some(Call::Kill),
        }
        let [input_ready, signal_ready] = fds.map(|fd| fd.any().unwrap_or(true));
        if signal_ready && self.must_end() {
            return Some(Call::Kill);
        }
        input_ready.then(read_call)
    }

    /// Reads the pending signals; returns whether one of them was meant for the supervisor itself.
    fn must_end(&self) -> bool {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo != Signal::SIGCHLD as u32 {
                return true;
            }
        }
        false
    }

    /// Reaps every child that has ended; returns whether any is left.
    fn reap(&mut self) -> bool {
        loop {
            let (pid, exit) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, Exit::Code(code)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, Exit::Signal(signal as i32)),
                Ok(WaitStatus::StillAlive) => return true,
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return false,
            };
            if pid == self.command {
                self.exit = Some(exit);
            }
        }
    }

    /// How the command ended, if it has. If other processes of its tree still run, it went into the background.
    fn exit_seen(&mut self) -> Option<Exit> {
        let exit = self.exit?;
        // Ended processes that nobody had waited for are now the supervisor's children.
        self.reap();
        let left = descendants(&[Pid::this().as_raw()]).map_or(0, |pids| pids.len());
        match (exit, u32::try_from(left)) {
            (Exit::Code(0), Ok(left)) if left > 0 && !self.is_stopping => {
                Some(Exit::Background(left))
            }
            _ => Some(exit),
        }
    }

    /// Kills all descendants until none is left. Orphans become children of the supervisor, so none escapes; new forks
    /// are killed in the next round.
    fn kill_all(&mut self) {
        let give_up = Instant::now() + KILL_TIME;
        let mut pause = Duration::from_micros(500);
        while self.reap() && Instant::now() < give_up {
            for pid in descendants(&[Pid::this().as_raw()]).unwrap_or_default() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// A single read suffices: Prony writes whole lines, far shorter than a pipe's atomic size.
fn read_call() -> Call {
    let mut buffer = [0; 64];
    // Not through `io::stdin()`, whose buffer `poll` would not see.
    let read = nix::unistd::read(io::stdin().as_fd(), &mut buffer);
    let Ok(length) = read else {
        return Call::Kill;
    };
    std::str::from_utf8(&buffer[..length])
        .ok()
        .and_then(|line| line.trim().strip_prefix("stop "))
        .and_then(|grace_ms| grace_ms.parse().ok())
        .map_or(Call::Kill, |grace_ms| {
            Call::Stop(Duration::from_millis(grace_ms))
        })
}

fn take_signals() -> nix::Result<SignalFd> {
    let mut set = SigSet::empty();
    for signal in [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
    ] {
        set.add(signal);
    }
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

fn append_to(log: &OsString) -> Result<File, String> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .map_err(|error| format!("cannot write the log {}: {error}", log.to_string_lossy()))
}

fn spawn_launch(
    output: File,
    errors: File,
    cpus: &OsString,
    command: &[OsString],
    to_supervisor: UnixStream,
) -> Result<Pid, String> {
    // The running program, even if its file was replaced meanwhile.
    let child = Command::new("/proc/self/exe")
        .arg0("prony")
        .arg(LAUNCH)
        .arg(Pid::this().to_string())
        .arg(cpus)
        .args(command)
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(to_supervisor)))
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("cannot start a process: {error}"))?;
    i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(|error| error.to_string())
}

/// The time of the exec, or why there was none.
fn await_exec(mut from_launch: UnixStream) -> Result<u64, String> {
    let mut report = String::new();
    from_launch
        .set_read_timeout(Some(LAUNCH_TIME))
        .and_then(|()| from_launch.read_to_string(&mut report))
        .map_err(|error| format!("the command was not executed in time: {error}"))?;
    match report.split_once('\n') {
        Some((time, "")) => time.parse().map_err(|_| format!("no time: {time}")),
        Some((_, reason)) => Err(reason.to_owned()),
        None => Err("the process was killed before it became the command".to_owned()),
    }
}

/// The exit code of a launch whose command could not be executed, as in shells.
const NOT_EXECUTED: u8 = 127;

/// Becomes the command: `SUPERVISOR_PID CPUS PROGRAM ARGUMENT…`. Its standard input is the pipe to the supervisor.
///
/// It writes the time and a line feed there, and then the reason if the command cannot be executed; otherwise the exec
/// closes the pipe.
pub(super) fn launch_main(args: Vec<OsString>) -> ExitCode {
    // A successful exec closes it, which tells the supervisor.
    let Ok(to_supervisor) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(NOT_EXECUTED);
    };
    let mut to_supervisor = File::from(to_supervisor);
    let reason = become_command(&args, &mut to_supervisor);
    // If this fails, no process is left to report it to.
    let _ = write!(to_supervisor, "{reason}");
    ExitCode::from(NOT_EXECUTED)
}

/// Returns only on failure, with the reason.
fn become_command(args: &[OsString], to_supervisor: &mut File) -> String {
    let [supervisor, cpus, program, arguments @ ..] = args else {
        return "\nthe launch was started with too few arguments".to_owned();
    };
    if let Err(reason) = prepare(&supervisor.to_string_lossy(), &cpus.to_string_lossy()) {
        return format!("\n{reason}");
    }
    if let Err(error) = writeln!(to_supervisor, "{}", monotonic_ns()) {
        return error.to_string();
    }
    let error = Command::new(program).args(arguments).exec();
    format!("cannot execute {}: {error}", program.to_string_lossy())
}

fn prepare(supervisor: &str, cpus: &str) -> Result<(), String> {
    set_pdeathsig(Signal::SIGKILL)
        .map_err(|error| format!("cannot tie the process to the supervisor: {error}"))?;
    // The supervisor may have died before that call; then nothing would kill this process.
    if getppid().to_string() != supervisor {
        return Err("the supervisor is gone".to_owned());
    }
    if !cpus.is_empty() {
        let list = parse_cpu_list(cpus).map_err(|error| error.to_string())?;
        pin_current_thread(&list).map_err(|error| format!("cannot pin to CPUs {cpus}: {error}"))?;
    }
    // The supervisor blocks signals, because it reads them from a file descriptor; the command must not.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| format!("cannot unblock signals: {error}"))?;
    File::open("/dev/null")
        .and_then(|null| Ok(dup2_stdin(&null)?))
        .map_err(|error| format!("cannot use /dev/null as standard input: {error}"))
}
