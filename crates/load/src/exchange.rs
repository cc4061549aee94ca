//! Single requests and their whole responses, for verification: no load, no measurement.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::request::WireRequest;
use crate::response::{Response, excerpt};
use crate::wire::grpc::CallWire;
use crate::wire::h1::{Collect, H1Wire};
use crate::wire::{Fault, OnClose, Which, Wire};

/// Why there was no whole response.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum ExchangeError {
    #[error("cannot connect to {address}: {source}")]
    Connect {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("the connection failed ({source}) {received}")]
    Io {
        source: io::Error,
        received: Received,
    },
    #[error("malformed response: {0}")]
    Malformed(#[from] Fault),
    #[error("the server closed the connection {0}")]
    Closed(Received),
    #[error("timed out after {timeout:?} {received}")]
    TimedOut {
        timeout: Duration,
        received: Received,
    },
}

/// How much of a response arrived before it was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing.
    Nothing,
    /// A part of its head.
    PartOfHead,
    /// The head and the start of the body.
    Head {
        /// The status.
        status: u16,
        /// The start of the body.
        body: Vec<u8>,
    },
}

impl Received {
    fn of(partial: Collect, bytes: usize) -> Self {
        match partial.into_response() {
            response if response.status != 0 => Self::Head {
                status: response.status,
                body: response.body,
            },
            _ if bytes > 0 => Self::PartOfHead,
            _ => Self::Nothing,
        }
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("before any byte of a response"),
            Self::PartOfHead => f.write_str("in the middle of the response's head"),
            Self::Head { status, body } => write!(
                f,
                "in the middle of a response with status {status}, after {} bytes of its body: {}",
                body.len(),
                excerpt(body, 0)
            ),
        }
    }
}

/// Sends the first request of `request` over a new connection and reads the whole response.
pub fn exchange(
    address: SocketAddr,
    request: &WireRequest,
    timeout: Duration,
) -> Result<Response, ExchangeError> {
    Conversation::new(address, request, timeout).ask()
}

/// Sends the same request repeatedly, over one connection for as long as the server keeps it open.
pub struct Conversation<'a> {
    address: SocketAddr,
    timeout: Duration,
    wire: Box<dyn Wire + 'a>,
    /// Whether the request may be resent over a new connection.
    repeatable: bool,
    stream: Option<TcpStream>,
    connections: u64,
}

impl<'a> Conversation<'a> {
    /// Does not connect yet. `timeout` is for each response.
    pub fn new(address: SocketAddr, request: &'a WireRequest, timeout: Duration) -> Self {
        let wire: Box<dyn Wire> = match request {
            WireRequest::Http1(requests) => Box::new(H1Wire::new(requests, false)),
            WireRequest::Grpc(call) => Box::new(CallWire::new(call)),
        };
        Self {
            address,
            timeout,
            wire,
            repeatable: request.is_idempotent(0),
            stream: None,
            connections: 0,
        }
    }

    /// How many connections were opened: more than one if the server closed one after a response.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Sends the first request of the set and reads the whole response. If the server closed the connection after the
    /// last response, the request goes over a new one.
    ///
    /// # Errors
    ///
    /// If no whole response arrives; the next request goes over a new connection.
    pub fn ask(&mut self) -> Result<Response, ExchangeError> {
        let until = Instant::now() + self.timeout;
        let kept = self.stream.take();
        let is_kept = kept.is_some();
        let mut stream = kept.map_or_else(|| self.connect(), Ok)?;
        let mut result = self.converse(&mut stream, until);
        let may_repeat = is_kept && self.repeatable;
        if may_repeat
            && result.as_ref().is_err_and(is_close)
            && self.wire.close() == OnClose::BeforeResponse
        {
            stream = self.connect()?;
            result = self.converse(&mut stream, until);
        }
        let (response, stays_open) = result?;
        self.stream = stays_open.then_some(stream);
        Ok(response)
    }

    fn connect(&mut self) -> Result<TcpStream, ExchangeError> {
        let address = self.address;
        let no_connection = |source| ExchangeError::Connect { address, source };
        let stream = TcpStream::connect_timeout(&address, self.timeout).map_err(no_connection)?;
        stream.set_nodelay(true).map_err(no_connection)?;
        stream
            .set_write_timeout(Some(self.timeout))
            .map_err(no_connection)?;
        self.wire.open();
        self.connections += 1;
        Ok(stream)
    }

    /// One request and its response, and whether the connection may be reused.
    fn converse(
        &mut self,
        stream: &mut TcpStream,
        until: Instant,
    ) -> Result<(Response, bool), ExchangeError> {
        let timeout = self.timeout;
        let wire = &mut self.wire;
        let (mut collect, mut received) = (Collect::default(), 0);
        let mut buffer = vec![0; 64 * 1024];
        wire.request(Which::default());
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let received = Received::of(collect, received);
                return Err(ExchangeError::TimedOut { timeout, received });
            }
            let read = stream
                .write_all(wire.unsent())
                .and_then(|()| stream.set_read_timeout(Some(left)));
            wire.sent(wire.unsent().len());
            let length = match read.and_then(|()| stream.read(&mut buffer)) {
                Ok(0) => {
                    return match wire.close() {
                        OnClose::Whole(_) => Ok((collect.into_response(), false)),
                        _ => Err(ExchangeError::Closed(Received::of(collect, received))),
                    };
                }
                Ok(length) => length,
                Err(error) if is_transient(&error) => continue,
                Err(source) => {
                    let received = Received::of(collect, received);
                    return Err(ExchangeError::Io { source, received });
                }
            };
            received += length;
            let eaten = wire.eat(&buffer[..length], Some(&mut collect))?;
            if let Some(whole) = eaten.whole {
                return Ok((collect.into_response(), whole.keep_alive));
            }
        }
    }
}

/// Whether the server closed the connection.
fn is_close(error: &ExchangeError) -> bool {
    match error {
        ExchangeError::Closed(_) => true,
        ExchangeError::Io { source, .. } => matches!(
            source.kind(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
        ),
        _ => false,
    }
}

/// A signal, or the read timeout, which the caller checks itself.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
