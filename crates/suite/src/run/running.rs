//! A server that responds, and what its process has been through.

use std::io;

use prony_server::RunningServer;

use super::verify::{STOP_GRACE, settle_quiet};

/// A server that gave an expected response, with the life of its process.
pub struct Running {
    pub server: RunningServer,
    /// From the spawn of its process to its first expected response; taken by the trial that started it.
    pub startup_ns: Option<u64>,
    /// How long it has been under load, in seconds.
    pub loaded_s: f64,
    /// Whether its warm-up was searched for its end.
    pub is_searched: bool,
    /// What it held before its first load, in bytes; `None` before that, and if the system did not say.
    pub memory_before_bytes: Option<u64>,
    /// Requests that were still in flight when its last load ended: it may log them later.
    pub in_flight: u64,
}

impl Running {
    /// A server that has just given its first expected response.
    pub fn new(server: RunningServer, startup_ns: u64) -> Self {
        Self {
            server,
            startup_ns: Some(startup_ns),
            loaded_s: 0.0,
            is_searched: false,
            memory_before_bytes: None,
            in_flight: 0,
        }
    }

    /// How many lines it has logged, once it logs no more of its last load.
    pub fn settled_lines(&mut self) -> io::Result<u64> {
        if self.in_flight > 0 {
            settle_quiet(&mut self.server);
        }
        self.server.log_lines()
    }

    /// Ends it. The log of a server that did well says nothing that the record does not.
    pub fn stop(mut self) {
        self.server.stop(STOP_GRACE);
        self.server.logs().discard();
    }
}
