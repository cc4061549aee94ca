//! What Prony asks of the Linux kernel that cannot be asked without unsafe code, behind types that are safe to use.
//!
//! - [`Ring`]: many stream sockets of one thread, driven by io_uring with one system call a turn.
//! - [`Counters`]: the cycles and instructions that a thread has cost; [`TreeCounters`]: those of a tree of processes.
//!
//! Nothing here knows of loads, of servers or of HTTP.

mod counters;
mod ring;

pub use counters::{CounterValues, Counters, TreeCounters};
pub use ring::{Chunk, Completion, LONGEST_SKIP, Receive, Ring, RingSettings, SEND_ROOM};
