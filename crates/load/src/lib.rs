//! Puts load on one target and measures it. Knows nothing of subjects or suites.
#![forbid(unsafe_code)]

mod answer;
pub mod wire;

pub use answer::{Answer, AnswerCheck, Mismatch};
