//! Puts load on one target and measures it. Knows nothing of subjects or suites.
//!
//! [`run`] is the engine: one worker thread for each CPU given to it, each with an event loop and
//! connections of its own. The [`wire`]s it speaks never touch a socket. [`exchange`] is one
//! request and its whole answer, for looking at.
#![forbid(unsafe_code)]

mod answer;
mod engine;
mod exchange;
mod plan;
mod request;
mod target;
pub mod wire;

pub use answer::{Answer, AnswerCheck, Mismatch};
pub use engine::{LoadError, Progress, run};
pub use exchange::{ExchangeError, exchange};
pub use plan::{LoadPlan, PlanError, Sampling};
pub use request::{Request, RequestError, WireRequest};
pub use target::{HttpUrl, TargetError};
