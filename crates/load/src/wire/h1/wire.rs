//! HTTP/1.1 as a [`Wire`].

use std::collections::VecDeque;

use super::{AnswerReader, Collect, Eaten, Ignore, Keep, Malformed, OnClose, Whole};
use crate::request::RequestSet;
use crate::wire::sse::EventCounter;
use crate::wire::{Fault, Which, Wire};

/// One connection that sends requests of a set, one or several at a time.
#[derive(Debug)]
pub struct H1Wire<'a> {
    requests: &'a RequestSet,
    outgoing: Outgoing<'a>,
    /// The answers that are due; the first is the one being read.
    due: VecDeque<Due>,
    /// The bytes of their requests.
    due_bytes: usize,
    reader: AnswerReader,
    /// Whether the request of the last whole answer was sent whole before it.
    answer_was_due: bool,
    events: Option<Events>,
    short_body: Option<ShortBody>,
}

/// What is to be sent: nearly always the rest of one request, which is sent from where it lies.
#[derive(Debug)]
struct Outgoing<'a> {
    one: &'a [u8],
    /// Several requests on end, where more were added before the last one was sent.
    several: Vec<u8>,
    sent: usize,
}

/// An answer that is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    to_head: bool,
    /// How long its request is.
    request_bytes: usize,
}

/// Counts the events of the answers.
#[derive(Debug)]
struct Events {
    counter: EventCounter,
    taken: u64,
}

impl<'a> H1Wire<'a> {
    /// Sends requests of `requests`; `counts_events` where their answers are event streams whose
    /// events are to be counted.
    pub fn new(requests: &'a RequestSet, counts_events: bool) -> Self {
        Self {
            requests,
            outgoing: Outgoing::nothing(),
            due: VecDeque::new(),
            due_bytes: 0,
            reader: AnswerReader::new(false),
            answer_was_due: true,
            events: counts_events.then(|| Events {
                counter: EventCounter::new(),
                taken: 0,
            }),
            short_body: None,
        }
    }

    /// Also keeps each body of `most` bytes or fewer until the next answer begins; `None` keeps none.
    pub fn keeping_bodies(mut self, most: Option<usize>) -> Self {
        self.short_body = most.map(|most| ShortBody {
            bytes: Vec::with_capacity(most),
            most,
        });
        self
    }

    fn answered(&mut self, whole: Option<Whole>) -> Option<Whole> {
        if whole.is_some() {
            let answered = self.due.pop_front();
            let bytes = answered.map_or(0, |due| due.request_bytes);
            self.due_bytes -= bytes;
            self.answer_was_due = self.unsent().len() <= self.due_bytes;
            self.expect_next();
        }
        whole
    }

    fn expect_next(&mut self) {
        if let Some(due) = self.due.front() {
            self.reader.answers_head(due.to_head);
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
        // What was sent is not kept for ever.
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
            to_head: request.is_head(),
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
    fn was_sent_before_answer(&self) -> bool {
        self.answer_was_due
    }

    #[inline]
    fn eat(&mut self, bytes: &[u8], keep: Option<&mut Collect>) -> Result<Eaten, Fault> {
        if self.due.is_empty() {
            return Err(Malformed::ExcessBytes.into());
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
        self.answered(eaten.whole);
        if eaten.bytes < bytes.len() && self.due.is_empty() {
            return Err(Malformed::ExcessBytes.into());
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
        self.answered(whole)
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

/// Keeps a body as far as it is short: one byte more than `most` tells that it was longer.
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

/// Counts the events of an answer, and keeps the answer where it is to be looked at as well.
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
mod tests {
    use super::*;
    use crate::request::{Order, Request};

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    fn set(methods: &[&str]) -> RequestSet {
        let url = "http://a/".parse().unwrap();
        let requests = methods
            .iter()
            .map(|method| Request::new(method, &url, &[], b"").unwrap())
            .collect();
        RequestSet::new(requests, Order::InTurn).unwrap()
    }

    fn number(number: usize) -> Which {
        Which {
            number,
            last: false,
        }
    }

    fn whole(wire: &mut H1Wire<'_>, bytes: &[u8]) -> Option<(u16, u64, usize)> {
        let eaten = wire.eat(bytes, None).unwrap();
        eaten
            .whole
            .map(|whole| (whole.status, whole.body_bytes, eaten.bytes))
    }

    #[test]
    fn a_request_is_sent_in_pieces_and_again() {
        let set = set(&["GET"]);
        let request = set.requests()[0].bytes();
        let mut wire = H1Wire::new(&set, false);
        assert!(wire.unsent().is_empty());
        for _ in 0..2 {
            wire.request(number(0));
            wire.sent(4);
            assert_eq!(wire.unsent(), &request[4..]);
            wire.sent(request.len() - 4);
            assert_eq!(whole(&mut wire, &ANSWER[..10]), None);
            assert_eq!(
                whole(&mut wire, &ANSWER[10..]),
                Some((200, 2, ANSWER.len() - 10))
            );
        }
    }

    #[test]
    fn requests_on_end_are_sent_together_and_answered_in_turn() {
        let set = set(&["GET", "HEAD"]);
        let bytes = |number: usize| set.requests()[number].bytes();
        let mut wire = H1Wire::new(&set, false);
        wire.request(number(0));
        wire.sent(3);
        wire.request(number(1));
        wire.request(number(0));
        let rest = [&bytes(0)[3..], bytes(1), bytes(0)].concat();
        assert_eq!(wire.unsent(), rest);
        wire.sent(rest.len());
        assert!(wire.unsent().is_empty());
        let head = &ANSWER[..ANSWER.len() - 2];
        let answers = [ANSWER, head, ANSWER].concat();
        let first = whole(&mut wire, &answers).unwrap();
        assert_eq!(first, (200, 2, ANSWER.len()));
        let second = whole(&mut wire, &answers[first.2..]).unwrap();
        assert_eq!(second, (200, 0, head.len()), "the answer to a HEAD");
        let third = whole(&mut wire, &answers[first.2 + second.2..]).unwrap();
        assert_eq!(third, first);
        // What comes next is sent from where it lies again.
        wire.request(number(1));
        assert_eq!(wire.unsent(), bytes(1));
    }

    #[test]
    fn the_last_request_of_a_connection_says_so() {
        let set = set(&["GET"]);
        let mut wire = H1Wire::new(&set, false);
        wire.request(Which {
            number: 0,
            last: true,
        });
        let text = String::from_utf8(wire.unsent().to_vec()).unwrap();
        assert!(text.contains("Connection: close\r\n"), "{text}");
    }

    #[test]
    fn bytes_that_nobody_asked_for_are_a_fault() {
        let excess = Fault::H1(Malformed::ExcessBytes);
        let set = set(&["GET"]);
        let mut wire = H1Wire::new(&set, false);
        assert_eq!(wire.eat(ANSWER, None), Err(excess.clone()));
        wire.request(number(0));
        assert_eq!(
            wire.eat(&[ANSWER, b"!"].concat(), None),
            Err(excess.clone())
        );
        wire.open();
        wire.request(number(0));
        assert!(whole(&mut wire, ANSWER).is_some());
        assert_eq!(wire.eat(b"HTTP/1.1 408 ", None), Err(excess));
    }

    #[test]
    fn events_are_counted_over_the_pieces_of_an_answer() {
        let set = set(&["GET"]);
        let mut wire = H1Wire::new(&set, true);
        wire.request(number(0));
        let body = "data: a\n\ndata: b\n\n";
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (first, rest) = answer.as_bytes().split_at(answer.len() - 3);
        assert_eq!(whole(&mut wire, first), None);
        assert_eq!((wire.skippable(), wire.take_events()), (0, 1));
        assert!(whole(&mut wire, rest).is_some());
        assert_eq!((wire.take_events(), wire.take_events()), (1, 0));
    }
}
