//! HTTP/1.1 as a [`Wire`].

use std::collections::VecDeque;

use super::head::status_line;
use super::{Collect, Ignore, Keep, Malformed, RequestKind, ResponseReader};
use crate::request::RequestSet;
use crate::wire::sse::EventCounter;
use crate::wire::{Eaten, Fault, OnClose, Which, Whole, Wire};

/// One connection that sends requests of a set, one or several at a time.
#[derive(Debug)]
pub struct H1Wire<'a> {
    requests: &'a RequestSet,
    outgoing: Outgoing<'a>,
    /// The responses that are due; the first is being read.
    due: VecDeque<Due>,
    /// The bytes of their requests.
    due_bytes: usize,
    reader: ResponseReader,
    /// Whether the request of the last whole response was fully sent before it.
    response_was_due: bool,
    events: Option<Events>,
    short_body: Option<ShortBody>,
}

/// What to send: nearly always the rest of one request, which is sent without a copy.
#[derive(Debug)]
struct Outgoing<'a> {
    one: &'a [u8],
    /// Several requests, if more were added before the last one was sent.
    several: Vec<u8>,
    sent: usize,
}

/// A response that is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    kind: RequestKind,
    /// How long its request is.
    request_bytes: usize,
}

/// Counts the events of the responses.
#[derive(Debug)]
struct Events {
    counter: EventCounter,
    taken: u64,
}

impl<'a> H1Wire<'a> {
    /// Sends requests of `requests`; `counts_events` treats their responses as event streams.
    pub fn new(requests: &'a RequestSet, counts_events: bool) -> Self {
        Self {
            requests,
            outgoing: Outgoing::nothing(),
            due: VecDeque::new(),
            due_bytes: 0,
            reader: ResponseReader::new(RequestKind::Plain),
            response_was_due: true,
            events: counts_events.then(|| Events {
                counter: EventCounter::default(),
                taken: 0,
            }),
            short_body: None,
        }
    }

    /// Also keeps each body of up to `most` bytes until the next response begins; `None` keeps none.
    pub fn keeping_bodies(mut self, most: Option<usize>) -> Self {
        self.short_body = most.map(|most| ShortBody {
            bytes: Vec::with_capacity(most),
            most,
        });
        self
    }

    fn responded(&mut self, whole: Option<Whole>) -> Option<Whole> {
        if whole.is_some() {
            let responded = self.due.pop_front();
            let bytes = responded.map_or(0, |due| due.request_bytes);
            self.due_bytes -= bytes;
            self.response_was_due = self.unsent().len() <= self.due_bytes;
            self.expect_next();
        }
        whole
    }

    /// More arrived with the last response that is due: an orderly end of the connection, or too much.
    #[cold]
    fn eat_rest(&self, eaten: Eaten, bytes: &[u8]) -> Result<Eaten, Fault> {
        if !self.reader.is_before_tunnel(eaten.whole) {
            match unexpected(&bytes[eaten.bytes..]) {
                Fault::Ended(_) => {}
                fault => return Err(fault),
            }
        }
        let last = |whole| Whole {
            keep_alive: false,
            ..whole
        };
        Ok(Eaten {
            bytes: bytes.len(),
            whole: eaten.whole.map(last),
        })
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
            sent: 0,
        }
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        let all = if self.several.is_empty() {
            self.one
        } else {
            &self.several
        };
        &all[self.sent..]
    }

    #[inline]
    fn add(&mut self, request: &'a [u8]) {
        if self.unsent().is_empty() {
            self.several.clear();
            (self.one, self.sent) = (request, 0);
            return;
        }
        if self.several.is_empty() {
            self.several.extend_from_slice(&self.one[self.sent..]);
            self.sent = 0;
        }
        // Sent bytes are not kept for ever.
        if self.sent > self.several.len() / 2 {
            self.several.drain(..self.sent);
            self.sent = 0;
        }
        self.several.extend_from_slice(request);
    }
}

impl Wire for H1Wire<'_> {
    fn open(&mut self) {
        self.reader.restart();
        self.outgoing = Outgoing::nothing();
        self.due.clear();
        self.due_bytes = 0;
        if let Some(events) = &mut self.events {
            events.counter.restart();
            events.taken = 0;
        }
    }

    #[inline]
    fn request(&mut self, which: Which) {
        let request = &self.requests.requests()[which.number];
        let bytes = match which.last {
            true => request.closing_bytes(),
            false => request.bytes(),
        };
        self.outgoing.add(bytes);
        self.due.push_back(Due {
            kind: request.kind(),
            request_bytes: bytes.len(),
        });
        self.due_bytes += bytes.len();
        if self.due.len() == 1 {
            self.expect_next();
        }
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    #[inline]
    fn sent(&mut self, length: usize) {
        self.outgoing.sent += length;
    }

    #[inline]
    fn was_sent_before_response(&self) -> bool {
        self.response_was_due
    }

    #[inline]
    fn eat(&mut self, bytes: &[u8], keep: Option<&mut Collect>) -> Result<Eaten, Fault> {
        if self.due.is_empty() {
            return Err(unexpected(bytes));
        }
        let eaten = match (&mut self.events, keep) {
            (Some(events), keep) => {
                let mut counting = Counting { events, keep };
                self.reader.eat(bytes, &mut counting)?
            }
            (None, Some(keep)) => self.reader.eat(bytes, keep)?,
            (None, None) => match &mut self.short_body {
                Some(short_body) => self.reader.eat(bytes, short_body)?,
                None => self.reader.eat(bytes, &mut Ignore)?,
            },
        };
        self.responded(eaten.whole);
        if eaten.bytes < bytes.len() && self.due.is_empty() {
            return self.eat_rest(eaten, bytes);
        }
        Ok(eaten)
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
    fn skip(&mut self, length: u64) -> Option<Whole> {
        let whole = self.reader.skip(length);
        self.responded(whole)
    }

    fn close(&mut self) -> OnClose {
        self.reader.close()
    }

    #[inline]
    fn short_body(&self) -> Option<&[u8]> {
        self.short_body.as_ref().map(|body| body.bytes.as_slice())
    }

    fn take_events(&mut self) -> u64 {
        self.events
            .as_mut()
            .map_or(0, |events| std::mem::take(&mut events.taken))
    }
}

/// Classifies bytes that arrived while no response was due. With a 408 a server may close a connection that was idle
/// for too long (RFC 9110, section 15.5.9); anything else is too much.
#[cold]
fn unexpected(bytes: &[u8]) -> Fault {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or(bytes);
    match status_line(line.trim_ascii_end()) {
        Ok((_, 408)) => Fault::Ended("closed the idle connection with a 408".into()),
        _ => Malformed::ExcessBytes.into(),
    }
}

/// Keeps a body if it is short: one byte more than `most` shows that it was longer.
#[derive(Debug)]
struct ShortBody {
    bytes: Vec<u8>,
    most: usize,
}

impl Keep for ShortBody {
    #[inline]
    fn head(&mut self, _: &[u8]) {
        self.bytes.clear();
    }

    #[inline]
    fn body(&mut self, bytes: &[u8]) {
        let room = (self.most + 1).saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..room.min(bytes.len())]);
    }
}

/// Counts the events of a response, and keeps the response if it is sampled.
struct Counting<'a> {
    events: &'a mut Events,
    keep: Option<&'a mut Collect>,
}

impl Keep for Counting<'_> {
    fn head(&mut self, bytes: &[u8]) {
        self.events.counter.restart();
        if let Some(keep) = &mut self.keep {
            keep.head(bytes);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        self.events.taken += self.events.counter.eat(bytes);
        if let Some(keep) = &mut self.keep {
            keep.body(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
