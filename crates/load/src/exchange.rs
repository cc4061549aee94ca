//! One request and its whole answer, for verification: no load, no measuring.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::difference::excerpt;
use crate::request::WireRequest;
use crate::wire::grpc::CallWire;
use crate::wire::h1::{Collect, H1Wire, OnClose};
use crate::wire::{Fault, Which, Wire};

/// Why no answer came.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// No connection.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Sending or receiving failed.
    #[error("the connection failed ({source}) {came}")]
    Io {
        /// What the system said.
        source: io::Error,
        /// What had come by then.
        came: Came,
    },
    /// What came is not an answer.
    #[error("malformed answer: {0}")]
    Malformed(#[from] Fault),
    /// Closed too early.
    #[error("the server closed the connection {0}")]
    Closed(Came),
    /// Too late.
    #[error("timed out after {timeout:?} {came}")]
    TimedOut {
        /// The time that it had.
        timeout: Duration,
        /// What had come by then.
        came: Came,
    },
}

/// How much of a response had come when it was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// Nothing.
    Nothing,
    /// A part of its head.
    PartOfHead,
    /// Its head, and of its body what there is.
    Head {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: Vec<u8>,
    },
}

impl Came {
    fn of(partial: Collect, bytes: usize) -> Self {
        match partial.into_answer() {
            answer if answer.status != 0 => Self::Head {
                status: answer.status,
                body: answer.body,
            },
            _ if bytes > 0 => Self::PartOfHead,
            _ => Self::Nothing,
        }
    }
}

impl fmt::Display for Came {
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

/// Sends `request`, the first of a set, over a connection of its own and reads the whole answer.
pub fn exchange(
    address: SocketAddr,
    request: &WireRequest,
    timeout: Duration,
) -> Result<Answer, ExchangeError> {
    match request {
        WireRequest::Http1(requests) => converse(address, H1Wire::new(requests, false), timeout),
        WireRequest::Grpc(call) => converse(address, CallWire::new(call), timeout),
    }
}

fn converse(
    address: SocketAddr,
    mut wire: impl Wire,
    timeout: Duration,
) -> Result<Answer, ExchangeError> {
    let until = Instant::now() + timeout;
    let mut stream = TcpStream::connect_timeout(&address, timeout)
        .map_err(|source| ExchangeError::Connect { address, source })?;
    let unanswered = |source| ExchangeError::Io {
        source,
        came: Came::Nothing,
    };
    stream.set_nodelay(true).map_err(unanswered)?;
    stream
        .set_write_timeout(Some(timeout))
        .map_err(unanswered)?;
    let (mut collect, mut received) = (Collect::default(), 0);
    let mut buffer = vec![0; 64 * 1024];
    wire.open();
    wire.request(Which::default());
    loop {
        if let Err(source) = stream.write_all(wire.unsent()) {
            let came = Came::of(collect, received);
            return Err(ExchangeError::Io { source, came });
        }
        wire.sent(wire.unsent().len());
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let came = Came::of(collect, received);
            return Err(ExchangeError::TimedOut { timeout, came });
        }
        stream.set_read_timeout(Some(left)).map_err(unanswered)?;
        let length = match stream.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if is_transient(&error) => continue,
            Err(source) => {
                let came = Came::of(collect, received);
                return Err(ExchangeError::Io { source, came });
            }
        };
        if length == 0 {
            return match wire.close() {
                OnClose::Whole(_) => Ok(collect.into_answer()),
                OnClose::BeforeAnswer | OnClose::Truncated => {
                    Err(ExchangeError::Closed(Came::of(collect, received)))
                }
            };
        }
        received += length;
        if wire
            .eat(&buffer[..length], Some(&mut collect))?
            .whole
            .is_some()
        {
            return Ok(collect.into_answer());
        }
    }
}

/// The read timeout (checked anew by the caller) or a signal.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
