//! The process that becomes the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{dup2_stdin, getppid};

use crate::clock::monotonic_ns;
use crate::cpus::{parse_cpu_list, pin_current_thread};

/// The exit code of a launch whose command could not be executed, as shells have it.
const NOT_EXECUTED: u8 = 127;

/// Becomes the command: `GUARD_PID CPUS PROGRAM ARGUMENT…`, standard input being the way to the guard.
///
/// It writes the time and a line feed there, and after it the reason where the command cannot be
/// executed; where it can, the guard sees the end of the file.
pub fn launch_main(args: Vec<OsString>) -> ExitCode {
    // Closed by a successful exec: that is how the guard learns of it.
    let Ok(to_guard) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(NOT_EXECUTED);
    };
    let mut to_guard = File::from(to_guard);
    let reason = become_command(&args, &mut to_guard);
    // Nobody is left to tell where this fails.
    let _ = write!(to_guard, "{reason}");
    ExitCode::from(NOT_EXECUTED)
}

/// Comes back only with the reason why it could not.
fn become_command(args: &[OsString], to_guard: &mut File) -> String {
    let [guard, cpus, program, arguments @ ..] = args else {
        return "\nthe launch lacks arguments".to_owned();
    };
    if let Err(reason) = prepare(&guard.to_string_lossy(), &cpus.to_string_lossy()) {
        return format!("\n{reason}");
    }
    if let Err(error) = writeln!(to_guard, "{}", monotonic_ns()) {
        return error.to_string();
    }
    let error = Command::new(program).args(arguments).exec();
    format!("cannot execute {}: {error}", program.to_string_lossy())
}

fn prepare(guard: &str, cpus: &str) -> Result<(), String> {
    set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("cannot tie to the guard: {error}"))?;
    // The guard may have died before that call; then nothing would kill this process.
    if getppid().to_string() != guard {
        return Err("the guard is gone".to_owned());
    }
    if !cpus.is_empty() {
        let list = parse_cpu_list(cpus).map_err(|error| error.to_string())?;
        pin_current_thread(&list).map_err(|error| format!("cannot pin to CPUs {cpus}: {error}"))?;
    }
    // The guard takes its signals from a file descriptor and so blocks them; the command must not.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| format!("cannot unblock signals: {error}"))?;
    File::open("/dev/null")
        .and_then(|null| Ok(dup2_stdin(&null)?))
        .map_err(|error| format!("cannot use /dev/null as standard input: {error}"))
}
