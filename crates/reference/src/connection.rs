//! One connection: the part of a request received so far, and the responses still to be sent.

use std::fs::File;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::config::Work;
use crate::error::ReferenceError;
use crate::framing::{Event, Framer, Link};
use crate::output::{Output, Sent};
use crate::responses::{Date, Responses};
use crate::route::Reply;

/// The size of the receive buffer, in bytes.
pub const RECEIVE: usize = 64 * 1024;
/// Responses of a connection are sent once they are this long, in bytes, even if more of its requests wait.
const BATCH: usize = 256 * 1024;
/// How often a connection receives before the other connections have their turn.
const RECEIVES_A_TURN: usize = 16;
/// How much is discarded after the last response while the client closes its side, in bytes.
const MAX_DRAINED: usize = 64 << 20;

/// What the connections of one worker share.
#[derive(Debug)]
pub struct Shared {
    /// The responses.
    pub responses: Arc<Responses>,
    /// Extra work for each request.
    pub work: Work,
    /// The current date.
    pub date: Date,
    /// Draws the quotes.
    pub random: fastrand::Rng,
    /// Where request lines go.
    pub log: File,
    received: Box<[u8]>,
    output: Output,
    log_lines: Vec<u8>,
}

impl Shared {
    /// Creates empty buffers.
    pub fn new(responses: Arc<Responses>, work: Work, date: Date, log: File) -> Self {
        Self {
            responses,
            work,
            date,
            random: fastrand::Rng::new(),
            log,
            received: vec![0; RECEIVE].into_boxed_slice(),
            output: Output::default(),
            log_lines: Vec::new(),
        }
    }
}

/// What a connection needs after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for an event.
    Wait,
    /// Have another turn without an event.
    Turn,
    /// Close it.
    Close,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    framer: Framer,
    state: State,
    /// Received but not yet read: the beginning of a request, or requests held back.
    input: Vec<u8>,
    /// Whether `input` may contain a whole request, because a full batch ended the reading.
    held_back: bool,
    /// The reply to the request whose body is being skipped.
    reply: Option<Reply>,
    /// What the socket has not taken yet.
    backlog: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Requests are read.
    Open,
    /// The last response is being sent.
    Finishing,
    /// Our side is closed; up to this many more bytes are discarded until the client closes its side. Closing with bytes
    /// unread would reset the connection, and the client could lose the response.
    Draining { left: usize },
}

enum Received {
    Bytes(usize),
    Nothing,
    End,
}

impl Connection {
    /// The connection of a client that was just accepted.
    pub fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            framer: Framer::default(),
            state: State::Open,
            input: Vec::new(),
            held_back: false,
            reply: None,
            backlog: Output::default(),
        }
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether it waits for the socket to take more.
    pub fn is_blocked(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Reads requests and sends responses. A short receive normally means that the socket is empty; `to_the_end` receives
    /// until nothing is left, because no event follows for a connection that has already ended.
    pub fn turn(&mut self, shared: &mut Shared, to_the_end: bool) -> Result<Next, ReferenceError> {
        for _ in 0..RECEIVES_A_TURN {
            if !self.backlog.is_empty() {
                let sent = self
                    .backlog
                    .send(self.socket.as_raw_fd(), shared.responses.page());
                match sent {
                    Ok(Sent::All) => {}
                    Ok(Sent::Blocked) => return Ok(Next::Wait),
                    Err(_) => return Ok(Next::Close),
                }
            }
            let next = match self.state {
                State::Finishing => self.finish(),
                State::Draining { left } => self.drain(left, shared),
                State::Open if self.held_back => {
                    let held = std::mem::take(&mut self.input);
                    self.read(&held, shared)?
                }
                State::Open => self.receive(shared, to_the_end)?,
            };
            if let Some(next) = next {
                return Ok(next);
            }
        }
        Ok(Next::Turn)
    }

    fn finish(&mut self) -> Option<Next> {
        self.state = State::Draining { left: MAX_DRAINED };
        match self.socket.shutdown(Shutdown::Write) {
            Ok(()) => None,
            Err(_) => Some(Next::Close),
        }
    }

    fn drain(&mut self, left: usize, shared: &mut Shared) -> Option<Next> {
        match receive(&self.socket, &mut shared.received) {
            Received::Bytes(length) if length < left => {
                self.state = State::Draining {
                    left: left - length,
                };
                None
            }
            Received::Nothing => Some(Next::Wait),
            Received::Bytes(_) | Received::End => Some(Next::Close),
        }
    }

    fn receive(
        &mut self,
        shared: &mut Shared,
        to_the_end: bool,
    ) -> Result<Option<Next>, ReferenceError> {
        let mut received = std::mem::take(&mut shared.received);
        let result = match receive(&self.socket, &mut received) {
            Received::Nothing => Ok(Some(Next::Wait)),
            Received::End => Ok(Some(Next::Close)),
            Received::Bytes(length) => {
                let next = self.read_after_input(&received[..length], shared);
                // A short receive has emptied the socket.
                let emptied = length < received.len() && !to_the_end;
                let idle = emptied && self.state == State::Open && !self.held_back;
                next.map(|next| next.or(idle.then_some(Next::Wait)))
            }
        };
        shared.received = received;
        result
    }

    fn read_after_input(
        &mut self,
        bytes: &[u8],
        shared: &mut Shared,
    ) -> Result<Option<Next>, ReferenceError> {
        if self.input.is_empty() {
            return self.read(bytes, shared);
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        self.read(&input, shared)
    }

    /// Responds to the requests in `bytes`, and keeps the rest.
    fn read(&mut self, bytes: &[u8], shared: &mut Shared) -> Result<Option<Next>, ReferenceError> {
        let read = self.respond_to_all(bytes, shared);
        if read < bytes.len() && self.state == State::Open {
            self.input.extend_from_slice(&bytes[read..]);
        }
        if !shared.log_lines.is_empty() {
            shared
                .log
                .write_all(&shared.log_lines)
                .map_err(ReferenceError::Log)?;
            shared.log_lines.clear();
        }
        if shared.output.is_empty() {
            return Ok(None);
        }
        let sent = shared
            .output
            .send(self.socket.as_raw_fd(), shared.responses.page());
        Ok(match sent {
            Ok(Sent::All) => None,
            Ok(Sent::Blocked) => {
                shared.output.move_rest(&mut self.backlog);
                Some(Next::Wait)
            }
            Err(_) => {
                shared.output.clear();
                Some(Next::Close)
            }
        })
    }

    /// Writes the responses to the requests in `bytes` to the shared output, up to a full batch; returns how many bytes
    /// that took.
    fn respond_to_all(&mut self, bytes: &[u8], shared: &mut Shared) -> usize {
        let mut read = 0;
        self.held_back = false;
        while self.state == State::Open {
            if shared.output.left() >= BATCH {
                self.held_back = true;
                break;
            }
            match self.framer.next(&bytes[read..]) {
                Ok((length, Event::NeedMore)) => {
                    read += length;
                    break;
                }
                Ok((length, Event::Head(head))) => {
                    read += length;
                    if head.expects_continue {
                        let start = shared.output.buffer().len();
                        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
                        shared.output.buffer().extend_from_slice(go_on);
                        shared.output.push_since(start);
                    }
                    self.reply = Some(Reply::to(&head));
                }
                Ok((length, Event::End)) => {
                    read += length;
                    if let Some(reply) = self.reply.take() {
                        self.respond(reply, shared);
                    }
                }
                Err(refusal) => self.respond(Reply::refusing(refusal), shared),
            }
        }
        read
    }

    fn respond(&mut self, reply: Reply, shared: &mut Shared) {
        if let Some((method, path)) = reply.log_line() {
            for part in [method, " ", path, "\n"] {
                shared.log_lines.extend_from_slice(part.as_bytes());
            }
        }
        let Shared {
            responses,
            work,
            date,
            random,
            output,
            ..
        } = shared;
        work.carry_out();
        responses.write(reply, date, random, output);
        if reply.link == Link::Closes {
            self.state = State::Finishing;
        }
    }
}

fn receive(socket: &TcpStream, buffer: &mut [u8]) -> Received {
    loop {
        return match recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => Received::End,
            Ok(length) => Received::Bytes(length),
            Err(Errno::EAGAIN) => Received::Nothing,
            Err(Errno::EINTR) => continue,
            Err(_) => Received::End,
        };
    }
}
