//! The wire against a server whose frames are handmade.

mod calls;
mod connection;
pub(in crate::wire) mod frames;
mod hostile;
mod responses;
mod streams;

use frames::*;
use http::Method;
use prony_testkit::table::rows;
use prony_traffic::{Collect, Response};

use super::hpack::{Decoder, Fields};
use super::{ErrorCode, H2Wire, Kind, MAX_BLOCK, MAX_FRAME, Malformed, StreamRequest};
use crate::wire::{End, Fault, OnClose, Responses, Which, Whole, Wire};

const HEADER_TABLE_SIZE: u16 = 0x1;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `:status: 200`.
const OK: &[u8] = b"\x88";

/// A request in flight.
#[derive(Default)]
struct InFlight {
    number: usize,
    begun: bool,
    events: Vec<u64>,
    collect: Collect,
}

impl Responses for Vec<InFlight> {
    fn begun(&mut self, position: usize) {
        self[position].begun = true;
    }

    fn keep(&mut self, position: usize) -> Option<&mut Collect> {
        Some(&mut self[position].collect)
    }

    fn events(&mut self, position: usize, count: u64) {
        self[position].events.push(count);
    }
}

/// How a request has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Done {
    /// The request's number on its connection, from 0 on.
    number: usize,
    end: End,
    was_sent: bool,
    response: Response,
    /// How many events arrived in all.
    events: u64,
    short_body: Option<Vec<u8>>,
    message: Option<String>,
}

impl Done {
    fn whole(&self) -> Whole {
        match self.end {
            End::Whole(whole) => whole,
            ref other => panic!("{other:?}"),
        }
    }

    /// The reason of a failure, as it is debugged.
    fn failure(&self) -> String {
        match &self.end {
            End::Failed(fault) => format!("{fault:?}"),
            other => panic!("{other:?}"),
        }
    }
}

/// The owner of a wire, as the engine is.
struct Client<'a> {
    wire: H2Wire<'a>,
    in_flight: Vec<InFlight>,
    requests: usize,
    done: Vec<Done>,
}

impl<'a> Client<'a> {
    fn new(requests: &'a [StreamRequest]) -> Self {
        Self::of(H2Wire::new(requests, false))
    }

    fn of(wire: H2Wire<'a>) -> Self {
        Self {
            wire,
            in_flight: Vec::new(),
            requests: 0,
            done: Vec::new(),
        }
    }

    /// After the initial exchange, with everything sent.
    fn connected(requests: &'a [StreamRequest], server: &[(u16, u32)]) -> Self {
        let mut client = Self::new(requests);
        client.eat(&settings(server)).unwrap();
        client.sent();
        client
    }

    /// The same, with `count` requests in flight.
    fn requesting(requests: &'a [StreamRequest], count: usize) -> Self {
        let mut client = Self::connected(requests, &[]);
        (0..count).for_each(|_| client.request(0));
        client.sent();
        client
    }

    fn open(&mut self) {
        self.wire.open();
        self.in_flight.clear();
        self.requests = 0;
    }

    fn request(&mut self, number: usize) {
        assert!(self.wire.room() > 0);
        self.wire.request(Which {
            number,
            last: false,
        });
        self.in_flight.push(InFlight {
            number: self.requests,
            ..InFlight::default()
        });
        self.requests += 1;
    }

    /// Eats all bytes.
    fn eat(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        loop {
            let eaten = self.wire.eat(bytes, &mut self.in_flight)?;
            bytes = &bytes[eaten.bytes..];
            let Some(ended) = eaten.ended else {
                assert!(bytes.is_empty() && !self.wire.has_more());
                return Ok(());
            };
            let it = self.in_flight.remove(ended.position);
            self.done.push(Done {
                number: it.number,
                end: ended.end,
                was_sent: ended.was_sent,
                response: it.collect.into_response(),
                events: it.events.iter().sum(),
                short_body: self.wire.short_body().map(<[u8]>::to_vec),
                message: self.wire.message().map(str::to_owned),
            });
        }
    }

    /// What those bytes end.
    fn ended(&mut self, bytes: &[u8]) -> Vec<Done> {
        self.eat(bytes).unwrap();
        std::mem::take(&mut self.done)
    }

    /// Those with the numbers of their requests.
    fn ended_by_number<T>(&mut self, bytes: &[u8], of: impl Fn(Done) -> T) -> Vec<(usize, T)> {
        let done = self.ended(bytes).into_iter();
        done.map(|done| (done.number, of(done))).collect()
    }

    /// Sends everything; returns the bytes.
    fn sent_bytes(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.wire.unsent().is_empty() {
            let bytes = self.wire.unsent().to_vec();
            self.wire.sent(bytes.len());
            all.extend(bytes);
        }
        all
    }

    /// Sends everything; returns the frames.
    fn sent(&mut self) -> Vec<Sent> {
        let bytes = self.sent_bytes();
        frames(bytes.strip_prefix(PREFACE).unwrap_or(&bytes))
    }

    fn cancel(&mut self, position: usize) {
        assert!(self.wire.cancel(position));
        self.in_flight.remove(position);
    }
}

fn get() -> [StreamRequest; 1] {
    [StreamRequest::http(&Method::GET, "http", "localhost", "/", &[], b"").unwrap()]
}

fn post(body: &[u8]) -> [StreamRequest; 1] {
    [StreamRequest::http(&Method::POST, "http", "localhost", "/", &[], body).unwrap()]
}

/// A whole response of 200 with that body.
fn response(stream: u32, body: &[u8]) -> Vec<u8> {
    let head = frame(Kind::HEADERS, END_HEADERS, stream, OK);
    [head, data(stream, END_STREAM, body)].concat()
}

fn ended(reason: &str) -> Fault {
    Fault::Ended(reason.into())
}
