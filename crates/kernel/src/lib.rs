//! What Prony asks of the Linux kernel that cannot be asked without unsafe code, behind types that are safe to use.
//!
//! - [`Ring`]: many stream sockets of one thread, driven by io_uring with one system call a turn.
//! - [`Counters`]: the cycles and instructions that a thread has cost; [`TreeCounters`]: those of a tree of processes.
//! - [`stdout_was_closed`]: whether the program was started without a standard output.
//!
//! Nothing here knows of loads, of servers or of HTTP.

mod counters;
mod ring;
mod standard_output;

pub use counters::{CounterValues, Counters, TreeCounters};
pub use ring::{Chunk, Completion, LONGEST_SKIP, Receive, Ring, RingSettings, SEND_ROOM};
pub use standard_output::stdout_was_closed;
