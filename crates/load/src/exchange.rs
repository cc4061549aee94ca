//! One request and its whole answer, for verification: no load, no measuring.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::answer::Answer;
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
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// What came is not an answer.
    #[error("malformed answer: {0}")]
    Malformed(#[from] Fault),
    /// Closed too early.
    #[error("the server closed the connection {}", if *.in_answer { "in the middle of the answer" } else { "without an answer" })]
    Closed {
        /// Whether some of the answer had come.
        in_answer: bool,
    },
    /// Too late.
    #[error("no whole answer within {0:?}")]
    TimedOut(Duration),
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
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(timeout))?;
    let mut collect = Collect::default();
    let mut buffer = vec![0; 64 * 1024];
    wire.open();
    wire.request(Which::default());
    loop {
        stream.write_all(wire.unsent())?;
        wire.sent(wire.unsent().len());
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ExchangeError::TimedOut(timeout));
        }
        stream.set_read_timeout(Some(left))?;
        let length = match stream.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if is_transient(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        if length == 0 {
            return match wire.close() {
                OnClose::Whole(_) => Ok(collect.into_answer()),
                OnClose::BeforeAnswer => Err(ExchangeError::Closed { in_answer: false }),
                OnClose::Truncated => Err(ExchangeError::Closed { in_answer: true }),
            };
        }
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
