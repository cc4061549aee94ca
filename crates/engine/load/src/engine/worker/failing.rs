//! Handles requests whose connection is lost.

use nix::errno::Errno;
use prony_model::Outcome;

use super::Worker;
use crate::engine::connection::{Activity, Connection, InFlight, Role};
use crate::wire::{End, EndedResponse, Fault, OnClose, Wire};

const NO_RESPONSE: &str = "the server closed the connection without a response";
const CUT_SHORT: &str = "the server closed the connection in the middle of the response";

impl<W: Wire> Worker<'_, W> {
    /// The server has closed the connection, or it broke.
    #[cold]
    pub(super) fn closed(&mut self, index: usize, errno: Option<Errno>) {
        let connection = &mut self.connections[index];
        let is_handshaking = matches!(connection.activity, Activity::Handshaking { .. });
        if connection.in_flight.is_empty() && !is_handshaking {
            // Between two requests a close is not an outcome.
            return self.close(index, Activity::Closed);
        }
        let broke = errno.filter(|errno| !matches!(errno, Errno::ECONNRESET | Errno::EPIPE));
        if let Some(errno) = broke {
            let detail = || format!("the connection broke: {errno}");
            return self.failed(index, Outcome::Reset, detail);
        }
        match connection.wire.close() {
            // Only an orderly close can be the end of a response.
            OnClose::Whole(whole) if errno.is_none() => {
                let ended = EndedResponse {
                    position: 0,
                    was_sent: true,
                    end: End::Whole(whole),
                };
                self.ended(index, ended, false);
            }
            OnClose::BeforeResponse if self.may_resend(index) => self.close_and_resend(index),
            OnClose::BeforeResponse => self.failed(index, Outcome::Reset, || NO_RESPONSE.into()),
            OnClose::Whole(_) | OnClose::Truncated => {
                let mut requests = self.connections[index].in_flight.iter();
                let position = requests.position(|it| it.response_begun).unwrap_or(0);
                self.failed_at(index, position, Outcome::Truncated, || CUT_SHORT.into());
            }
            OnClose::Failed(fault) => self.faulty(index, fault),
        }
    }

    /// The wire reported that a response will not be whole; its connection stays usable.
    #[cold]
    pub(super) fn response_failed(&mut self, index: usize, position: usize, fault: &Fault) {
        if let Some(mut request) = self.take_passed(index, position) {
            self.count(index, &mut request, fault.outcome(), || fault.to_string());
        }
    }

    /// The server has not processed a request: it is sent again once, over this connection or the next one.
    #[cold]
    pub(super) fn unprocessed(&mut self, index: usize, position: usize, fault: &Fault) {
        let Some(mut request) = self.take_passed(index, position) else {
            return;
        };
        if request.resent {
            return self.count(index, &mut request, Outcome::Reset, || fault.to_string());
        }
        self.counts.resent += 1;
        request.prepare_resend();
        self.connections[index].in_flight.push_back(request);
    }

    /// Replaces a connection that is of no further use: its server takes no more, or it has carried its last request.
    #[inline]
    pub(super) fn replace_finished(&mut self, index: usize) {
        let connection = &self.connections[index];
        let is_used_up = connection.is_used_up && connection.in_flight.is_empty();
        if !connection.is_open() || !(is_used_up || connection.wire.is_finished()) {
            return;
        }
        let served_nothing = connection.passed == 0 && connection.responses == 0;
        if served_nothing && !connection.in_flight.is_empty() {
            // At once it would only be the same again.
            return self.retry_later(index);
        }
        self.close_and_resend(index);
    }

    /// Does not wait for the server to close a connection over which it sends no more: it may never do so, and if it
    /// closes without reading everything, that resets the connection.
    #[inline]
    pub(super) fn check_closed(&mut self, index: usize) {
        let connection = &self.connections[index];
        if connection.is_open() && connection.wire.is_closed() {
            self.say_goodbye(index);
        }
    }

    #[cold]
    fn say_goodbye(&mut self, index: usize) {
        // The server may wait for a response to its close. Nothing depends on it.
        let unsent = self.connections[index].wire.unsent();
        let _ = self.io.send(index, unsent);
        self.closed(index, None);
    }

    /// Handles bytes that are not a valid response.
    #[cold]
    pub(super) fn faulty(&mut self, index: usize, fault: Fault) {
        let connection = &self.connections[index];
        let is_handshaking = matches!(connection.activity, Activity::Handshaking { .. });
        if is_handshaking || is_late_refusal(connection, &fault) {
            return self.handshake_failed(index, &fault);
        }
        if self.connections[index].in_flight.is_empty() {
            return self.faulty_while_idle(index, fault);
        }
        self.failed(index, fault.outcome(), || fault.to_string());
    }

    /// Bytes arrived while no response was due. Unless they are an orderly end, the next request is sent over a new
    /// connection and is not ok, whatever its response: had it been sent already, its response would start with them.
    fn faulty_while_idle(&mut self, index: usize, fault: Fault) {
        self.close(index, Activity::Closed);
        let connection = &mut self.connections[index];
        if connection.role == Role::Stream || matches!(fault, Fault::Ended(_)) {
            return;
        }
        connection.excess = Some(Box::new(fault));
        if connection.waiting_since.is_some() {
            // It takes the next arrival: after its turn the load might be over.
            self.idle.retain(|&waiting| waiting != index);
            self.idle.push_front(index);
        }
    }

    /// Fails the first request on that connection, and the connection.
    #[cold]
    pub(super) fn failed(
        &mut self,
        index: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        self.failed_at(index, 0, outcome, detail);
    }

    /// Fails the request at that position, and the connection. Its other requests are resent if that does no harm.
    #[cold]
    pub(super) fn failed_at(
        &mut self,
        index: usize,
        position: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let detail = detail();
        let sent = self.sent_requests(index);
        if let Some(mut request) = self.take_passed(index, position) {
            self.count(index, &mut request, outcome, || detail.clone());
        }
        let others = sent - usize::from(position < sent);
        self.resend_or_fail(index, others, outcome, &detail);
    }

    /// How many of the connection's requests the server may know: the first ones.
    fn sent_requests(&self, index: usize) -> usize {
        let connection = &self.connections[index];
        let unsent = connection.wire.unsent_requests();
        connection.passed.saturating_sub(unsent)
    }

    /// A server may close a connection after any whole response, and its close may cross our next request: that request
    /// is then resent once over a new connection (RFC 9112, 9.3.1), if it is idempotent or was not sent at all.
    fn may_resend(&self, index: usize) -> bool {
        let connection = &self.connections[index];
        let first = connection.in_flight.front();
        let is_repeatable = first.is_some_and(|request| self.is_repeatable(request));
        connection.responses > 0 && (is_repeatable || self.sent_requests(index) == 0)
    }

    fn is_repeatable(&self, request: &InFlight) -> bool {
        let in_time = request.deadline > self.now;
        in_time && !request.resent && self.shared.plan.request.is_idempotent(request.number)
    }

    /// The server will not respond over that connection any more: its requests move to another one.
    #[cold]
    pub(super) fn close_and_resend(&mut self, index: usize) {
        let sent = self.sent_requests(index);
        self.resend_or_fail(index, sent, Outcome::Reset, NO_RESPONSE);
    }

    /// Closes the connection, and reopens it for its requests, of which the first `sent` were sent. Those that must not
    /// be sent twice fail as the connection did; but if that was cut, as far as their responses had come.
    fn resend_or_fail(&mut self, index: usize, sent: usize, outcome: Outcome, detail: &str) {
        self.close(index, Activity::Closed);
        let mut requests = std::mem::take(&mut self.connections[index].in_flight);
        let (mut position, mut begun, mut not_begun) = (0, Vec::new(), Vec::new());
        requests.retain_mut(|request| {
            position += 1;
            if position > sent {
                request.response_begun = false;
                return true;
            }
            if request.response_begun {
                begun.push(std::mem::take(request));
                return false;
            }
            if !self.is_repeatable(request) {
                not_begun.push(std::mem::take(request));
                return false;
            }
            request.prepare_resend();
            self.counts.resent += 1;
            true
        });
        let (of_begun, of_not_begun) = match outcome {
            Outcome::Reset => ((Outcome::Truncated, CUT_SHORT), (outcome, detail)),
            Outcome::Truncated => ((outcome, detail), (Outcome::Reset, NO_RESPONSE)),
            _ => ((outcome, detail), (outcome, detail)),
        };
        for (failed, (outcome, detail)) in [(begun, of_begun), (not_begun, of_not_begun)] {
            for mut request in failed {
                self.count(index, &mut request, outcome, || detail.into());
            }
        }
        let some_left = !requests.is_empty();
        let connection = &mut self.connections[index];
        connection.in_flight = requests;
        connection.carry_only_these();
        if some_left {
            self.open(index);
        }
    }

    pub(super) fn close(&mut self, index: usize, activity: Activity) {
        self.io.close(index);
        self.count_handshake(index);
        let connection = &mut self.connections[index];
        let is_load = index >= self.share.streams;
        self.open -= u64::from(connection.is_connected() && is_load);
        if connection.set_up_since.take().is_some() {
            self.growth.ends_set_up(self.now, None);
        }
        connection.disconnect(activity);
    }
}

/// With TLS 1.3 the client may be done with the handshake before the server refuses it, for example because it lacks a
/// certificate.
fn is_late_refusal<W>(connection: &Connection<W>, fault: &Fault) -> bool {
    let mut requests = connection.in_flight.iter();
    let responded = connection.responses > 0 || requests.any(|it| it.response_begun);
    matches!(fault, Fault::Tls(_)) && !responded
}
