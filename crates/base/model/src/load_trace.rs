//! What a load did, request by request.

use crate::outcome::Outcome;

/// Some requests of a load, chosen evenly, with the time of each step. Times are in nanoseconds from the start of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadTrace {
    /// The name of each request of the load, such as `GET /orders`, by its number.
    pub names: Vec<String>,
    pub threads: Vec<ThreadTrace>,
}

/// What one thread of a load did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTrace {
    /// Its phases, in order.
    pub phases: Vec<TracedPhase>,
    /// One request in this many was kept, on average.
    pub every: u64,
    /// The requests that were kept, in the order in which they ended.
    pub requests: Vec<TracedRequest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPhase {
    /// Whether it is the measured part, not the warm-up.
    pub is_measured: bool,
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// Its number among the requests of the load, or the entries of the scenario.
    pub number: usize,
    /// The number of its connection among those of the thread.
    pub connection: usize,
    /// When it was due; `None` without a schedule.
    pub due_ns: Option<u64>,
    /// When the generator began it. It may have had to wait for a connection from then on.
    pub begun_ns: u64,
    /// When it was sent; `None` if it never was. The last time, if it was sent again.
    pub sent_ns: Option<u64>,
    /// When the first byte of its response arrived.
    pub first_byte_ns: Option<u64>,
    /// When its response was complete, or when it failed.
    pub ended_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it was sent twice.
    pub is_resent: bool,
    /// Its response, if that was complete.
    pub response: Option<TracedResponse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedResponse {
    pub status: u16,
    /// The `grpc-status`, if it has one.
    pub rpc_status: Option<u32>,
    pub body_bytes: u64,
}
