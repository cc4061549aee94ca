//! What Prony needs from the Linux kernel that takes unsafe code, behind types that are safe to use.
//!
//! - [`Ring`]: many stream sockets of one thread, driven by io_uring with one system call per turn.
//! - [`Counters`]: the cycles and instructions of a thread; [`TreeCounters`]: those of a process tree.
//! - [`stdout_was_closed`]: whether the program was started without a standard output.
//!
//! This crate does not depend on loads, servers or HTTP.

mod counters;
mod ring;
mod standard_output;

pub use counters::{CounterValues, Counters, TreeCounters};
pub use ring::{Chunk, Completion, LONGEST_SKIP, Receive, Ring, RingSettings, SEND_ROOM};
pub use standard_output::stdout_was_closed;
