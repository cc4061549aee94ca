//! One connection: its state, and the requests that it carries.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::clock::Nanoseconds;
use super::judge::Sample;
use super::request_trace::Traced;
use crate::wire::{Fault, Wire};

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

/// The requests of a connection that ended with it.
#[derive(Debug, Default)]
pub(super) struct LostRequests {
    /// Those whose responses had begun.
    pub(super) begun: Vec<InFlight>,
    pub(super) not_begun: Vec<InFlight>,
    /// How many others are sent again.
    pub(super) resent: u64,
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
    /// Whether its user is in the timetable.
    pub(super) is_timed: bool,
}

impl<W> Connection<W> {
    pub(super) fn new(wire: W) -> Self {
        Self {
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
            is_timed: false,
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

    pub(super) fn is_handshaking(&self) -> bool {
        matches!(self.activity, Activity::Handshaking { .. })
    }

    /// Whether it pauses before it is opened again.
    #[inline]
    pub(super) fn is_retrying(&self) -> bool {
        matches!(self.activity, Activity::Retrying { .. })
    }

    /// Whether it has carried its last request.
    #[inline]
    pub(super) fn is_through(&self) -> bool {
        self.is_used_up && self.in_flight.is_empty()
    }

    /// Takes a request that the wire has no more.
    #[inline]
    pub(super) fn take_passed(&mut self, position: usize) -> Option<InFlight> {
        let request = match position {
            0 => self.in_flight.pop_front(),
            _ => self.in_flight.remove(position),
        };
        self.passed = self.passed.saturating_sub(1);
        request
    }

    /// When the attempt to open it times out, if there is one.
    pub(super) fn connecting_deadline(&self, timeout: Nanoseconds) -> Option<Nanoseconds> {
        match self.activity {
            Activity::Connecting { since } | Activity::Handshaking { since } => {
                Some(since.saturating_add(timeout))
            }
            _ => None,
        }
    }

    /// When its next request, or the attempt to open it, times out; the end of time if nothing does.
    pub(super) fn next_deadline(&self, timeout: Nanoseconds) -> Nanoseconds {
        let requests = self.in_flight.iter().map(|request| request.deadline);
        let deadlines = requests.chain(self.connecting_deadline(timeout));
        deadlines.min().unwrap_or(Nanoseconds::MAX)
    }

    /// Takes the first request that the wire does not have and whose deadline is over.
    pub(super) fn take_overdue_unsent(&mut self, now: Nanoseconds) -> Option<InFlight> {
        let mut unsent = self.in_flight.iter().skip(self.passed);
        let position = unsent.position(|request| request.deadline <= now)?;
        self.in_flight.remove(self.passed + position)
    }

    /// Takes its requests that cannot be sent again. The server may know the first `sent`, and only those that are
    /// `repeatable` may be sent twice.
    pub(super) fn take_lost(
        &mut self,
        sent: usize,
        repeatable: impl Fn(&InFlight) -> bool,
    ) -> LostRequests {
        let mut lost = LostRequests::default();
        let mut position = 0;
        self.in_flight.retain_mut(|request| {
            position += 1;
            if position > sent {
                request.response_begun = false;
                return true;
            }
            if request.response_begun {
                lost.begun.push(std::mem::take(request));
                return false;
            }
            if !repeatable(request) {
                lost.not_begun.push(std::mem::take(request));
                return false;
            }
            request.prepare_resend();
            lost.resent += 1;
            true
        });
        self.carry_only_these();
        lost
    }

    /// With TLS 1.3 the client may be done with the handshake before the server refuses it, for example because it lacks
    /// a certificate.
    pub(super) fn is_late_refusal(&self, fault: &Fault) -> bool {
        let mut requests = self.in_flight.iter();
        let responded = self.responses > 0 || requests.any(|it| it.response_begun);
        matches!(fault, Fault::Tls(_)) && !responded
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
        self.passed = 0;
        self.responses = 0;
        self.carry_only_these();
    }
}

impl<W: Wire> Connection<W> {
    /// Whether it takes another request, of at most `depth` in flight.
    #[inline]
    pub(super) fn has_room(&self, depth: usize) -> bool {
        let in_flight = self.in_flight.len();
        // One request may wait for room, so that it times out if the server never gives any. More would only wait in
        // line, also while the connection opens.
        let wire_has_room = in_flight == 0 || in_flight - self.passed < self.wire.room();
        in_flight < depth && !self.is_used_up && wire_has_room
    }

    /// How many of its requests the server may know: the first ones.
    pub(super) fn sent_requests(&self) -> usize {
        self.passed.saturating_sub(self.wire.unsent_requests())
    }

    /// How many bytes certainly follow that nobody has to look at.
    #[inline]
    pub(super) fn skippable(&self) -> u64 {
        let sample = self.in_flight.front().and_then(|it| it.sample.as_ref());
        if sample.is_some_and(|sample| !sample.collect.is_cut()) {
            return 0;
        }
        self.wire.skippable()
    }
}
