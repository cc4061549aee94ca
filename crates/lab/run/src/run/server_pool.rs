//! Servers that are kept running from round to round, because they take long to warm up.

use std::collections::BTreeSet;
use std::io;

use super::process::Process;
use super::verify::{STOP_GRACE, settle_quiet};
use prony_model::ProcessStart;

const MOST_KEPT: usize = 32;
/// The share of the machine's memory that they may hold together.
const MOST_MEMORY: f64 = 0.25;

/// The server and the index of the measure. Each load warms up different code, so each has its own process.
pub(super) type Key = (String, usize);

/// The processes that are kept, one per server and measure. Dropping this kills them all.
///
/// If there is no room for another process, Prony stops it after its trial and starts a new one for the next, so that
/// those already kept stay warm.
pub(super) struct ServerPool {
    servers: Vec<PooledServer>,
    /// Every process that was ever kept.
    known: BTreeSet<Key>,
    machine_memory_bytes: u64,
}

struct PooledServer {
    key: Key,
    held_bytes: u64,
    running: Running,
}

impl ServerPool {
    /// Keeps nothing yet, on a machine with this much memory.
    pub(super) fn new(machine_memory_bytes: u64) -> Self {
        Self {
            servers: Vec::new(),
            known: BTreeSet::new(),
            machine_memory_bytes,
        }
    }

    /// Takes out the process of `key`, if it is kept.
    ///
    /// # Errors
    /// If it has ended: how.
    pub(super) fn take(&mut self, key: &Key) -> Result<Option<Running>, String> {
        let Some(index) = self.servers.iter().position(|one| one.key == *key) else {
            return Ok(None);
        };
        let mut running = self.servers.remove(index).running;
        match running.server.exited() {
            None => Ok(Some(running)),
            Some(exit) => Err(exit),
        }
    }

    /// Whether a new process of `key` is the first or a restart.
    pub(super) fn process_start(&self, key: &Key) -> ProcessStart {
        if self.known.contains(key) {
            ProcessStart::Restarted
        } else {
            ProcessStart::New
        }
    }

    /// Keeps a server, or stops it if there is no room.
    pub(super) fn put(&mut self, key: Key, running: Running) {
        let held_bytes = running.server.held_bytes();
        self.known.insert(key.clone());
        self.servers.push(PooledServer {
            key,
            held_bytes,
            running,
        });
        if self.exceeds_limits()
            && let Some(one) = self.servers.pop()
        {
            one.running.stop();
        }
    }

    fn exceeds_limits(&self) -> bool {
        let held: u64 = self.servers.iter().map(|one| one.held_bytes).sum();
        let memory = self.machine_memory_bytes;
        let too_large = memory > 0 && held as f64 > MOST_MEMORY * memory as f64;
        // A single one is kept however large it is.
        self.servers.len() > MOST_KEPT || (self.servers.len() > 1 && too_large)
    }

    /// Stops those that are no longer needed.
    pub(super) fn retain(&mut self, is_needed: impl Fn(&Key) -> bool) {
        for one in self.servers.extract_if(.., |one| !is_needed(&one.key)) {
            one.running.stop();
        }
    }
}

/// A ready server, with the history of its process.
pub(super) struct Running {
    pub(super) server: Process,
    /// From the exec of its command to its first expected response, in nanoseconds; only the trial that started it
    /// reports this, so it is `None` from then on, and if it already ran.
    pub(super) startup_ns: Option<u64>,
    /// How long it has been under load, in seconds.
    pub(super) loaded_s: f64,
    /// Whether it was warmed up until it was steady.
    pub(super) is_warmed_up: bool,
    /// Its memory before its first load, in bytes; `None` before that, or if the system did not report it.
    pub(super) memory_before_bytes: Option<u64>,
    /// Requests in flight when its last load ended. The server may still log them.
    pub(super) in_flight: u64,
}

impl Running {
    /// A server that has just sent its first expected response.
    pub(super) fn new(server: Process, startup_ns: Option<u64>) -> Self {
        Self {
            server,
            startup_ns,
            loaded_s: 0.0,
            is_warmed_up: false,
            memory_before_bytes: None,
            in_flight: 0,
        }
    }

    /// How many lines it has logged; waits first until those of its last load are complete.
    pub(super) fn settled_lines(&mut self) -> io::Result<u64> {
        if self.in_flight > 0 {
            settle_quiet(&mut self.server);
        }
        self.server.log_lines()
    }

    /// Stops it, unless it already ran, and removes its logs, which are only kept for failures.
    pub(super) fn stop(mut self) {
        self.server.stop(STOP_GRACE);
        self.server.discard_logs();
    }
}
