//! What is measured: runs, trials, loads, outcomes, histograms, the machine.
//!
//! This crate does not depend on how a load is run, a server is started or a record is stored. Every other crate reads
//! or writes these types.
#![forbid(unsafe_code)]

mod authority;
mod bound;
mod counted_rounds;
mod disturbance;
mod explanation;
mod headline;
mod histogram;
mod interval_latencies;
mod json;
mod load;
mod load_trace;
mod log_tail;
mod named;
#[cfg(feature = "schema")]
mod named_fields;
mod noise;
pub mod objective;
mod outcome;
mod protocol;
mod published;
mod rate_course;
mod run;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
mod schedule;
mod seconds;
mod tcp;
mod text;
mod throttled;
mod throughput;
mod trial;
mod user_instructions;

pub use authority::{Authority, AuthorityError};
pub use bound::{Bound, Cause, FigureKind};
pub use counted_rounds::{CountedRounds, measures_of};
pub use disturbance::Disturbance;
pub use explanation::{
    CostFigure, CostRound, CostUnit, Explanation, Frame, FrameKind, Profile, Stack, Unavailable,
    Unnamed,
};
pub use headline::Work;
pub use histogram::{HistogramError, LatencyHistogram, LatencySummary};
pub use interval_latencies::{IntervalLatencies, IntervalLatency};
pub use json::{from_json, without_mark};
pub use load::{
    AgentResult, Ended, Events, FleetResult, FlowEntry, Flows, GeneratorCost, Handshakes,
    HeldStreams, LatencyFrom, LoadResult, LoadShape, LoadSpec, OpenLoop, Outage, ReportedLatency,
    Scheduling, SlowResponses, SlowestStream, StageResult, Target, Timeline, TimelineSecond,
    TlsResult, ToolReport, WarmupResult, WrongResponse,
};
pub use load_trace::{LoadTrace, ThreadTrace, TracedPhase, TracedRequest, TracedResponse};
pub use log_tail::LogTail;
#[cfg(feature = "schema")]
pub use named_fields::NamedFields;
pub use noise::{
    CpuNoise, CpuWaits, LEAST_OBSERVED_S, MOST_FOREIGN, MOST_STEAL, MachineNoise, NoiseCause,
    Outside, OutsideServer, noisy, worst_of,
};
pub use outcome::{Checked, Outcome, Outcomes};
pub use protocol::Protocol;
pub use published::{Published, PublishedFigure, PublishedRow, PublishedTable, RoundSummary};
pub use rate_course::RateCourse;
pub use run::{
    AB, Adaptive, CEILING, CpuAssignment, EnoughRounds, Machine, OutsideProcess, RoundsEnd, Run,
    RunEnd, RunFleet, ServerRecord, ServerStatus, VerifyResult, VerifyVerdict, baseline,
};
pub use schedule::{Arrivals, Schedule, Stage};
pub use seconds::Seconds;
pub use tcp::{SHORTEST_TIMEOUT_NS, TcpEvents};
pub use text::{RateError, RateText, exact, parse_percent, parse_rate, parse_stages, percentage};
pub use throttled::{Throttled, quota};
pub use throughput::Throughput;
pub use trial::{
    AttemptWeight, FailureKind, LogLines, Measurement, ProcessStart, ServerCost, Trial,
    TrialRecord, TrialResult, WarmUp, attempt_that_counts,
};
pub use user_instructions::{
    CountedBatches, CountedBy, FunctionInstructions, MeasuredBy, UnemulatedCost, UserInstructions,
};
