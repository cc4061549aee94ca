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

use prony_system::monotonic_ns;
use prony_system::{parse_cpu_list, pin_current_thread};

/// The exit code of a launch whose command could not be executed, as shells have it.
const NOT_EXECUTED: u8 = 127;

/// Becomes the command: `SUPERVISOR_PID CPUS PROGRAM ARGUMENT…`, standard input being the way to the supervisor.
///
/// It writes the time and a line feed there, and after it the reason where the command cannot be
/// executed; where it can, the supervisor sees the end of the file.
pub fn launch_main(args: Vec<OsString>) -> ExitCode {
    // Closed by a successful exec: that is how the supervisor learns of it.
    let Ok(to_supervisor) = io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(NOT_EXECUTED);
    };
    let mut to_supervisor = File::from(to_supervisor);
    let reason = become_command(&args, &mut to_supervisor);
    // Nobody is left to tell where this fails.
    let _ = write!(to_supervisor, "{reason}");
    ExitCode::from(NOT_EXECUTED)
}

/// Comes back only with the reason why it could not.
fn become_command(args: &[OsString], to_supervisor: &mut File) -> String {
    let [supervisor, cpus, program, arguments @ ..] = args else {
        return "\nthe launch lacks arguments".to_owned();
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
        .map_err(|error| format!("cannot tie to the supervisor: {error}"))?;
    // The supervisor may have died before that call; then nothing would kill this process.
    if getppid().to_string() != supervisor {
        return Err("the supervisor is gone".to_owned());
    }
    if !cpus.is_empty() {
        let list = parse_cpu_list(cpus).map_err(|error| error.to_string())?;
        pin_current_thread(&list).map_err(|error| format!("cannot pin to CPUs {cpus}: {error}"))?;
    }
    // The supervisor takes its signals from a file descriptor and so blocks them; the command must not.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| format!("cannot unblock signals: {error}"))?;
    File::open("/dev/null")
        .and_then(|null| Ok(dup2_stdin(&null)?))
        .map_err(|error| format!("cannot use /dev/null as standard input: {error}"))
}
