//! Sans-IO wires: a wire turns bytes into responses and never touches a socket.

pub mod grpc;
pub mod h1;
pub mod h2;
pub mod sse;

use h1::Collect;

/// The client's side of one connection.
///
/// Responses arrive in the order of their requests. The event loop owns the socket: it sends [`Wire::unsent`] and
/// passes what it received to [`Wire::eat`].
pub trait Wire {
    /// Starts a new connection: forgets the last one and queues what the protocol begins with.
    fn open(&mut self);

    /// Queues another request.
    fn request(&mut self, which: Which);

    /// The queued bytes that are not sent yet.
    fn unsent(&self) -> &[u8];

    /// Takes note that `length` bytes of [`Wire::unsent`] were sent.
    fn sent(&mut self, length: usize);

    /// Whether the request of the last whole response was fully sent before that response arrived.
    fn was_sent_before_response(&self) -> bool;

    /// Eats received bytes, up to the end of the first response that is due, and keeps that response in `keep` if
    /// given. There may be more to send afterwards.
    ///
    /// # Errors
    ///
    /// If it is not a valid response: the connection is then unusable.
    fn eat(&mut self, bytes: &[u8], keep: Option<&mut Collect>) -> Result<Eaten, Fault>;

    /// How many events of an event stream have arrived since the last call; 0 if events are not counted.
    fn take_events(&mut self) -> u64 {
        0
    }

    /// The body of the last whole response, if the wire keeps short bodies and it was short.
    fn short_body(&self) -> Option<&[u8]> {
        None
    }

    /// How many body bytes certainly follow that nobody has to look at: they may be thrown away unread, and reported
    /// with [`Wire::skip`].
    fn skippable(&self) -> u64;

    /// Takes `length` body bytes, at most [`Wire::skippable`], that were thrown away.
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

/// What [`Wire::eat`] did with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eaten {
    /// How many bytes belong to this response; fewer than were given only if it is whole.
    pub bytes: usize,
    /// The response, if it is whole now.
    pub whole: Option<Whole>,
}

/// What a close by the server means now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnClose {
    /// It ends this response.
    Whole(Whole),
    /// No response had begun.
    BeforeResponse,
    /// The response is cut short.
    Truncated,
}

/// Which request to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Its number in the set of requests.
    pub number: usize,
    /// Whether it is the last one on its connection, and says so.
    pub last: bool,
}

/// Why there will be no response on a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum Fault {
    #[error(transparent)]
    H1(#[from] h1::Malformed),
    #[error(transparent)]
    Grpc(#[from] grpc::Malformed),
    #[error("the server {0}")]
    Ended(String),
}

/// A 64-bit number in decimal digits and nothing else.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
