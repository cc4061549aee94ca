//! Lines of a bounded length. Schedulers pass the output of many agents through one pipe and split long lines, so an
//! agent splits its messages itself, and each line says whose it is.

/// Splits a message of an agent into lines.
pub fn frames(_fleet: &str, _agent: usize, _sequence: u64, _message: &str) -> Vec<String> {
    unimplemented!()
}

/// Joins lines to messages.
#[derive(Debug, Default)]
pub struct Frames;

/// A whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framed {
    /// The agent.
    pub agent: usize,
    /// The message.
    pub text: String,
}

/// Why a line is no part of a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FrameError(pub String);
