//! Nothing that Prony starts outlives Prony, however Prony ends.
//!
//! Prony starts a **supervisor** (its own program again, first argument `__supervisor`), which starts a
//! **launch** (`__launch`), which becomes the command. Each does what only it can:
//!
//! - The supervisor is the subreaper: processes of the tree that lose their parent become its
//!   children, so even daemons stay within its reach. Its standard input is a pipe from Prony; when that
//!   closes, Prony is gone, and the supervisor kills every descendant it has.
//! - The launch asks to die with the supervisor, pins itself, says what time it is and execs the command.
//!
//! All of it without `unsafe`: no code runs between a fork and an exec.

mod protocol;
mod supervised;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

pub use protocol::Exit;
pub(crate) use supervised::new_log;
pub use supervised::{RunError, SpawnError, Supervised, SupervisorProgram, Task};

/// Does a supervisor's or a launch's work if the arguments (program name first) ask for it.
///
/// `main` calls this before it reads its own arguments, and if it returns an exit code, returns that.
pub fn run_if_asked(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    match args.next()?.to_str()? {
        protocol::SUPERVISOR => Some(watch::supervisor_main(args.collect())),
        protocol::LAUNCH => Some(watch::launch_main(args.collect())),
        _ => None,
    }
}
