//! Puts load on one target and measures it. Does not depend on servers or suites.
//!
//! [`run`] is the engine: one worker thread per CPU, each with its own event loop and connections. The [`wire`]s never
//! touch a socket. [`exchange()`] sends one request and returns its whole response.
#![forbid(unsafe_code)]

mod engine;
mod exchange;
mod latency_bands;
mod plan;
mod request;
mod runner;
mod segments;
mod target;
pub mod tls;
pub mod wire;

pub use engine::{
    ForeignPart, LoadError, PartResult, Progress, Recording, Records, Start, assemble,
    connections_allowed, run, run_part, run_recording,
};
pub use exchange::{Conversation, ExchangeError, FlowFault, Received, exchange, negotiate};
pub use latency_bands::LatencyBands;
pub use plan::{
    Batch, Batches, EventLoopChoice, Here, LoadPlan, MOST_AGENTS, MOST_PIPELINE, MOST_THREADS,
    PlanError, SampleChoice, Sampling,
};
pub use request::{EncodedTraffic, Request};
pub use runner::{LoadRunner, ThisProcess};
pub use segments::{Segments, SegmentsError, segments_of};
pub use target::{Endpoint, TargetError};
