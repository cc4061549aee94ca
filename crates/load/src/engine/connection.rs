//! One connection: what it is doing, and the requests that it carries.

use std::collections::VecDeque;

use super::clock::Nanoseconds;
use super::judge::Sample;
use crate::wire::Fault;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// There is none: it is made when it is needed.
    Closed,
    /// It could not be made, or not yet; the next attempt is made then.
    Retrying { at: Nanoseconds },
    /// It is being set up.
    Connecting { since: Nanoseconds },
    /// It is there.
    Open,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It carries the requests of the load.
    Load,
    /// It holds a stream open beside the load.
    Stream,
}

/// A request that has begun, until it has its outcome.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Its number in the set of requests.
    pub(super) number: usize,
    /// Where its latency runs from; `None` where that is its send, and it is not sent yet.
    pub(super) from: Option<Nanoseconds>,
    /// When it is timed out; the end of time where its connection is not there yet and nothing else
    /// bounds it.
    pub(super) deadline: Nanoseconds,
    /// Whether its scheduled instant had passed when its user became free.
    pub(super) queued: bool,
    /// Whether it was sent before, over a connection that the server had closed.
    pub(super) resent: bool,
    /// Whether it was the last one that its connection may carry.
    pub(super) last: bool,
    /// Whether anything of its response has come.
    pub(super) response_begun: bool,
    /// When its last event came, where its response is an event stream.
    pub(super) last_event: Option<Nanoseconds>,
    /// Where its response is being kept to be looked at.
    pub(super) sample: Option<Box<Sample>>,
}

/// One connection of a worker.
#[derive(Debug)]
pub(super) struct Connection<W> {
    pub(super) role: Role,
    pub(super) activity: Activity,
    pub(super) wire: W,
    /// The requests that it is there for, in the order of their responses.
    pub(super) in_flight: VecDeque<InFlight>,
    /// How many of these the wire has been asked to send.
    pub(super) asked: usize,
    /// Requests since it was connected, and responses that came whole.
    pub(super) requests: u64,
    pub(super) responses: u64,
    /// Failures to connect, one after the other.
    pub(super) refusals: u32,
    /// Whether it was ever connected.
    pub(super) was_connected: bool,
    /// What came over it while no response was due: the next request over it fails with that.
    pub(super) excess: Option<Fault>,
    /// Since when it waits for an arrival that belongs to nobody, where it does.
    pub(super) waiting_since: Option<Nanoseconds>,
    /// Whether its user waits for an instant.
    pub(super) is_timed: bool,
    /// Whether the timetable will look at its deadlines.
    pub(super) is_watched: bool,
}

impl<W> Connection<W> {
    pub(super) fn new(wire: W, role: Role) -> Self {
        Self {
            role,
            activity: Activity::Closed,
            wire,
            in_flight: VecDeque::new(),
            asked: 0,
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

    /// Whether it is there.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.activity == Activity::Open
    }

    /// Whether it carries the last request that it may.
    #[inline]
    pub(super) fn is_used_up(&self) -> bool {
        self.in_flight.back().is_some_and(|request| request.last)
    }

    /// The connection is gone. The requests that it was there for stay, to be asked again or given up.
    pub(super) fn gone(&mut self, activity: Activity) {
        self.activity = activity;
        if activity != Activity::Closed {
            self.waiting_since = None;
        }
        self.asked = 0;
        self.requests = 0;
        self.responses = 0;
    }
}
