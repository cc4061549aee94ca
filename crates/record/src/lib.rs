//! What was measured: runs, trials, measurements, the machine, their histograms,
//! and the one SQLite file that keeps them.
//!
//! This room knows nothing of how a load is made or a server is started. Every other
//! room writes or reads these types.
#![forbid(unsafe_code)]

mod histogram;
mod load;
mod outcome;
mod run;
mod trial;

pub use histogram::{HistogramError, LatencyHistogram, LatencySummary};
pub use load::{
    Ended, GeneratorCost, LoadResult, LoadShape, LoadSpec, Target, WarmupResult, WrongAnswer,
};
pub use outcome::{Outcome, Outcomes};
pub use run::{
    CpuAssignment, Machine, Run, RunEnd, SubjectRecord, SubjectStatus, VerifyResult, VerifyVerdict,
};
pub use trial::{
    FailureKind, LogLines, MachineNoise, Measurement, ServerCost, Trial, TrialRecord, TrialResult,
};
