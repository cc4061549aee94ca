//! One request and its whole answer, for verification: no load, no measuring.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::Request;
use crate::answer::Answer;
use crate::wire::h1::{AnswerReader, Collect, Malformed, OnClose};

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
    Malformed(#[from] Malformed),
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

/// Sends `request` over a connection of its own and reads the whole answer.
pub fn exchange(
    address: SocketAddr,
    request: &Request,
    timeout: Duration,
) -> Result<Answer, ExchangeError> {
    let until = Instant::now() + timeout;
    let mut stream = TcpStream::connect_timeout(&address, timeout)
        .map_err(|source| ExchangeError::Connect { address, source })?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(request.bytes())?;
    let mut reader = AnswerReader::new(request.is_head());
    let mut collect = Collect::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
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
            return match reader.close() {
                OnClose::Whole(_) => Ok(collect.into_answer()),
                OnClose::BeforeAnswer => Err(ExchangeError::Closed { in_answer: false }),
                OnClose::Truncated => Err(ExchangeError::Closed { in_answer: true }),
            };
        }
        let eaten = reader.eat(&buffer[..length], &mut collect)?;
        if eaten.whole.is_some() {
            return if eaten.bytes < length {
                Err(Malformed::ExcessBytes.into())
            } else {
                Ok(collect.into_answer())
            };
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
