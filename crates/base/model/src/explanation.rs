//! Why a server costs what it costs: what a request takes, and where its CPU time and its waiting time go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::LoadSpec;

/// What a request of one workload costs one server, and where that goes. Its loads are never ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The server's id.
    pub server: String,
    /// The workload's id.
    pub workload: String,
    /// The load under which it was measured.
    pub load: LoadSpec,
    /// What its figures are divided by.
    pub unit: CostUnit,
    /// The rounds, in order.
    pub rounds: Vec<CostRound>,
    /// Where its CPU time goes; `None` if it was not profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cpu: Option<Profile>,
    /// Where its threads wait; `None` if that was not profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_cpu: Option<Profile>,
    /// What could not be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
}

crate::named! {
    /// What a cost is divided by.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum CostUnit {
        /// An ok response.
        Request = "request",
        /// An event of an event stream.
        Event = "event",
    }
}

crate::named! {
    /// What is counted for each request (or event). The unit of each is in its description.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum CostFigure {
        /// CPU time of the process tree in user mode and in the kernel, in seconds.
        Cpu = "cpu",
        /// CPU time in user mode, in seconds.
        CpuUser = "cpu-user",
        /// CPU time in the kernel, in seconds.
        CpuKernel = "cpu-kernel",
        /// Instructions in user mode and in the kernel, by the processor's counters.
        Instructions = "instructions",
        /// Cycles in user mode and in the kernel, by the processor's counters.
        Cycles = "cycles",
        /// System calls.
        SystemCalls = "system-calls",
        /// System calls that write: write, writev, sendto, sendmsg, sendfile and the like.
        Writes = "writes",
        /// Times that a thread gave its CPU up to wait.
        VoluntarySwitches = "voluntary-switches",
        /// Times that the kernel took the CPU from a thread.
        InvoluntarySwitches = "involuntary-switches",
        /// Times that a thread was woken.
        WakeUps = "wake-ups",
        /// Page faults without I/O.
        MinorFaults = "minor-faults",
        /// Page faults that read from a disk.
        MajorFaults = "major-faults",
        /// Bytes that a response takes in TCP, headers included.
        Bytes = "bytes",
        /// TCP segments with data in which a response arrives.
        Segments = "segments",
        /// Responses that wait once for a delayed acknowledgement: a share (0 to 1).
        AckWaits = "ack-waits",
        /// Growth of the anonymous memory, in bytes; may be negative.
        HeapGrowth = "heap-growth",
        /// Threads that used CPU time during the load: not per request.
        Threads = "threads",
    }
}

/// One round: each figure for each request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostRound {
    /// The figures that could be measured.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "crate::NamedFields<CostFigure, f64>")
    )]
    pub figures: BTreeMap<CostFigure, f64>,
    /// System calls for each request, by name; empty if they could not be counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub system_calls: BTreeMap<String, f64>,
    /// How much more CPU time a request took while system calls were counted, as a share: 0.1 for a tenth more. No other
    /// figure is from that load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing_cost: Option<f64>,
}

/// Something that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unavailable {
    /// What: `system calls by name`.
    pub what: String,
    /// Why not.
    pub why: String,
    /// The one command that changes this, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Where time goes, by stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Samples a second and thread that runs; for time off the CPU, about how many a second.
    pub frequency_hz: f64,
    /// How many samples it has.
    pub samples: u64,
    /// How many were lost because the kernel wrote faster than Prony read.
    pub lost: u64,
    /// The seconds that all stacks together stand for.
    pub seconds: f64,
    /// How many requests (or events) the server served meanwhile.
    pub units: f64,
    /// How much more CPU time a request took while it was profiled, as a share; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The functions; stacks name them by index.
    pub frames: Vec<Frame>,
    /// The stacks, each once, the heaviest first.
    pub stacks: Vec<Stack>,
    /// The stacks that were left out because there were too many, in samples or, off the CPU, seconds.
    #[serde(default)]
    pub left_out: f64,
    /// Code without names, and why it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnamed: Vec<Unnamed>,
}

/// A function in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    /// Its name, demangled; for code without a name, the file and `[unknown]`.
    pub name: String,
    /// The file that its code is in: `libc.so.6`, `[kernel]`, `[jit]`.
    pub module: String,
    /// What kind of code it is.
    pub kind: FrameKind,
}

crate::named! {
    /// Kinds of code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum FrameKind {
        /// Compiled before it ran.
        Native = "native",
        /// Compiled or interpreted while it ran: JavaScript, Java, Python.
        Runtime = "runtime",
        /// The kernel.
        Kernel = "kernel",
    }
}

/// A stack, and how much time it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stack {
    /// Indices of frames, the outermost (caller) first.
    pub frames: Vec<u32>,
    /// Samples on the CPU, or seconds off it.
    pub weight: f64,
}

/// Code that has no names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unnamed {
    /// The file.
    pub module: String,
    /// Its share of all samples' innermost frames, from 0 to 1.
    pub share: f64,
    /// Why it has no names, and what gives it some.
    pub why: String,
}

impl Profile {
    /// The weight of all its stacks.
    pub fn total(&self) -> f64 {
        let listed: f64 = self.stacks.iter().map(|stack| stack.weight).sum();
        listed + self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_their_names_in_json() {
        let mut round = CostRound::default();
        round.figures.insert(CostFigure::CpuUser, 1.5e-6);
        round.system_calls.insert("read".into(), 1.0);
        let json = serde_json::to_string(&round).unwrap();
        assert_eq!(
            json,
            r#"{"figures":{"cpu-user":1.5e-6},"system_calls":{"read":1.0}}"#
        );
        assert_eq!(serde_json::from_str::<CostRound>(&json).unwrap(), round);
    }
}
