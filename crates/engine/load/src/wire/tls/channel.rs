//! TLS as a [`Wire`].

use std::fmt;

use prony_traffic::{HttpVersion, ScenarioRequest};

use super::Failure;
use super::session::{Session, Turn};
use crate::tls::TlsClient;
use crate::wire::{Eaten, EndedResponse, Fault, Handshake, OnClose, Responses, Which, Wire};

/// How many bytes of ciphertext may be unsent when more is encrypted.
const MOST_UNSENT: usize = 64 * 1024;

/// Another wire, over TLS.
///
/// The wire inside may add to the bytes that it has to send, but must not change those that it showed: they may be
/// encrypted already.
pub struct Channel<W> {
    inner: W,
    client: Client,
    session: Session,
    /// What the wire inside has not eaten yet: what followed the end of a response in the same record.
    plaintext: Plaintext,
    /// Requests that the wire inside took and did not end.
    in_flight: usize,
    state: State,
}

/// The parts of a [`TlsClient`] that belong to this channel.
struct Client {
    tls: TlsClient,
    config: std::sync::Arc<rustls::ClientConfig>,
    speaks: Option<HttpVersion>,
}

#[derive(Debug)]
enum State {
    Handshaking,
    Ready,
    Failed(Failure),
}

/// Decrypted bytes.
#[derive(Debug, Default)]
struct Plaintext {
    bytes: Vec<u8>,
    eaten: usize,
}

impl<W: Wire> Channel<W> {
    /// Encrypts what `inner` sends. `speaks` is its version of HTTP, if that matters: a server that chooses another
    /// one fails the handshake.
    pub fn new(inner: W, tls: &TlsClient, speaks: Option<HttpVersion>) -> Self {
        Self {
            inner,
            client: Client {
                config: tls.config_of_one_place(),
                tls: tls.clone(),
                speaks,
            },
            session: Session::default(),
            plaintext: Plaintext::default(),
            in_flight: 0,
            state: State::Handshaking,
        }
    }

    /// Lets the wire inside eat what it left over.
    fn eat_plaintext(
        &mut self,
        responses: &mut dyn Responses,
    ) -> Result<Option<EndedResponse>, Fault> {
        if self.plaintext.is_empty() && !self.inner.has_more() {
            return Ok(None);
        }
        let eaten = self.inner.eat(self.plaintext.uneaten(), responses)?;
        self.plaintext.eat(eaten.bytes);
        Ok(eaten.ended)
    }

    /// Lets the wire inside eat the next record, if there is one, and says whether there may be more to do.
    fn eat_record(
        &mut self,
        responses: &mut dyn Responses,
    ) -> Result<(Turn, Option<EndedResponse>), Fault> {
        let (inner, plaintext) = (&mut self.inner, &mut self.plaintext);
        let mut ended = Ok(None);
        let turn = self.session.turn(&[], |record| {
            ended = inner.eat(record, responses).map(|eaten| {
                plaintext.add(&record[eaten.bytes..]);
                eaten.ended
            });
        });
        let turn = turn.and_then(|turn| self.check(turn));
        match turn {
            Ok(turn) => Ok((turn, ended?)),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    /// Looks at what the last turn changed.
    #[inline]
    fn check(&mut self, turn: Turn) -> Result<Turn, Failure> {
        if matches!(self.state, State::Handshaking) && !self.session.is_handshaking() {
            self.check_agreement()?;
            self.state = State::Ready;
        }
        Ok(turn)
    }

    fn check_agreement(&self) -> Result<(), Failure> {
        let Some(speaks) = self.client.speaks else {
            return Ok(());
        };
        let chosen = self.session.handshake().and_then(|it| it.agreement.http);
        // A server that does not negotiate speaks HTTP/1.1.
        if chosen.unwrap_or(HttpVersion::Http1) == speaks {
            Ok(())
        } else {
            Err(Failure::OtherHttpVersion { speaks, chosen })
        }
    }

    #[cold]
    fn fail(&mut self, failure: Failure) -> Fault {
        self.state = State::Failed(failure.clone());
        failure.into()
    }

    fn failure(&self) -> Option<&Failure> {
        match &self.state {
            State::Failed(failure) => Some(failure),
            State::Handshaking | State::Ready => None,
        }
    }

    /// Encrypts what the wire inside has to send, not too much at a time.
    fn encrypt(&mut self) {
        while self.session.unsent().len() < MOST_UNSENT {
            let ahead = self.session.plaintext_ahead();
            let Some(rest) = self
                .inner
                .unsent()
                .get(ahead..)
                .filter(|rest| !rest.is_empty())
            else {
                return;
            };
            let plaintext = &mut self.plaintext;
            let turn = self.session.turn(rest, |record| plaintext.add(record));
            match turn.and_then(|turn| self.check(turn)) {
                Ok(Turn::Progress | Turn::Encrypted(_)) => {}
                Ok(Turn::Waits) => return,
                Err(failure) => {
                    self.fail(failure);
                    return;
                }
            }
        }
    }

    /// Does what needs neither more bytes nor plaintext: after [`Wire::open`] that is the start of the handshake.
    fn begin_handshake(&mut self) -> Result<(), Failure> {
        while self.session.turn(&[], |_| {})? != Turn::Waits {}
        Ok(())
    }
}

impl<W: Wire> Wire for Channel<W> {
    fn open(&mut self) {
        self.inner.open();
        self.plaintext.clear();
        self.in_flight = 0;
        self.state = State::Handshaking;
        let Client { tls, config, .. } = &self.client;
        let begun = self
            .session
            .restart(config.clone(), tls.server_name().clone())
            .and_then(|()| self.begin_handshake());
        if let Err(failure) = begun {
            self.fail(failure);
        }
    }

    #[inline]
    fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready) && self.inner.is_ready()
    }

    fn handshake(&self) -> Option<Handshake> {
        match self.state {
            State::Ready => self.session.handshake(),
            State::Handshaking | State::Failed(_) => None,
        }
    }

    #[inline]
    fn room(&self) -> usize {
        if self.session.server_closed() || self.session.keys_are_worn() {
            0
        } else {
            self.inner.room()
        }
    }

    #[inline]
    fn is_finished(&self) -> bool {
        let is_last = self.session.server_closed() || self.session.keys_are_worn();
        self.inner.is_finished() || (is_last && self.in_flight == 0 && !self.has_more())
    }

    fn farewell(&self) -> Option<Fault> {
        self.inner.farewell()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.session.server_closed() && !self.has_more()
    }

    #[inline]
    fn fault(&self) -> Option<Fault> {
        self.failure().cloned().map(Fault::from)
    }

    #[inline]
    fn request(&mut self, which: Which) {
        self.in_flight += 1;
        self.inner.request(which);
    }

    #[inline]
    fn request_own(&mut self, request: &ScenarioRequest, last: bool) {
        self.in_flight += 1;
        self.inner.request_own(request, last);
    }

    #[inline]
    fn unsent(&mut self) -> &[u8] {
        if self.failure().is_none() {
            self.encrypt();
        }
        self.session.unsent()
    }

    #[inline]
    fn sent(&mut self, length: usize) {
        let plaintext = self.session.sent(length);
        if plaintext > 0 {
            self.inner.sent(plaintext);
        }
    }

    /// The server cannot read a record before all of it has arrived.
    fn unsent_requests(&self) -> usize {
        self.inner.unsent_requests()
    }

    fn eat(&mut self, bytes: &[u8], responses: &mut dyn Responses) -> Result<Eaten, Fault> {
        if let Some(failure) = self.failure() {
            return Err(failure.clone().into());
        }
        let mut taken = 0;
        loop {
            let mut ended = self.eat_plaintext(responses)?;
            let mut turn = Turn::Progress;
            if ended.is_none() {
                (turn, ended) = self.eat_record(responses)?;
            }
            if ended.is_some() {
                self.in_flight = self.in_flight.saturating_sub(1);
                return Ok(Eaten {
                    bytes: taken,
                    ended,
                });
            }
            if turn == Turn::Waits {
                if taken == bytes.len() {
                    return Ok(Eaten {
                        bytes: taken,
                        ended,
                    });
                }
                match self.session.receive(&bytes[taken..]) {
                    Ok(length) => taken += length,
                    Err(failure) => return Err(self.fail(failure)),
                }
            }
        }
    }

    #[inline]
    fn has_more(&self) -> bool {
        !self.plaintext.is_empty()
            || self.inner.has_more()
            || self.session.has_record()
            || self.failure().is_some()
    }

    fn cancel(&mut self, position: usize) -> bool {
        let cancelled = self.inner.cancel(position);
        self.in_flight -= usize::from(cancelled);
        cancelled
    }

    #[inline]
    fn short_body(&self) -> Option<&[u8]> {
        self.inner.short_body()
    }

    fn message(&self) -> Option<&str> {
        self.inner.message()
    }

    fn close(&mut self) -> OnClose {
        match &self.state {
            State::Failed(failure) => return OnClose::Failed(failure.clone().into()),
            State::Handshaking => return OnClose::Failed(Failure::ClosedDuringHandshake.into()),
            State::Ready => {}
        }
        match self.inner.close() {
            on_close if self.session.server_closed() => on_close,
            // Anyone on the way could have cut this off.
            OnClose::Whole(_) => OnClose::Failed(Failure::Truncated.into()),
            OnClose::BeforeResponse if self.session.is_inside_record() => OnClose::Truncated,
            on_close => on_close,
        }
    }
}

impl<W: fmt::Debug> fmt::Debug for Channel<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("inner", &self.inner)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Plaintext {
    fn clear(&mut self) {
        self.bytes.clear();
        self.eaten = 0;
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.eaten == self.bytes.len()
    }

    fn uneaten(&self) -> &[u8] {
        &self.bytes[self.eaten..]
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn eat(&mut self, length: usize) {
        self.eaten += length;
        if self.is_empty() {
            self.clear();
        }
    }
}
