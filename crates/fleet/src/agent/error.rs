//! Why an agent ends without having been told to.

use std::time::Duration;

/// Why an agent ends without having been told to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error("standard input has closed: the fleet is gone")]
    Closed,
    #[error("standard input has been silent for {} s: the fleet is gone", .0.as_secs())]
    Silent(Duration),
    #[error("standard input cannot be read: {0}")]
    Input(String),
    #[error(
        "standard input has a line that this version of Prony cannot read: it is wrong at byte {column} of {length}"
    )]
    NoMessage { column: usize, length: usize },
    #[error("standard input has a line of more than 1 GiB")]
    TooLong,
    #[error("the fleet sent {0}")]
    Unexpected(&'static str),
    #[error("standard output cannot be written: {0}")]
    Output(String),
    #[error("nobody has read standard output for {} s", .0.as_secs())]
    Stuck(Duration),
    #[error("the load has not ended in the longest time that it may take")]
    Deadline,
    #[error("a thread could not be started: {0}")]
    Thread(String),
    #[error("the load panicked: please report this")]
    Panicked,
}
