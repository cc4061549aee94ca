//! User-space instructions of a server: what they count is exact where clocks are noisy.

use std::iter::Sum;

use serde::{Deserialize, Serialize};

/// What a load measures of its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredBy {
    /// How fast it responds, and what that costs.
    #[default]
    Time,
    /// The user-space instructions of a request. An emulator may run the server, so its rates and latencies mean nothing.
    Instructions,
}

impl MeasuredBy {
    /// Whether a load measures time, as nearly all do.
    pub(crate) fn is_time(&self) -> bool {
        *self == MeasuredBy::Time
    }
}

/// The user-space instructions that a load cost its server, over its whole process tree, warm-up not included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserInstructions {
    /// How many requests the instructions were counted over, or whole flows of a scenario: those of all batches but the
    /// unusual ones.
    pub requests: u64,
    /// The instructions in user mode.
    pub instructions: u64,
    /// What counted them.
    pub counted_by: CountedBy,
    /// The batches that the requests were counted in.
    #[serde(default)]
    pub batches: CountedBatches,
    /// How many requests warmed the server up before.
    pub warm_up_requests: u64,
    /// The functions that executed most instructions, the heaviest first; empty if hardware counters counted.
    #[serde(default)]
    pub functions: Vec<FunctionInstructions>,
    /// Variables, each `NAME=VALUE`, and options of its program, `PROGRAM OPTION…`, that the server had so that it does the
    /// same work each time.
    #[serde(default)]
    pub settings: Vec<String>,
    /// How many processes executed them.
    pub processes: u32,
    /// What the same requests cost without the emulator, in a process of their own; `None` if this trial did not measure it.
    #[serde(default)]
    pub unemulated: Option<UnemulatedCost>,
}

impl UserInstructions {
    /// Instructions per request; `None` if there was no request.
    pub fn per_request(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.instructions as f64 / self.requests as f64)
    }
}

/// Batches of requests whose instructions were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedBatches {
    /// How many there were.
    pub all: u32,
    /// How many batches were left out because their requests cost far more than those of the others: the server did
    /// something that it does seldom, such as to collect garbage or to compile.
    pub unusual: u32,
}

impl CountedBatches {
    /// What was left out, in words: `2 of 30 batches of requests are left out: …`; `None` if nothing was.
    pub fn left_out(self) -> Option<String> {
        let Self { all, unusual } = self;
        let verb = if unusual == 1 { "is" } else { "are" };
        (unusual > 0).then(|| {
            format!(
                "{unusual} of {all} batches of requests {verb} left out: they cost over 15 % more than the others, because \
                 the server did something that it does seldom, such as to collect garbage or to compile"
            )
        })
    }
}

impl Sum for CountedBatches {
    fn sum<I: Iterator<Item = Self>>(batches: I) -> Self {
        batches.fold(Self::default(), |sum, one| Self {
            all: sum.all + one.all,
            unusual: sum.unusual + one.unusual,
        })
    }
}

/// What counted instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum CountedBy {
    /// The processor.
    Counters,
    /// An emulator that ran the server.
    Emulator {
        /// Its name and version: `valgrind-3.19.0`.
        version: String,
    },
}

/// The instructions of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionInstructions {
    /// Its name.
    pub name: String,
    /// The program or library that it is in, without its folder; `None` if it was compiled while the server ran.
    pub object: Option<String>,
    /// Its instructions, without those of the functions that it called.
    pub instructions: u64,
}

/// CPU time of a server that no emulator ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnemulatedCost {
    /// How many requests it was measured over.
    pub requests: u64,
    /// CPU time in user mode, in seconds.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub cpu_system_s: f64,
}

impl UnemulatedCost {
    /// CPU time per request, in nanoseconds; `None` if there was no request.
    pub fn cpu_ns_per_request(&self) -> Option<f64> {
        let cpu_s = self.cpu_user_s + self.cpu_system_s;
        (self.requests > 0).then(|| cpu_s * 1e9 / self.requests as f64)
    }
}
