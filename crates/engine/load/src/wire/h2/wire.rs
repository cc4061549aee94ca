//! HTTP/2 as a [`Wire`].

use prony_traffic::ScenarioRequest;

use super::connection::Connection;
use super::short_bodies::ShortBodies;
use super::streams::StreamRequestRef;
use super::{FrameReader, StreamRequest};
use crate::wire::{Eaten, Fault, OnClose, Responses, Which, Wire};

/// One connection that sends requests of a set, each over a stream of its own.
///
/// To a gRPC call, a response whose status is not 200, or that is not gRPC, is still a response: it has its status and
/// no RPC status. A gRPC response without an RPC status has 2 (`UNKNOWN`). The body of a response to a call that
/// expects one message is that message; the body of one to a call that expects several has each of them after its
/// prefix of 5 bytes.
#[derive(Debug)]
pub struct H2Wire<'a> {
    requests: &'a [StreamRequest],
    frames: FrameReader,
    connection: Connection<'a>,
}

impl<'a> H2Wire<'a> {
    /// Sends requests of `requests`, initially open; `counts_events` counts the messages of responses to gRPC calls,
    /// and treats other responses as event streams.
    pub fn new(requests: &'a [StreamRequest], counts_events: bool) -> Self {
        Self {
            requests,
            frames: FrameReader::default(),
            connection: Connection::new(requests.len() == 1, counts_events),
        }
    }

    /// Also keeps each body of up to `most` bytes until the next response ends; `None` keeps none.
    pub(crate) fn keeping_bodies(mut self, most: Option<usize>) -> Self {
        self.connection.short_bodies = most.map(ShortBodies::new);
        self
    }
}

impl Wire for H2Wire<'_> {
    fn open(&mut self) {
        self.frames.restart();
        self.connection.open();
    }

    #[inline]
    fn room(&self) -> usize {
        self.connection.room()
    }

    #[inline]
    fn is_finished(&self) -> bool {
        !self.connection.takes_streams() && self.connection.streams.is_empty()
    }

    fn farewell(&self) -> Option<Fault> {
        self.connection.farewell()
    }

    /// The server decides when the connection ends, so no request is the last.
    #[inline]
    fn request(&mut self, which: Which) {
        let request = &self.requests[which.number];
        self.connection.request(StreamRequestRef::OfSet(request));
    }

    fn request_own(&mut self, request: &ScenarioRequest, _: bool) {
        let request = Box::new(StreamRequest::of_parts(request.parts()));
        self.connection.request(StreamRequestRef::Own(request));
    }

    #[inline]
    fn unsent(&mut self) -> &[u8] {
        self.connection.fill();
        self.connection.out.unsent()
    }

    #[inline]
    fn sent(&mut self, length: usize) {
        self.connection.out.sent(length);
    }

    fn unsent_requests(&self) -> usize {
        self.connection.unsent_requests()
    }

    #[inline]
    fn eat(&mut self, bytes: &[u8], responses: &mut dyn Responses) -> Result<Eaten, Fault> {
        self.connection.rpc_message.clear();
        let mut rest = bytes;
        loop {
            let mut ended = self.connection.next_unprocessed();
            if ended.is_none() {
                let Some(frame) = self.frames.next(&mut rest)? else {
                    break;
                };
                ended = self.connection.take(frame, responses)?;
            }
            if ended.is_some() {
                let bytes = bytes.len() - rest.len();
                return Ok(Eaten { bytes, ended });
            }
        }
        Ok(Eaten {
            bytes: bytes.len(),
            ended: None,
        })
    }

    #[inline]
    fn has_more(&self) -> bool {
        self.connection.unprocessed().is_some()
    }

    fn cancel(&mut self, position: usize) -> bool {
        self.connection.cancel(position)
    }

    fn message(&self) -> Option<&str> {
        Some(self.connection.rpc_message.as_str()).filter(|message| !message.is_empty())
    }

    #[inline]
    fn short_body(&self) -> Option<&[u8]> {
        self.connection.short_bodies.as_ref().map(ShortBodies::last)
    }

    fn close(&mut self) -> OnClose {
        let connection = &self.connection;
        let first = connection.streams.first();
        let begun = first.is_some_and(|stream| stream.response.begun());
        if begun || self.frames.in_frame() || connection.in_block() {
            return OnClose::Truncated;
        }
        match &connection.going_away {
            Some(going) if first.is_some() && !going.is_orderly => OnClose::Failed(going.fault()),
            _ => OnClose::BeforeResponse,
        }
    }
}
