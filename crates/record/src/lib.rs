//! What was measured: runs, trials, measurements, the machine, their histograms,
//! and the one SQLite file that keeps them.
//!
//! This room knows nothing of how a load is made or a server is started. Every other
//! room writes or reads these types.
#![forbid(unsafe_code)]

mod attempt;
mod baseline;
mod checked;
mod export;
mod histogram;
mod json;
mod load;
#[cfg(test)]
mod load_json;
mod machine;
mod noise;
mod outcome;
mod percent;
mod published;
#[cfg(test)]
mod published_schema;
mod run;
#[cfg(test)]
mod sample;
mod schedule;
mod schedule_text;
mod store;
mod tcp;
mod trial;

pub use attempt::attempt_that_counts;
pub use baseline::baseline;
pub use checked::Checked;
pub use export::{CSV_COLUMNS, RUN_SCHEMA, export_csv, export_json};
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
pub use store::{RunSummary, Store, StoreError};
pub use tcp::{SHORTEST_TIMEOUT_NS, TcpEvents};
pub use trial::{
    CpuNoise, FailureKind, LogLines, MachineNoise, Measurement, NoiseCause, ProcessStart,
    ServerCost, Trial, TrialRecord, TrialResult, WarmUp,
};
