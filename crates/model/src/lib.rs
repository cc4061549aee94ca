//! What is measured: runs, trials, loads, outcomes, histograms, the machine.
//!
//! This crate knows nothing of how a load is run, a server is started or a record is stored. Every
//! other crate writes or reads these types.
#![forbid(unsafe_code)]

mod attempt;
mod baseline;
mod checked;
mod counted_rounds;
mod disturbance;
mod headline;
mod histogram;
mod json;
mod load;
#[cfg(test)]
mod load_json;
mod noise;
mod outcome;
mod percent;
mod published;
mod run;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod schedule;
mod schedule_text;
mod tcp;
mod trial;

pub use attempt::attempt_that_counts;
pub use baseline::baseline;
pub use checked::Checked;
pub use counted_rounds::CountedRounds;
pub use disturbance::Disturbance;
pub use histogram::{HistogramError, LatencyHistogram, LatencySummary};
pub use json::{from_json_slice, from_json_str};
pub use load::{
    Ended, Events, GeneratorCost, HeldStreams, LoadResult, LoadShape, LoadSpec, OpenLoop,
    Scheduling, Target, Timeline, WarmupResult, WrongResponse,
};
pub use noise::{
    CpuWaits, LEAST_OBSERVED_S, MOST_FOREIGN, MOST_STEAL, Outside, OutsideServer, noisy, worst_of,
};
pub use outcome::{Outcome, Outcomes};
pub use percent::parse_percent;
pub use published::{Published, PublishedFigure, PublishedRow, PublishedTable, RoundSummary};
pub use run::{
    Adaptive, CEILING, CpuAssignment, EnoughRounds, Machine, RoundsEnd, Run, RunEnd, ServerRecord,
    ServerStatus, VerifyResult, VerifyVerdict,
};
pub use schedule::{Arrivals, Schedule, Stage};
pub use schedule_text::{RateError, parse_rate, parse_stages};
pub use tcp::{SHORTEST_TIMEOUT_NS, TcpEvents};
pub use trial::{
    CpuNoise, FailureKind, LogLines, MachineNoise, Measurement, NoiseCause, ProcessStart,
    ServerCost, Trial, TrialRecord, TrialResult, WarmUp,
};
