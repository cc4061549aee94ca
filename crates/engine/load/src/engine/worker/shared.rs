//! What the parts of a worker have in common, and what it shares with the rest of the process.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::engine::clock::Clock;
use crate::engine::progress::WorkerProgress;
use crate::engine::records::Recording;
use crate::plan::LoadPlan;
use crate::request::EncodedTraffic;

/// How connections fared, warm-up included.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine) struct ConnectionCounts {
    pub(in crate::engine) opened: u64,
    /// How many of these replaced a lost or used-up connection.
    pub(in crate::engine) reconnects: u64,
    /// Requests sent again, because the server had ended their connection or had not processed them.
    pub(in crate::engine) resent: u64,
    /// Waits for a local port.
    pub(in crate::engine) port_waits: u64,
    /// The most connections of the load that were open at a time.
    pub(in crate::engine) most: u64,
    /// Streams that were open at the end.
    pub(in crate::engine) streams_at_end: u64,
    /// Flows that users of a scenario have begun.
    pub(in crate::engine) flows_begun: u64,
}

impl ConnectionCounts {
    /// Adds the counts of another worker or agent.
    pub(in crate::engine) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.opened, other.opened),
            (&mut self.reconnects, other.reconnects),
            (&mut self.resent, other.resent),
            (&mut self.port_waits, other.port_waits),
            (&mut self.most, other.most),
            (&mut self.streams_at_end, other.streams_at_end),
            (&mut self.flows_begun, other.flows_begun),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// What a worker shares with the rest of the process.
pub(in crate::engine) struct Shared<'a> {
    pub(in crate::engine) plan: &'a LoadPlan,
    /// What the plan sends, encoded.
    pub(in crate::engine) sent: &'a EncodedTraffic<'a>,
    pub(in crate::engine) clock: Clock,
    pub(in crate::engine) interrupt: &'a AtomicBool,
    pub(in crate::engine) progress: &'a WorkerProgress,
    pub(in crate::engine) recording: Recording,
}

/// One worker's share of the connections.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Share {
    /// The initial number.
    pub(in crate::engine) connections: usize,
    pub(in crate::engine) most_connections: usize,
    /// Streams beside them.
    pub(in crate::engine) streams: usize,
}

impl Share {
    /// How many connections there may be at a time.
    pub(in crate::engine) fn slots(&self) -> usize {
        self.most_connections + self.streams
    }
}

/// How many users or arrivals begin before those that have begun get their turn: otherwise thousands of connections
/// would overrun the server's queue, and each would seem to take as long as all.
pub(super) const BEGIN_AT_ONCE: usize = 64;
