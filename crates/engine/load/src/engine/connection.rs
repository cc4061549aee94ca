//! One connection: its state, and the requests that it carries.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::clock::Nanoseconds;
use super::judge::Sample;
use super::request_trace::Traced;
use crate::wire::Fault;

/// How long a response pauses after a part if the next one waits for the acknowledgement of the first: the kernel delays
/// those of a connection in use by 40 ms, and its clock ticks every 1 to 10 ms.
const DELAYED_ACK: RangeInclusive<Nanoseconds> = 39_000_000..=50_000_000;

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
    /// Connected, but the wire is not ready for requests.
    Handshaking {
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
    /// Since when it has kept its connection busy.
    pub(super) begun: Nanoseconds,
    /// When it times out: counted from its begin until it is sent, then from its send. A held stream that has begun never
    /// does.
    pub(super) deadline: Nanoseconds,
    /// Whether it was due before its user became free.
    pub(super) queued: bool,
    /// Whether it was sent before, over a connection that the server then closed.
    pub(super) resent: bool,
    /// Whether it is the last one that its connection may carry.
    pub(super) last: bool,
    /// Whether the first byte of its response has arrived.
    pub(super) response_begun: bool,
    /// How long after `from` that was, if it is measured.
    pub(super) first_byte: Option<Nanoseconds>,
    /// Bytes that arrived over its connection before it began, and belong to no response.
    pub(super) excess: Option<Box<Fault>>,
    /// How many events its event stream has brought.
    pub(super) events: u64,
    /// When the last event of its event stream arrived.
    pub(super) last_event: Option<Nanoseconds>,
    /// When the last part of its response arrived, and how many waits for a delayed acknowledgement followed parts.
    pub(super) last_part: Option<Nanoseconds>,
    pub(super) ack_waits: u32,
    /// Keeps the response for comparison.
    pub(super) sample: Option<Box<Sample>>,
    /// The times of its steps, if it is traced.
    pub(super) traced: Option<Box<Traced>>,
}

impl InFlight {
    /// Prepares it to be sent again, without its first sample.
    pub(super) fn prepare_resend(&mut self) {
        self.resent = true;
        self.response_begun = false;
        self.first_byte = None;
        self.events = 0;
        self.last_event = None;
        (self.last_part, self.ack_waits) = (None, 0);
        self.sample = None;
    }
}

/// A handshake that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedHandshake {
    pub(super) resumed: bool,
    pub(super) took: Nanoseconds,
}

/// One connection of a worker.
#[derive(Debug)]
pub(super) struct Connection<W> {
    pub(super) role: Role,
    pub(super) activity: Activity,
    /// Since when it is being set up, if it is: until it can carry requests.
    pub(super) set_up_since: Option<Nanoseconds>,
    pub(super) wire: W,
    /// Its requests: first those that the wire has, in its order.
    pub(super) in_flight: VecDeque<InFlight>,
    /// How many of these the wire has taken.
    pub(super) passed: usize,
    /// Requests since it was connected, and whole responses.
    pub(super) requests: u64,
    pub(super) responses: u64,
    /// How long its handshake took, until that is counted: the server may still refuse the client.
    pub(super) handshake: Option<TimedHandshake>,
    /// Attempts in a row that brought no response.
    pub(super) refusals: u32,
    /// Whether it was ever connected.
    pub(super) was_connected: bool,
    /// Bytes that arrived while no response was due: the next request over it is not ok because of them.
    pub(super) excess: Option<Box<Fault>>,
    /// Whether it has carried the last request that it may.
    pub(super) is_used_up: bool,
    /// Since when it has waited for an arrival of the shared schedule.
    pub(super) waiting_since: Option<Nanoseconds>,
    /// Whether its user is in the timetable.
    pub(super) is_timed: bool,
    /// When its deadlines will be checked; the end of time if it has none.
    pub(super) watched: Nanoseconds,
}

impl<W> Connection<W> {
    pub(super) fn new(wire: W, role: Role) -> Self {
        Self {
            role,
            activity: Activity::Closed,
            set_up_since: None,
            wire,
            in_flight: VecDeque::new(),
            passed: 0,
            requests: 0,
            responses: 0,
            handshake: None,
            refusals: 0,
            was_connected: false,
            excess: None,
            is_used_up: false,
            waiting_since: None,
            is_timed: false,
            watched: Nanoseconds::MAX,
        }
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.activity == Activity::Open
    }

    /// Whether there is a socket to send to and to receive from.
    #[inline]
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.activity, Activity::Open | Activity::Handshaking { .. })
    }

    /// Notes that it will carry the requests that are left, and has carried none yet.
    pub(super) fn carry_only_these(&mut self) {
        self.requests = self.in_flight.len() as u64;
        self.is_used_up = self.in_flight.back().is_some_and(|request| request.last);
    }

    /// Bytes arrive: counts the wait for them if it may have been for a delayed acknowledgement.
    #[inline]
    pub(super) fn end_part_wait(&mut self, now: Nanoseconds) {
        if let Some(request) = self.in_flight.front_mut()
            && let Some(since) = request.last_part.take()
        {
            let waited = now.saturating_sub(since);
            request.ack_waits += u32::from(DELAYED_ACK.contains(&waited));
        }
    }

    /// The bytes that arrived are read: notes whether the only request in flight has a part of its response.
    #[inline]
    pub(super) fn begin_part_wait(&mut self, now: Nanoseconds) {
        if self.in_flight.len() == 1
            && let Some(request) = self.in_flight.front_mut()
            && request.response_begun
        {
            request.last_part = Some(now);
        }
    }

    /// Closes the connection. Its requests stay, to be resent or given up.
    pub(super) fn disconnect(&mut self, activity: Activity) {
        self.activity = activity;
        if activity != Activity::Closed {
            self.waiting_since = None;
        }
        self.passed = 0;
        self.responses = 0;
        self.carry_only_these();
    }
}
