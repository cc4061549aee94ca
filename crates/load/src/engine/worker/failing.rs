//! Handles requests whose connection is lost.

use nix::errno::Errno;
use prony_model::Outcome;

use super::Worker;
use crate::engine::connection::{Activity, InFlight, Role};
use crate::engine::pacer::Pacer;
use crate::wire::{Fault, OnClose, Wire};

const NO_RESPONSE: &str = "the server closed the connection without a response";

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    /// The server has closed the connection, or it broke.
    #[cold]
    pub(super) fn closed(&mut self, index: usize, errno: Option<Errno>) {
        let connection = &mut self.connections[index];
        if connection.in_flight.is_empty() {
            // Between two requests a close is no outcome.
            return self.close(index, Activity::Closed);
        }
        let broke = errno.filter(|errno| !matches!(errno, Errno::ECONNRESET | Errno::EPIPE));
        if let Some(errno) = broke {
            let detail = || format!("the connection broke: {errno}");
            return self.failed(index, Outcome::Reset, detail);
        }
        match connection.wire.close() {
            // Only an orderly close can be the end of a response.
            OnClose::Whole(whole) if errno.is_none() => self.responded(index, whole, false),
            OnClose::BeforeResponse if self.may_resend(index) => self.close_and_resend(index),
            OnClose::BeforeResponse => self.failed(index, Outcome::Reset, || NO_RESPONSE.into()),
            OnClose::Whole(_) | OnClose::Truncated => {
                self.failed(index, Outcome::Truncated, || {
                    "the server closed the connection in the middle of the response".into()
                })
            }
        }
    }

    /// Handles bytes that are no valid response.
    #[cold]
    pub(super) fn faulty(&mut self, index: usize, fault: Fault) {
        if self.connections[index].in_flight.is_empty() {
            return self.faulty_while_idle(index, fault);
        }
        let outcome = match fault {
            Fault::Ended(_) => Outcome::Reset,
            _ => Outcome::Malformed,
        };
        self.failed(index, outcome, || fault.to_string());
    }

    /// Bytes arrived while no response was due. Unless they are an orderly end, the next request over the connection
    /// fails: had it been sent already, as in a closed loop, its response would start with them.
    fn faulty_while_idle(&mut self, index: usize, fault: Fault) {
        self.close(index, Activity::Closed);
        let connection = &mut self.connections[index];
        if connection.role == Role::Stream || matches!(fault, Fault::Ended(_)) {
            return;
        }
        connection.excess = Some(fault);
        if connection.waiting_since.is_some() {
            // It takes the next arrival: after its turn the load might be over.
            self.idle.retain(|&waiting| waiting != index);
            self.idle.push_front(index);
        }
    }

    /// Fails the first request of a connection that received unexpected bytes before.
    #[cold]
    pub(super) fn fail_for_excess(&mut self, index: usize) {
        if let Some(fault) = self.connections[index].excess.take() {
            self.failed(index, Outcome::Malformed, || fault.to_string());
        }
    }

    /// Fails the first request on that connection, and the connection. Those behind it are resent if that does no harm.
    #[cold]
    pub(super) fn failed(
        &mut self,
        index: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let detail = detail();
        if self.connections[index].in_flight.pop_front().is_some() {
            self.count(index, outcome, || detail.clone());
        }
        self.resend_or_fail(index, outcome, &detail);
    }

    /// A server may close a connection after any whole response, and its close may cross our next request: that request
    /// is then resent once over a new connection (RFC 9112, 9.3.1), if it is idempotent.
    fn may_resend(&self, index: usize) -> bool {
        let connection = &self.connections[index];
        let first = connection.in_flight.front();
        connection.responses > 0 && first.is_some_and(|request| self.is_repeatable(request))
    }

    fn is_repeatable(&self, request: &InFlight) -> bool {
        !request.resent && self.shared.plan.request.is_idempotent(request.number)
    }

    /// The server will not respond over that connection any more: its requests move to another one.
    #[cold]
    pub(super) fn close_and_resend(&mut self, index: usize) {
        self.resend_or_fail(index, Outcome::Reset, NO_RESPONSE);
    }

    /// Closes the connection, and reopens it for its requests. Those that must not be sent twice get that outcome.
    fn resend_or_fail(&mut self, index: usize, outcome: Outcome, detail: &str) {
        let passed = self.connections[index].passed;
        self.close(index, Activity::Closed);
        let mut requests = std::mem::take(&mut self.connections[index].in_flight);
        let before = requests.len();
        let mut number = 0;
        requests.retain_mut(|request| {
            number += 1;
            let was_sent = number <= passed;
            if was_sent && !self.is_repeatable(request) {
                return false;
            }
            request.resent |= was_sent;
            request.response_begun = false;
            request.last_event = None;
            self.counts.resent += u64::from(was_sent);
            true
        });
        for _ in requests.len()..before {
            self.count(index, outcome, || detail.into());
        }
        let some_left = !requests.is_empty();
        let connection = &mut self.connections[index];
        connection.requests = requests.len() as u64;
        connection.in_flight = requests;
        if some_left {
            self.open(index);
        }
    }

    pub(super) fn close(&mut self, index: usize, activity: Activity) {
        self.io.close(index);
        let connection = &mut self.connections[index];
        let is_load = index >= self.share.streams;
        self.open -= u64::from(connection.is_open() && is_load);
        connection.disconnect(activity);
    }
}
