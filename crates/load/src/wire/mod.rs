//! Sans-IO wires: a wire eats bytes and says what came of them. It never touches a socket.

pub mod grpc;
pub mod h1;
pub mod h2;
pub mod sse;

use h1::Collect;

/// The client's side of one connection: what is to be sent, and what came of the bytes received.
///
/// Responses come in the order of their requests. The event loop owns the socket: it sends what
/// [`Wire::unsent`] holds, and gives [`Wire::eat`] what it received.
pub trait Wire {
    /// A new connection: all of the last one is forgotten, and what the protocol begins with is to
    /// be sent.
    fn open(&mut self);

    /// Another request is to be sent.
    fn request(&mut self, which: Which);

    /// What is to be sent and is not yet.
    fn unsent(&self) -> &[u8];

    /// `length` bytes of [`Wire::unsent`] were sent.
    fn sent(&mut self, length: usize);

    /// Whether the request of the last whole response was sent whole before that response came.
    fn was_sent_before_response(&self) -> bool;

    /// Eats what was received, up to the end of the first response that is due, keeping that response in
    /// `keep` where it is to be looked at. There may be more to send afterwards.
    ///
    /// # Errors
    /// Where it is no response: the connection is of no use any more.
    fn eat(&mut self, bytes: &[u8], keep: Option<&mut Collect>) -> Result<Eaten, Fault>;

    /// How many events of an event stream have come since that was last asked; 0 where they are not
    /// counted.
    fn take_events(&mut self) -> u64 {
        0
    }

    /// The body of the last whole response, if the wire keeps short bodies and it was not longer than those.
    fn short_body(&self) -> Option<&[u8]> {
        None
    }

    /// Body bytes that come next for certain and that nobody has to look at: they may be thrown
    /// away before they are read, and told with [`Wire::skip`].
    fn skippable(&self) -> u64;

    /// `length` body bytes, at most [`Wire::skippable`], came and were thrown away.
    fn skip(&mut self, length: u64) -> Option<Whole>;

    /// The server closed the connection.
    fn close(&mut self) -> OnClose;
}

/// A whole response, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The status code.
    pub status: u16,
    /// Bytes of the body, transfer coding removed.
    pub body_bytes: u64,
    /// Whether the connection may be used for another request.
    pub keep_alive: bool,
    /// The `grpc-status` of a response to a gRPC call.
    pub rpc_status: Option<u32>,
}

/// What came of eating some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eaten {
    /// How many bytes were part of this response; fewer than were given only where it is whole.
    pub bytes: usize,
    /// The response, where its last byte was among them.
    pub whole: Option<Whole>,
}

/// What it means that the server closed the connection now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnClose {
    /// That was how the response ends.
    Whole(Whole),
    /// Nothing of a response had come.
    BeforeResponse,
    /// The response is cut short.
    Truncated,
}

/// Which request is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Its number in the set of requests.
    pub number: usize,
    /// Whether it is the last one on its connection, and says so.
    pub last: bool,
}

/// Why there will be no response on a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Fault {
    #[error(transparent)]
    H1(#[from] h1::Malformed),
    #[error(transparent)]
    Grpc(#[from] grpc::Malformed),
    #[error("the server {0}")]
    Ended(String),
}

/// A number of 64 bits in decimal digits and nothing else.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
