//! Why the server cannot start or had to stop, and what is wrong with a script.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    #[error("the environment variable {name} is not set; set it to {meaning}")]
    Missing {
        name: &'static str,
        meaning: &'static str,
    },
    #[error("the environment variable {name} is `{value}`; set it to {meaning}")]
    Invalid {
        name: &'static str,
        meaning: &'static str,
        value: String,
    },
    #[error(
        "cannot read {}: {source}; ASSETS must name the folder that holds it", path.display()
    )]
    Asset { path: PathBuf, source: io::Error },
    #[error("{} has no quotes; add at least one line", .0.display())]
    NoQuotes(PathBuf),
    #[error("cannot read {}: {problem}; {name} must name {meaning}", path.display())]
    TlsFile {
        name: &'static str,
        meaning: &'static str,
        path: PathBuf,
        problem: String,
    },
    #[error("cannot use TLS: {0}; do TLS_CERT and TLS_KEY belong together?")]
    Tls(#[from] rustls::Error),
    #[error("a scripted server does not support TLS; unset TLS_CERT and TLS_KEY")]
    ScriptedTls,
    #[error("cannot listen on {address}: {source}; is the port in use?")]
    Listen { address: String, source: io::Error },
    #[error("cannot start a worker thread: {0}; has the process limit been reached?")]
    Thread(io::Error),
    #[error("the event queue failed: {0}")]
    Events(#[from] Errno),
    /// A response without its log line would be wrong, so the server stops.
    #[error("cannot write the request log: {0}; free some space or redirect standard output")]
    Log(io::Error),
    #[error("a worker thread ended unexpectedly; see its message above")]
    WorkerLost,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("`{0}` is not a freeze; write its length and period, for instance 1s/10s")]
    Freeze(String),
    #[error(
        "a freeze must be longer than 0 and shorter than its period, which may be at most a day"
    )]
    FreezeLength,
    #[error(
        "`{0}` is not a distribution of service times; \
         write fixed:1ms, exponential:1ms (the mean) or file:PATH (one duration per line)"
    )]
    Distribution(String),
    #[error("`{0}` is not a duration of at most 1h; write for instance 1ms, 250us or 2s")]
    Duration(String),
    #[error("cannot read the service times in {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("line {line} of {} is `{text}`, not a duration; write for instance 1ms", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        text: String,
    },
    #[error("{} has no service times; add at least one line", .0.display())]
    NoTimes(PathBuf),
}
