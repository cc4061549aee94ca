//! What was measured: runs, trials, measurements, the machine, their histograms,
//! and the one SQLite file that keeps them.
//!
//! This room knows nothing of how a load is made or a server is started. Every other
//! room writes or reads these types.
#![forbid(unsafe_code)]

mod export;
mod histogram;
mod load;
#[cfg(test)]
mod load_json;
mod machine;
mod outcome;
mod published;
#[cfg(test)]
mod published_schema;
mod run;
#[cfg(test)]
mod sample;
mod schedule;
mod schedule_text;
mod store;
mod trial;

pub use export::{CSV_COLUMNS, RUN_SCHEMA, export_csv, export_json};
pub use histogram::{HistogramError, LatencyHistogram, LatencySummary};
pub use load::{
    Ended, Events, GeneratorCost, HeldStreams, LoadResult, LoadShape, LoadSpec, OpenLoop, Target,
    WarmupResult, WrongAnswer,
};
pub use outcome::{Outcome, Outcomes};
pub use published::{Published, PublishedFigure, PublishedRow, PublishedTable, RoundSummary};
pub use run::{
    CpuAssignment, Machine, Run, RunEnd, SubjectRecord, SubjectStatus, VerifyResult, VerifyVerdict,
};
pub use schedule::{Arrivals, Schedule, Stage};
pub use schedule_text::{RateError, parse_rate, parse_stages};
pub use store::{RunSummary, Store, StoreError};
pub use trial::{
    FailureKind, LogLines, MachineNoise, Measurement, ServerCost, Trial, TrialRecord, TrialResult,
};
