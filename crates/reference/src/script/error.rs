//! What is wrong with a script.

use std::io;
use std::path::PathBuf;

/// What is wrong with a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A freeze that is none.
    #[error(
        "`{text}` is no freeze; write how long it takes and how often it comes, for instance 1s/10s"
    )]
    Freeze {
        /// What was given.
        text: String,
    },
    /// A freeze without an end, or of no length.
    #[error("a freeze must take some time, and less than the period at whose end it comes")]
    FreezeLength,
    /// A distribution that nobody knows.
    #[error(
        "`{text}` is no distribution of service times; \
         write fixed:1ms, exponential:1ms (the mean) or file:PATH (a duration a line)"
    )]
    Distribution {
        /// What was given.
        text: String,
    },
    /// Not a duration.
    #[error("`{text}` is not a duration of at most 1h; write for instance 1ms, 250us or 2s")]
    Duration {
        /// What was given.
        text: String,
    },
    /// The file of service times cannot be read.
    #[error("cannot read the service times in {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of the file of service times makes no sense.
    #[error("line {line} of {} is `{text}`: write a duration on it, for instance 1ms", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is on it.
        text: String,
    },
    /// No service time in the file.
    #[error("{} has no service time in it; put at least one line in", path.display())]
    NoTimes {
        /// The file.
        path: PathBuf,
    },
}
