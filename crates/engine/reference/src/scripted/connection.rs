//! One connection: its requests, and its responses, which leave when they are due.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::date::Date;
use crate::framing::Link;
use crate::http1::Http1;
use crate::output::{Output, Sent};
use crate::responses::Responses;
use crate::route::Reply;

/// How many requests of one connection may wait. A client that sends more is an attack, not a measurement.
const MAX_WAITING: usize = 10_000;

#[derive(Debug)]
pub(super) struct Connection {
    socket: TcpStream,
    requests: Http1,
    /// The beginning of a request.
    input: Vec<u8>,
    /// How many requests wait for their responses.
    waiting: usize,
    /// When the response to the last request leaves.
    last_leaves: Duration,
    /// Responses that are due but not yet taken by the socket.
    output: Output,
    /// Whether no more requests are read, and the last response ends the connection.
    closing: bool,
    /// Whether the client has closed its side.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    Over,
}

impl Connection {
    /// The connection of a client that was just accepted.
    pub(super) fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            requests: Http1::default(),
            input: Vec::new(),
            waiting: 0,
            last_leaves: Duration::ZERO,
            output: Output::default(),
            closing: false,
            ended: false,
        }
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether more bytes can come.
    pub(super) fn wants_input(&self) -> bool {
        !self.ended
    }

    /// When the response to the request just read leaves if it is due at `due`: the responses of a connection leave in
    /// the order of their requests, although one of several workers may finish a later one first.
    pub(super) fn leaves_after_those_before(&mut self, due: Duration) -> Duration {
        self.last_leaves = self.last_leaves.max(due);
        self.last_leaves
    }

    /// Whether it waits for the socket to take more.
    pub(super) fn is_blocked(&self) -> bool {
        !self.output.is_empty()
    }

    /// Reads up to `buffer`'s length, and passes on each whole request.
    pub(super) fn read(&mut self, buffer: &mut [u8], on_request: &mut impl FnMut(Reply)) -> Fate {
        match recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => {
                self.ended = true;
                self.closing = true;
                self.fate()
            }
            Ok(length) => self.take(&buffer[..length], on_request),
            Err(Errno::EAGAIN | Errno::EINTR) => Fate::Stays,
            Err(_) => Fate::Over,
        }
    }

    fn take(&mut self, bytes: &[u8], on_request: &mut impl FnMut(Reply)) -> Fate {
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        let read = self.find_requests(&input, on_request);
        if !self.closing {
            input.drain(..read);
            self.input = input;
        }
        if self.waiting > MAX_WAITING {
            Fate::Over
        } else {
            Fate::Stays
        }
    }

    /// Passes on the whole requests at the beginning of `bytes`; returns how many bytes they take.
    fn find_requests(&mut self, bytes: &[u8], on_request: &mut impl FnMut(Reply)) -> usize {
        let mut read = 0;
        while !self.closing {
            // Clients that wait for `100 Continue` send the body after a while anyway.
            let (length, reply) = self.requests.next(&bytes[read..], || ());
            read += length;
            let Some(reply) = reply else { break };
            self.waiting += 1;
            self.closing = reply.link == Link::Closes;
            on_request(reply);
        }
        read
    }

    /// Sends the response to the first request that waits.
    pub(super) fn respond(
        &mut self,
        reply: Reply,
        responses: &Responses,
        date: &Date,
        random: &mut fastrand::Rng,
    ) -> Fate {
        self.waiting -= 1;
        responses.write(reply, date, random, &mut self.output);
        self.send(responses)
    }

    /// Sends what the socket has not taken yet.
    pub(super) fn send(&mut self, responses: &Responses) -> Fate {
        match self.output.send(self.socket.as_raw_fd(), responses.texts()) {
            Ok(Sent::All) => self.fate(),
            Ok(Sent::Blocked) => Fate::Stays,
            Err(_) => Fate::Over,
        }
    }

    /// After the last response, closes our side and reads on until the client closes its side: closing with bytes unread
    /// would reset the connection, and the client could lose the response.
    fn fate(&mut self) -> Fate {
        let is_done = self.closing && self.waiting == 0 && self.output.is_empty();
        if is_done && (self.ended || self.socket.shutdown(Shutdown::Write).is_err()) {
            Fate::Over
        } else {
            Fate::Stays
        }
    }
}
