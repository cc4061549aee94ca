//! One connection: its state, and the requests that it carries.

use std::collections::VecDeque;

use super::clock::Nanoseconds;
use super::judge::Sample;
use crate::wire::Fault;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Not open; the next request opens it.
    Closed,
    /// The last attempt to connect failed; the next one is due at `at`.
    Retrying {
        at: Nanoseconds,
    },
    Connecting {
        since: Nanoseconds,
    },
    Open,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Carries the requests of the load.
    Load,
    /// Holds a stream open beside the load.
    Stream,
}

/// A request that has begun and has no outcome yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Its number in the set of requests.
    pub(super) number: usize,
    /// The start of its latency; `None` if that is its send, and it is not sent yet.
    pub(super) from: Option<Nanoseconds>,
    /// When it times out; the end of time if it still waits for its connection and nothing else bounds it.
    pub(super) deadline: Nanoseconds,
    /// Whether it was due before its user became free.
    pub(super) queued: bool,
    /// Whether it was sent before, over a connection that the server then closed.
    pub(super) resent: bool,
    /// Whether it is the last one that its connection may carry.
    pub(super) last: bool,
    /// Whether the first byte of its response has arrived.
    pub(super) response_begun: bool,
    /// When the last event of its event stream arrived.
    pub(super) last_event: Option<Nanoseconds>,
    /// Keeps the response for comparison.
    pub(super) sample: Option<Box<Sample>>,
}

/// One connection of a worker.
#[derive(Debug)]
pub(super) struct Connection<W> {
    pub(super) role: Role,
    pub(super) activity: Activity,
    pub(super) wire: W,
    /// Its requests, in the order of their responses.
    pub(super) in_flight: VecDeque<InFlight>,
    /// How many of these the wire has taken.
    pub(super) passed: usize,
    /// Requests since it was connected, and whole responses.
    pub(super) requests: u64,
    pub(super) responses: u64,
    /// Consecutive failures to connect.
    pub(super) refusals: u32,
    /// Whether it was ever connected.
    pub(super) was_connected: bool,
    /// Bytes that arrived while no response was due: the next request over it fails with this.
    pub(super) excess: Option<Fault>,
    /// Since when it has waited for an arrival of the shared schedule.
    pub(super) waiting_since: Option<Nanoseconds>,
    /// Whether its user is in the timetable.
    pub(super) is_timed: bool,
    /// Whether the timetable will check its deadlines.
    pub(super) is_watched: bool,
}

impl<W> Connection<W> {
    pub(super) fn new(wire: W, role: Role) -> Self {
        Self {
            role,
            activity: Activity::Closed,
            wire,
            in_flight: VecDeque::new(),
            passed: 0,
            requests: 0,
            responses: 0,
            refusals: 0,
            was_connected: false,
            excess: None,
            waiting_since: None,
            is_timed: false,
            is_watched: false,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.activity == Activity::Open
    }

    /// Whether it carries the last request that it may.
    #[inline]
    pub(super) fn is_used_up(&self) -> bool {
        self.in_flight.back().is_some_and(|request| request.last)
    }

    /// Closes the connection. Its requests stay, to be resent or given up.
    pub(super) fn disconnect(&mut self, activity: Activity) {
        self.activity = activity;
        if activity != Activity::Closed {
            self.waiting_since = None;
        }
        self.passed = 0;
        self.requests = 0;
        self.responses = 0;
    }
}
