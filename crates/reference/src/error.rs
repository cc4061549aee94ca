//! Why the server cannot start or had to stop, and what is wrong with a script.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

/// Why the server cannot start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// An environment variable is not set.
    #[error("the environment variable {name} is not set; set it to {meaning}")]
    Missing {
        /// The variable.
        name: &'static str,
        /// What its value says.
        meaning: &'static str,
    },
    /// An environment variable is invalid.
    #[error("the environment variable {name} is `{value}`; set it to {meaning}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What its value must say.
        meaning: &'static str,
        /// Its value.
        value: String,
    },
    /// An asset cannot be read.
    #[error(
        "cannot read {}: {source}; ASSETS must name the folder that holds it", path.display()
    )]
    Asset {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of quotes is empty.
    #[error("{} has no quotes; add at least one line", .0.display())]
    NoQuotes(PathBuf),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; is the port in use?")]
    Listen {
        /// The host and port.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a worker thread: {0}; has the process limit been reached?")]
    Thread(io::Error),
    /// The kernel's event queue failed.
    #[error("the event queue failed: {0}")]
    Events(#[from] Errno),
    /// The request log cannot be written; a response without its log line would be wrong.
    #[error("cannot write the request log: {0}; free some space or redirect standard output")]
    Log(io::Error),
    /// A worker thread panicked.
    #[error("a worker thread ended unexpectedly; see its message above")]
    WorkerLost,
}

/// What is wrong with a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Not a freeze.
    #[error("`{0}` is not a freeze; write its length and period, for instance 1s/10s")]
    Freeze(String),
    /// A freeze without length, or as long as its period.
    #[error("a freeze must be longer than 0 and shorter than its period")]
    FreezeLength,
    /// Not a distribution.
    #[error(
        "`{0}` is not a distribution of service times; \
         write fixed:1ms, exponential:1ms (the mean) or file:PATH (one duration per line)"
    )]
    Distribution(String),
    /// Not a duration.
    #[error("`{0}` is not a duration of at most 1h; write for instance 1ms, 250us or 2s")]
    Duration(String),
    /// The file of service times cannot be read.
    #[error("cannot read the service times in {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of the file of service times is not a duration.
    #[error("line {line} of {} is `{text}`, not a duration; write for instance 1ms", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is on it.
        text: String,
    },
    /// The file of service times is empty.
    #[error("{} has no service times; add at least one line", .0.display())]
    NoTimes(PathBuf),
}
