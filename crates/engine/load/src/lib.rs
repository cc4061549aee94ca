//! Puts load on one target and measures it. Does not depend on servers or suites.
//!
//! [`run`] is the engine: one worker thread per CPU, each with its own event loop and connections. The [`wire`]s never
//! touch a socket. [`exchange()`] sends one request and returns its whole response.
#![forbid(unsafe_code)]

// The scenario of the tests names this crate as its users do.
#[cfg(test)]
extern crate self as prony_load;

mod base64;
mod coding;
mod document;
mod engine;
mod exchange;
mod latency_bands;
mod plan;
mod request;
mod request_file;
mod response;
mod runner;
mod scenario;
mod segments;
mod target;
pub mod tls;
pub mod wire;

pub use base64::Base64;
pub use coding::{ALL_CODINGS, Accepted};
pub use document::{NotPortable, PlanDocument, Portable, Rebuild, RebuildError};
pub use engine::{
    ForeignPart, LoadError, PartResult, Progress, Recording, Records, Start, assemble,
    connections_allowed, run, run_part, run_recording,
};
pub use exchange::{Conversation, ExchangeError, Received, exchange, negotiate};
pub use latency_bands::LatencyBands;
pub use plan::{
    Batch, Batches, EventLoopChoice, Here, LoadPlan, MOST_AGENTS, MOST_PIPELINE, MOST_THREADS,
    PlanError, SampleChoice, Sampling,
};
pub use request::{
    Field, LoadRequest, Order, Request, RequestError, RequestParts, RequestSet, WireRequest,
    add_field, add_user, header_fields,
};
pub use request_file::{LONGEST_REQUEST_FILE, RequestFile, RequestFileError};
pub use response::{
    Expectation, LONGEST_BODY, Mismatch, Response, ResponseCheck, difference_at, excerpt,
    first_difference, same_bytes,
};
pub use runner::{LoadRunner, ThisProcess};
pub use scenario::{
    Entry, FlowShare, Keep, Rejection, Reply, Scenario, ScenarioRequest, Sending, Turn, User,
};
pub use segments::{Segments, SegmentsError, segments_of};
pub use target::{Endpoint, HttpUrl, NOT_IN_URLS, Scheme, TargetError};
