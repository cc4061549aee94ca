//! What the kernel writes down, as types.

use std::borrow::Cow;
use std::path::Path;

/// One thing that the kernel has written down.
///
/// Times are nanoseconds of `CLOCK_MONOTONIC`. Ids of processes and threads are those of this process's PID namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// A sampled event happened.
    Sample(Sample<'a>),
    /// A thread came to a CPU, or left it.
    Switch {
        /// Its process.
        pid: i32,
        /// The thread.
        tid: i32,
        time_ns: u64,
        cpu: u32,
        /// It left.
        out: bool,
        /// It left although it could have run on.
        preempted: bool,
    },
    /// A process mapped a file, or memory that may be executed.
    Mapping {
        /// The process.
        pid: i32,
        /// The thread that did so.
        tid: i32,
        time_ns: u64,
        /// Where the mapping starts.
        address: u64,
        /// Its length in bytes.
        length: u64,
        /// Where in the file it starts, in bytes.
        offset: u64,
        /// The file, or a name such as `//anon` or `[vdso]`.
        path: &'a Path,
        /// Its memory may be executed.
        executable: bool,
    },
    /// A thread has a new name.
    Comm {
        /// Its process.
        pid: i32,
        /// The thread.
        tid: i32,
        time_ns: u64,
        name: Cow<'a, str>,
        /// Because the process executes another program.
        exec: bool,
    },
    /// A thread or process was started.
    Fork {
        /// Its process.
        pid: i32,
        /// The thread.
        tid: i32,
        /// The process that started it.
        parent_pid: i32,
        /// The thread that started it.
        parent_tid: i32,
        time_ns: u64,
    },
    /// A thread ended.
    Exit {
        /// Its process.
        pid: i32,
        /// The thread.
        tid: i32,
        time_ns: u64,
    },
    /// The ring was full, so as many records are missing here.
    Lost(u64),
}

/// A sampled event happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Which of the [`Sampler`](super::Sampler)'s events.
    pub event: usize,
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    pub cpu: u32,
    /// The addresses of the functions in the kernel, the innermost first.
    pub kernel_chain: Vec<u64>,
    /// Those in user mode, the innermost first.
    pub user_chain: Vec<u64>,
    /// The registers in user mode; `None` in a kernel thread, or if the sample has none.
    pub registers: Option<UserRegisters>,
    /// The stack in user mode, from the stack pointer on.
    pub stack: &'a [u8],
    /// The fields of a tracepoint, and up to 7 bytes that fill it up.
    pub raw: &'a [u8],
}

/// The registers that unwinding a stack needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserRegisters {
    /// The instruction pointer.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer: `rbp`, or `x29` on AArch64.
    pub bp: u64,
    /// The link register; `None` on processors that have none.
    pub lr: Option<u64>,
}
