//! What the kernel writes down, as types.

use std::path::PathBuf;

/// One thing that the kernel has written down.
///
/// Times are nanoseconds of `CLOCK_MONOTONIC`. Ids of processes and threads are those of this process's PID namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A sampled event happened.
    Sample(Sample),
    /// A thread came to a CPU.
    CameBack { tid: i32, time_ns: u64 },
    /// A process mapped memory that may be executed.
    Mapped {
        pid: i32,
        time_ns: u64,
        /// Where the mapping starts.
        address: u64,
        /// Its length in bytes.
        length: u64,
        /// Where in the file it starts, in bytes.
        offset: u64,
        /// The file, or a name such as `//anon` or `[vdso]`.
        path: PathBuf,
    },
    /// A process executes another program.
    Executed { pid: i32, time_ns: u64 },
    /// The process `parent` started a process, or a thread of its own if both are the same.
    Forked { pid: i32, parent: i32, time_ns: u64 },
    /// A thread ended.
    Ended { pid: i32, tid: i32, time_ns: u64 },
    /// The ring was full, so as many records are missing here.
    Lost(u64),
}

impl Record {
    /// When it happened; 0 for [`Record::Lost`].
    pub fn time_ns(&self) -> u64 {
        match self {
            Record::Sample(sample) => sample.time_ns,
            Record::CameBack { time_ns, .. }
            | Record::Mapped { time_ns, .. }
            | Record::Executed { time_ns, .. }
            | Record::Forked { time_ns, .. }
            | Record::Ended { time_ns, .. } => *time_ns,
            Record::Lost(_) => 0,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Which of the [`Sampler`](super::Sampler)'s events.
    pub event: usize,
    pub pid: i32,
    pub tid: i32,
    pub time_ns: u64,
    /// The addresses of the functions in the kernel, the innermost first.
    pub kernel_chain: Vec<u64>,
    /// Those in user mode by frame pointers, the innermost first.
    pub user_chain: Vec<u64>,
    /// The registers in user mode; `None` in a kernel thread, or if the sample has none.
    pub registers: Option<UserRegisters>,
    /// The stack in user mode, from the stack pointer on.
    pub stack: Vec<u8>,
}

/// The registers that unwinding a stack needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserRegisters {
    pub ip: u64,
    pub sp: u64,
    /// The frame pointer: `rbp`, or `x29` on AArch64.
    pub bp: u64,
    /// The link register; `None` on processors that have none.
    pub lr: Option<u64>,
}
