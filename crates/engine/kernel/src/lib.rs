//! What Prony needs from the Linux kernel that takes unsafe code, behind types that are safe to use.
//!
//! - [`Ring`]: many stream sockets of one thread, driven by io_uring with one system call per turn.
//! - [`Counters`]: the cycles and instructions of a thread; [`TreeCounters`]: those of a process tree.
//! - [`perf`]: samples of threads and what happens to them, as the kernel writes them down; [`tracefs`]: what can be
//!   sampled beyond clocks.
//! - [`TcpInfo`]: what the kernel knows about a TCP connection.
//! - [`stdout_was_closed`]: whether the program was started without a standard output.
//!
//! This crate does not depend on loads, servers or HTTP.

mod counters;
pub mod perf;
mod ring;
mod standard_output;
mod system;
mod tcp_info;
pub mod tracefs;

pub use counters::{CounterValues, Counters, TreeCounters};
pub use ring::{Chunk, Completion, LONGEST_SKIP, Receive, Ring, RingSettings, SEND_ROOM};
pub use standard_output::stdout_was_closed;
pub use system::{
    CpuListError, ThrottleMeter, allowed_cpus, cpu_quota, default_assignment, detect_machine,
    format_cpu_list, is_program, load_threads, monotonic_ns, numa_nodes, on_path, parse_cpu_list,
    path_folders, pin_current_thread, usable_cpus,
};
pub use tcp_info::{TcpInfo, tcp_info};
