//! HTTP/1.1 as a [`Wire`].

use std::collections::VecDeque;
use std::sync::Arc;

use prony_traffic::{BodyLimit, Collect, RequestParts, ScenarioRequest};

use super::head::{other_protocol, status_line};
use super::{Ignore, Keep, Malformed, ReadBytes, RequestKind, ResponseReader};
use crate::request::{Request, encode, encode_head};
use crate::wire::sse::EventCounter;
use crate::wire::{Eaten, End, EndedResponse, Fault, OnClose, Responses, Which, Whole, Wire};

/// One connection that sends requests of a set, one or several at a time.
#[derive(Debug)]
pub struct H1Wire<'a> {
    requests: &'a [Request],
    outgoing: Outgoing<'a>,
    /// The responses that are due; the first is being read.
    due: VecDeque<Due>,
    /// The bytes of their requests.
    due_bytes: usize,
    reader: ResponseReader,
    /// Counts the events of the responses, if they are event streams.
    events: Option<EventCounter>,
    short_body: Option<ShortBody>,
}

/// What to send: nearly always the rest of one request, which is sent without a copy.
#[derive(Debug)]
struct Outgoing<'a> {
    one: &'a [u8],
    /// Several requests, if more were added before the last one was sent.
    several: Vec<u8>,
    /// A long body behind these, which is not copied.
    body: Option<Arc<Vec<u8>>>,
    sent: usize,
}

/// Longer bodies of users' requests are not copied: there are as many as connections.
const LONG_BODY: usize = 64 * 1024;

/// A response that is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    kind: RequestKind,
    /// How long its request is.
    request_bytes: usize,
}

impl<'a> H1Wire<'a> {
    /// Sends requests of `requests`; `counts_events` treats their responses as event streams.
    pub fn new(requests: &'a [Request], counts_events: bool) -> Self {
        Self {
            requests,
            outgoing: Outgoing::nothing(),
            due: VecDeque::new(),
            due_bytes: 0,
            reader: ResponseReader::new(RequestKind::Plain),
            events: counts_events.then(EventCounter::default),
            short_body: None,
        }
    }

    /// Also keeps each body of up to `most` bytes until the next response begins; `None` keeps none.
    pub(crate) fn keeping_bodies(mut self, most: Option<usize>) -> Self {
        self.short_body = most.map(|most| ShortBody {
            bytes: Vec::with_capacity(most),
            limit: BodyLimit(most),
        });
        self
    }

    fn ended(&mut self, mut whole: Whole) -> EndedResponse {
        let request_bytes = self.due.pop_front().map_or(0, |due| due.request_bytes);
        self.due_bytes -= request_bytes;
        let was_sent = self.outgoing.unsent_bytes() <= self.due_bytes;
        // The server could not tell the rest of this request from the next one.
        whole.keep_alive &= was_sent;
        self.expect_next();
        EndedResponse {
            position: 0,
            was_sent,
            end: End::Whole(whole),
        }
    }

    /// Reads on in the response that is due, for all that need to know of it.
    #[inline]
    fn read(
        &mut self,
        bytes: &[u8],
        responses: &mut dyn Responses,
    ) -> Result<ReadBytes, Malformed> {
        let keep = responses.keep(0);
        if let Some(counter) = &mut self.events {
            let mut counting = Counting {
                counter,
                events: 0,
                keep,
            };
            let read = self.reader.eat(bytes, &mut counting)?;
            if counting.events > 0 {
                let events = counting.events;
                responses.events(0, events);
            }
            return Ok(read);
        }
        match (keep, &mut self.short_body) {
            (Some(keep), _) => self.reader.eat(bytes, keep),
            (None, Some(short_body)) => self.reader.eat(bytes, short_body),
            (None, None) => self.reader.eat(bytes, &mut Ignore),
        }
    }

    /// More arrived with the last response that is due: an orderly end of the connection, or too much.
    #[cold]
    fn last_of_connection(&self, whole: Whole, rest: &[u8]) -> Result<Whole, Fault> {
        if !self.reader.is_before_tunnel(Some(whole)) {
            match unexpected(rest) {
                Fault::Ended(_) => {}
                fault => return Err(fault),
            }
        }
        Ok(Whole {
            keep_alive: false,
            ..whole
        })
    }

    /// Expects a response to a request of that many bytes.
    #[inline]
    fn expect(&mut self, kind: RequestKind, request_bytes: usize) {
        self.due.push_back(Due {
            kind,
            request_bytes,
        });
        self.due_bytes += request_bytes;
        if self.due.len() == 1 {
            self.expect_next();
        }
    }

    fn expect_next(&mut self) {
        if let Some(due) = self.due.front() {
            self.reader.responds_to(due.kind);
        }
    }
}

impl<'a> Outgoing<'a> {
    fn nothing() -> Self {
        Self {
            one: &[],
            several: Vec::new(),
            body: None,
            sent: 0,
        }
    }

    /// What is sent before a body of its own.
    #[inline]
    fn begin(&self) -> &[u8] {
        if self.several.is_empty() {
            self.one
        } else {
            &self.several
        }
    }

    /// A piece of what is unsent; empty if nothing is.
    #[inline]
    fn unsent(&self) -> &[u8] {
        let begin = self.begin();
        match &self.body {
            Some(body) if self.sent >= begin.len() => &body[self.sent - begin.len()..],
            _ => &begin[self.sent..],
        }
    }

    /// How much is unsent.
    #[inline]
    fn unsent_bytes(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |body| body.len());
        self.begin().len() + body - self.sent
    }

    #[inline]
    fn add(&mut self, request: &'a [u8]) {
        if self.unsent_bytes() == 0 {
            self.several.clear();
            self.body = None;
            (self.one, self.sent) = (request, 0);
            return;
        }
        self.collect();
        self.several.extend_from_slice(request);
    }

    /// Adds a request of its own, which `append` writes, and returns how many bytes it has.
    fn copy(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> usize {
        self.collect();
        let before = self.several.len();
        append(&mut self.several);
        self.several.len() - before
    }

    /// Adds a user's request, and returns how many bytes it has.
    fn add_own(&mut self, request: &RequestParts, last: bool) -> usize {
        let body = request.shared_body();
        if body.len() < LONG_BODY {
            return self.copy(|bytes| encode(request, last, bytes));
        }
        let begin = self.copy(|bytes| encode_head(request, last, bytes));
        self.body = Some(Arc::clone(body));
        begin + body.len()
    }

    /// Gets ready to add to the bytes of several requests. Sent bytes are not kept for ever.
    fn collect(&mut self) {
        if self.unsent_bytes() == 0 {
            self.several.clear();
            (self.one, self.body, self.sent) = (&[], None, 0);
        }
        if let Some(body) = self.body.take() {
            self.several.extend_from_slice(&body);
        }
        if self.several.is_empty() {
            self.several.extend_from_slice(&self.one[self.sent..]);
            (self.one, self.sent) = (&[], 0);
        }
        if self.sent > self.several.len() / 2 {
            self.several.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl Wire for H1Wire<'_> {
    fn open(&mut self) {
        self.reader.restart();
        self.outgoing = Outgoing::nothing();
        self.due.clear();
        self.due_bytes = 0;
        if let Some(counter) = &mut self.events {
            counter.restart();
        }
    }

    #[inline]
    fn request(&mut self, which: Which) {
        let request = &self.requests[which.number];
        let length = if which.last && !request.closes() {
            self.outgoing.copy(|bytes| request.add_closing(bytes))
        } else {
            self.outgoing.add(request.bytes());
            request.bytes().len()
        };
        self.expect(request.kind(), length);
    }

    fn request_own(&mut self, request: &ScenarioRequest, last: bool) {
        let parts = request.parts();
        let length = self.outgoing.add_own(parts, last);
        self.expect(RequestKind::of(parts.method()), length);
    }

    #[inline]
    fn unsent(&mut self) -> &[u8] {
        self.outgoing.unsent()
    }

    #[inline]
    fn sent(&mut self, length: usize) {
        self.outgoing.sent += length;
    }

    fn unsent_requests(&self) -> usize {
        let mut unsent = self.outgoing.unsent_bytes();
        let is_unsent = |due: &&Due| match unsent.checked_sub(due.request_bytes) {
            Some(rest) => {
                unsent = rest;
                true
            }
            None => false,
        };
        self.due.iter().rev().take_while(is_unsent).count()
    }

    #[inline]
    fn eat(&mut self, bytes: &[u8], responses: &mut dyn Responses) -> Result<Eaten, Fault> {
        if self.due.is_empty() {
            return Err(unexpected(bytes));
        }
        responses.begun(0);
        let read = self.read(bytes, responses)?;
        let Some(mut whole) = read.whole else {
            return Ok(Eaten {
                bytes: read.bytes,
                ended: None,
            });
        };
        let mut length = read.bytes;
        if length < bytes.len() && self.due.len() == 1 {
            whole = self.last_of_connection(whole, &bytes[length..])?;
            length = bytes.len();
        }
        Ok(Eaten {
            bytes: length,
            ended: Some(self.ended(whole)),
        })
    }

    #[inline]
    fn skippable(&self) -> u64 {
        if self.events.is_some() {
            0
        } else {
            self.reader.skippable()
        }
    }

    #[inline]
    fn skip(&mut self, length: u64) -> Option<EndedResponse> {
        let whole = self.reader.skip(length)?;
        Some(self.ended(whole))
    }

    fn close(&mut self) -> OnClose {
        self.reader.close()
    }

    #[inline]
    fn short_body(&self) -> Option<&[u8]> {
        self.short_body.as_ref().map(|body| body.bytes.as_slice())
    }
}

/// Classifies bytes that arrived while no response was due. With a 408 a server may close a connection that was idle
/// for too long (RFC 9110, section 15.5.9), and an HTTP/2 server begins without a request; anything else is too
/// much.
#[cold]
fn unexpected(bytes: &[u8]) -> Fault {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
    match status_line(line.trim_ascii_end()) {
        Ok((_, 408)) => Fault::Ended("closed the idle connection with a 408".into()),
        _ => other_protocol(bytes)
            .unwrap_or(Malformed::ExcessBytes)
            .into(),
    }
}

/// Keeps a body if it is short.
#[derive(Debug)]
struct ShortBody {
    bytes: Vec<u8>,
    limit: BodyLimit,
}

impl Keep for ShortBody {
    #[inline]
    fn head(&mut self, _: &[u8]) {
        self.bytes.clear();
    }

    #[inline]
    fn body(&mut self, bytes: &[u8]) {
        self.limit.add(&mut self.bytes, bytes);
    }
}

/// Counts the events of a response, and keeps the response if it is sampled.
struct Counting<'a> {
    counter: &'a mut EventCounter,
    events: u64,
    keep: Option<&'a mut Collect>,
}

impl Keep for Counting<'_> {
    fn head(&mut self, bytes: &[u8]) {
        self.counter.restart();
        if let Some(keep) = &mut self.keep {
            keep.head(bytes);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        self.events += self.counter.eat(bytes);
        if let Some(keep) = &mut self.keep {
            keep.body(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
