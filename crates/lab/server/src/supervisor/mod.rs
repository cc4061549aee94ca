//! Nothing that Prony starts outlives Prony, however Prony ends.
//!
//! Prony starts a **supervisor** (its own program again, first argument `__supervisor`), which starts a
//! **launch** (`__launch`), which becomes the command. Each does what only it can:
//!
//! - The supervisor is the subreaper: orphaned processes of the tree become its children, so even daemons stay within its reach. Its standard input is a pipe from Prony; when that closes, Prony has ended, and the supervisor kills all its descendants.
//! - The launch asks the kernel to kill it with the supervisor, pins itself, reports the time and execs the command.
//!
//! No `unsafe` is needed, because no code runs between a fork and an exec.

mod protocol;
mod supervised;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

pub use protocol::Exit;
pub use supervised::{CommandError, SpawnError, Supervised, SupervisorProgram, Task};

/// Acts as a supervisor or a launch if the arguments (program name first) say so.
///
/// `main` must call this before it reads its own arguments, and end with the exit code if one is returned.
pub fn run_if_asked(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    match args.next()?.to_str()? {
        protocol::SUPERVISOR => Some(watch::supervisor_main(args.collect())),
        protocol::LAUNCH => Some(watch::launch_main(args.collect())),
        _ => None,
    }
}
