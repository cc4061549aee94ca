//! Sans-IO wires: a wire eats bytes and says what came of them. It never touches a socket.

pub mod grpc;
pub mod h1;
pub mod h2;
pub mod sse;

use h1::{Collect, OnClose, Whole};

/// The client's side of one connection: what is to be sent, and what came of the bytes received.
///
/// One request is on its way at a time. The event loop owns the socket: it sends what
/// [`Wire::unsent`] holds, and gives [`Wire::eat`] what it received.
pub trait Wire {
    /// A new connection: all of the last one is forgotten, and what the protocol begins with is to
    /// be sent.
    fn open(&mut self);

    /// The next request is to be sent.
    fn request(&mut self);

    /// What is to be sent and is not yet.
    fn unsent(&self) -> &[u8];

    /// `length` bytes of [`Wire::unsent`] were sent.
    fn sent(&mut self, length: usize);

    /// Whether the request is sent whole. What [`Wire::unsent`] holds besides answers the server's talk.
    fn request_sent(&self) -> bool;

    /// Eats what was received, keeping the answer in `keep` where it is to be looked at. The answer,
    /// where its last byte was among them. There may be more to send afterwards.
    ///
    /// # Errors
    /// Where it is no answer: the connection is of no use any more.
    fn eat(&mut self, bytes: &[u8], keep: Option<&mut Collect>) -> Result<Option<Whole>, Fault>;

    /// Body bytes that come next for certain and that nobody has to look at: they may be thrown
    /// away before they are read, and told with [`Wire::skip`].
    fn skippable(&self) -> u64;

    /// `length` body bytes, at most [`Wire::skippable`], came and were thrown away.
    fn skip(&mut self, length: u64) -> Option<Whole>;

    /// The server closed the connection.
    fn close(&mut self) -> OnClose;
}

/// Why there will be no answer on a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// What came is no HTTP/1.1 answer.
    #[error(transparent)]
    H1(#[from] h1::Malformed),
    /// What came is no HTTP/2, or no answer to a gRPC call.
    #[error(transparent)]
    Grpc(#[from] grpc::Malformed),
    /// The server ended the call or the connection by a frame that says so, with the error code's name.
    #[error("the server {0}")]
    Ended(String),
}
