//! Puts load on one target and measures it. Knows nothing of servers or suites.
//!
//! [`run`] is the engine: one worker thread for each CPU given to it, each with an event loop and
//! connections of its own. The [`wire`]s it speaks never touch a socket. [`exchange`] is one
//! request and its whole response, for looking at.
#![forbid(unsafe_code)]

mod engine;
mod exchange;
mod plan;
mod request;
mod request_file;
mod response;
mod target;
pub mod wire;

pub use engine::{LoadError, Progress, connections_allowed, run};
pub use exchange::{Came, Conversation, ExchangeError, exchange};
pub use plan::{
    EventLoopChoice, LoadPlan, MOST_PIPELINE, MOST_THREADS, PlanError, SampleChoice, Sampling,
};
pub use request::{Order, Request, RequestError, RequestSet, WireRequest};
pub use request_file::{LONGEST_REQUEST_FILE, RequestFile, RequestFileError};
pub use response::{
    Expectation, LONGEST_BODY, Mismatch, Response, ResponseCheck, difference_at, excerpt,
    first_difference, same_bytes,
};
pub use target::{Endpoint, HttpUrl, TargetError};
