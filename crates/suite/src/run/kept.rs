//! Servers that are kept running from round to round, because they take long to warm up.

use std::collections::BTreeSet;
use std::io;

use prony_model::ProcessStart;
use prony_server::RunningServer;

use super::verify::{STOP_GRACE, settle_quiet};

/// At most this many are kept.
const MOST_KEPT: usize = 32;
/// The share of the machine's memory that they may hold together.
const MOST_MEMORY: f64 = 0.25;

/// Which server it is, and for which of the plan's measures: another load warms up another part of it.
pub type Key = (String, usize);

/// The servers that are kept, each with the process of one server under one measure. Dropping it kills them all.
///
/// If there is no room for another, it is stopped, and its next trial starts and warms up a new one: those that are kept
/// stay warm.
#[derive(Default)]
pub struct Kept {
    running: Vec<One>,
    /// Each that was ever kept.
    known: BTreeSet<Key>,
}

struct One {
    key: Key,
    held_bytes: u64,
    running: Running,
}

impl Kept {
    /// Takes out the server of `key` if it still runs; else returns how its process ended, if there was one.
    pub fn take(&mut self, key: &Key) -> (Option<Running>, Option<String>) {
        let Some(place) = self.running.iter().position(|one| one.key == *key) else {
            return (None, None);
        };
        let mut one = self.running.remove(place);
        match one.running.server.exited() {
            None => (Some(one.running), None),
            Some(exit) => (None, Some(exit.to_string())),
        }
    }

    /// What the next process of `key` is, if none could be taken out.
    pub fn next_start(&self, key: &Key) -> ProcessStart {
        match self.known.contains(key) {
            true => ProcessStart::Restarted,
            false => ProcessStart::New,
        }
    }

    /// Keeps a server, or stops it if there is no room; `machine_bytes` is the machine's memory.
    pub fn put(&mut self, key: Key, running: Running, machine_bytes: u64) {
        let held_bytes = running
            .server
            .usage()
            .map_or(0, |usage| usage.resident_bytes);
        self.known.insert(key.clone());
        self.running.push(One {
            key,
            held_bytes,
            running,
        });
        if self.is_too_much(machine_bytes)
            && let Some(one) = self.running.pop()
        {
            one.running.stop();
        }
    }

    fn is_too_much(&self, machine_bytes: u64) -> bool {
        let held: u64 = self.running.iter().map(|one| one.held_bytes).sum();
        let too_large = machine_bytes > 0 && held as f64 > MOST_MEMORY * machine_bytes as f64;
        // A single one is of use however large it is.
        self.running.len() > MOST_KEPT || (self.running.len() > 1 && too_large)
    }

    /// Stops those that `is_needed` does not say are needed any more.
    pub fn retain(&mut self, is_needed: impl Fn(&Key) -> bool) {
        for one in self.running.extract_if(.., |one| !is_needed(&one.key)) {
            one.running.stop();
        }
    }
}

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
