//! One connection: its socket, the protocols spoken over it, and the responses still to be sent.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::error::ReferenceError;
use crate::http1::Http1;
use crate::http2::Http2;
use crate::output::{Output, Sent};
use crate::shared::{Progress, Shared};
use crate::tls::Tls;

/// How often a connection receives before the other connections have their turn.
const RECEIVES_A_TURN: usize = 16;
/// How much is discarded after the last response while the client closes its side, in bytes.
const MAX_DRAINED: usize = 64 << 20;

/// What a connection needs after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for an event.
    Wait,
    /// Have another turn without an event.
    Turn,
    Close,
}

#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    tls: Option<Box<Tls>>,
    protocol: Protocol,
    state: State,
    /// Received but not yet read: the beginning of a request, or requests held back.
    input: Vec<u8>,
    /// Whether there is more to respond, because a full batch ended the reading.
    held_back: bool,
    /// What the socket has not taken yet.
    backlog: Output,
}

#[derive(Debug)]
enum Protocol {
    /// The first bytes will tell.
    Unknown,
    Http1(Http1),
    Http2(Box<Http2>),
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
    pub(crate) fn new(socket: TcpStream, shared: &Shared) -> Result<Self, rustls::Error> {
        let tls = shared.tls.as_ref().map(Tls::new).transpose()?;
        Ok(Self {
            socket,
            tls: tls.map(Box::new),
            protocol: Protocol::Unknown,
            state: State::Open,
            input: Vec::new(),
            held_back: false,
            backlog: Output::default(),
        })
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Whether it waits for the socket to take more.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Reads requests and sends responses. A short receive normally means that the socket is empty; `to_the_end` receives
    /// until nothing is left, because no event follows for a connection that has already ended.
    pub(crate) fn turn(
        &mut self,
        shared: &mut Shared,
        to_the_end: bool,
    ) -> Result<Next, ReferenceError> {
        for _ in 0..RECEIVES_A_TURN {
            if !self.backlog.is_empty() {
                let sent = self
                    .backlog
                    .send(self.socket.as_raw_fd(), shared.responses.texts());
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
                    self.respond(&held, shared);
                    self.flush(shared)?
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
                self.take(&mut received[..length], shared);
                let next = self.flush(shared);
                // A short receive has emptied the socket.
                let emptied = length < received.len() && !to_the_end;
                let idle = emptied && self.state == State::Open && !self.held_back;
                next.map(|next| next.or(idle.then_some(Next::Wait)))
            }
        };
        shared.received = received;
        result
    }

    fn take(&mut self, bytes: &mut [u8], shared: &mut Shared) {
        let Some(tls) = &mut self.tls else {
            return self.respond_after_input(bytes, shared);
        };
        let mut plain = std::mem::take(&mut shared.plain);
        tls.open(bytes, &mut plain, &mut shared.sealed);
        if !plain.is_empty() {
            self.respond_after_input(&plain, shared);
            plain.clear();
        }
        shared.plain = plain;
    }

    fn respond_after_input(&mut self, bytes: &[u8], shared: &mut Shared) {
        if self.input.is_empty() {
            return self.respond(bytes, shared);
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        self.respond(&input, shared);
    }

    /// Writes the responses to the requests in `bytes` to the shared output, and keeps the rest.
    fn respond(&mut self, bytes: &[u8], shared: &mut Shared) {
        if matches!(self.protocol, Protocol::Unknown) {
            let chose_http2 = self.tls.as_ref().is_some_and(|tls| tls.chose_http2());
            self.protocol = match Http2::begins(bytes) {
                Some(false) if chose_http2 => {
                    self.state = State::Finishing;
                    return;
                }
                Some(true) => Protocol::Http2(Box::default()),
                Some(false) => Protocol::Http1(Http1::default()),
                None => Protocol::Unknown,
            };
        }
        let (read, progress) = match &mut self.protocol {
            Protocol::Unknown => (0, Progress::Waits),
            Protocol::Http1(http1) => http1.respond(bytes, shared),
            Protocol::Http2(http2) => http2.respond(bytes, shared),
        };
        self.held_back = progress == Progress::HeldBack;
        if progress == Progress::Over {
            self.state = State::Finishing;
        } else if read < bytes.len() {
            self.input.extend_from_slice(&bytes[read..]);
        }
    }

    /// Writes the log lines and sends the shared output.
    fn flush(&mut self, shared: &mut Shared) -> Result<Option<Next>, ReferenceError> {
        if !shared.log_lines.is_empty() {
            shared
                .log
                .write_all(&shared.log_lines)
                .map_err(ReferenceError::Log)?;
            shared.log_lines.clear();
        }
        if self.tls.is_some() {
            self.seal(shared);
        }
        let output = match self.tls {
            Some(_) => &mut shared.sealed,
            None => &mut shared.output,
        };
        if output.is_empty() {
            return Ok(None);
        }
        let sent = output.send(self.socket.as_raw_fd(), shared.responses.texts());
        Ok(match sent {
            Ok(Sent::All) => None,
            Ok(Sent::Blocked) => {
                output.move_rest(&mut self.backlog);
                Some(Next::Wait)
            }
            Err(_) => {
                output.clear();
                Some(Next::Close)
            }
        })
    }

    /// Encrypts the shared output.
    fn seal(&mut self, shared: &mut Shared) {
        let Some(tls) = &mut self.tls else { return };
        if !shared.output.is_empty() {
            shared
                .output
                .move_bytes(shared.responses.texts(), &mut shared.plain);
            tls.seal(&shared.plain, &mut shared.sealed);
            shared.plain.clear();
        }
        // The client has said that it sends no more, and has all its responses.
        if tls.is_over() && !self.held_back {
            self.state = State::Finishing;
        }
        if self.state == State::Finishing {
            tls.close(&mut shared.sealed);
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
