//! Nothing that Prony starts outlives Prony, however Prony ends.
//!
//! Prony starts a **guard** (its own program again, first argument `__guard`), which starts a
//! **launch** (`__launch`), which becomes the command. Each does what only it can:
//!
//! - The guard is the subreaper: processes of the tree that lose their parent become its
//!   children, so even daemons stay within its reach. Its standard input is a pipe from Prony; when that
//!   closes, Prony is gone, and the guard kills every descendant it has.
//! - The launch asks to die with the guard, pins itself, says what time it is and execs the command.
//!
//! All of it without `unsafe`: no code runs between a fork and an exec.

mod guarded;
mod launch;
mod protocol;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) use guarded::new_log;
pub use guarded::{Guarded, RunError, SpawnError, Task};
pub use protocol::Exit;

/// The program that is executed as guard: Prony itself, or a stand-in in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardProgram(PathBuf);

impl GuardProgram {
    /// That program, which must call [`run_if_asked`] first of all.
    pub fn new(path: impl Into<PathBuf>) -> GuardProgram {
        GuardProgram(path.into())
    }

    /// The program that runs now.
    ///
    /// # Errors
    /// Where the system does not say which one it is.
    pub fn current() -> std::io::Result<GuardProgram> {
        std::env::current_exe().map(GuardProgram)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Does a guard's or a launch's work where the arguments (program name first) ask for it.
///
/// `main` calls this before it reads its own arguments, and where it gives an exit code, returns that.
pub fn run_if_asked(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    match args.next()?.to_str()? {
        protocol::GUARD => Some(watch::guard_main(args.collect())),
        protocol::LAUNCH => Some(launch::launch_main(args.collect())),
        _ => None,
    }
}
