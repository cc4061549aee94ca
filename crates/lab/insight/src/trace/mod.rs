//! What a server does during a load, by the kernel's own records.
//!
//! - [`SystemCalls`]: every system call of a process tree, by name, and how often its threads are woken. This takes rights
//!   that most users do not have.
//! - [`Activity`]: context switches, page faults, memory and busy threads, from `/proc`. This takes no rights.
//!
//! Does not depend on servers or loads: the caller says which threads and processes they are.

mod activity;
mod names;
mod rights;
mod system_calls;
mod tally;

pub use activity::{Activity, NoProcesses, Used};
pub use names::{IO_URING, is_write, name_of};
pub use system_calls::{SystemCalls, Traced};
