//! Why the server cannot start, or had to stop.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

/// Why the server cannot start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// A variable of the environment is not set.
    #[error("the environment variable {name} is not set; set it to {meaning}")]
    Missing {
        /// The variable.
        name: &'static str,
        /// What its value says.
        meaning: &'static str,
    },
    /// A variable of the environment makes no sense.
    #[error("the environment variable {name} is `{value}`; set it to {meaning}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What its value must say.
        meaning: &'static str,
        /// Its value.
        value: String,
    },
    /// A file of the assets cannot be read.
    #[error(
        "cannot read {}: {source}; ASSETS must name the folder that holds it", path.display()
    )]
    Asset {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of quotes has no quote in it.
    #[error("{} has no line to quote; put at least one in", path.display())]
    NoQuotes {
        /// The file.
        path: PathBuf,
    },
    /// It cannot listen.
    #[error("cannot listen on {address}: {source}; is the port in use?")]
    Listen {
        /// The host and port.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a worker thread: {0}; is the limit of processes reached?")]
    Thread(io::Error),
    /// The kernel's event queue failed.
    #[error("the event queue failed: {0}")]
    Events(#[from] Errno),
    /// The request log cannot be written, and a response without its log line would be a wrong one.
    #[error("cannot write the request log: {0}; make room for it, or point it elsewhere")]
    Log(io::Error),
    /// A worker ended that should have gone on for ever.
    #[error("a worker thread ended unexpectedly; see its message above")]
    WorkerLost,
}
