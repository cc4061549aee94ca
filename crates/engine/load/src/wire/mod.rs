//! Sans-IO wires: a wire turns bytes into responses and never touches a socket.

mod decimal;
mod fault;
mod first_bytes;
pub mod grpc;
pub mod h1;
pub mod h2;
pub mod sse;
pub mod tls;

pub use fault::Fault;
pub use first_bytes::OtherProtocol;
use h1::Ignore;
use prony_traffic::{Collect, ScenarioRequest};

/// The client's side of one connection.
///
/// The event loop owns the socket: it sends [`Wire::unsent`] and passes what it received to [`Wire::eat`]. Wire and
/// owner both keep the requests in flight in the order in which [`Wire::request`] took them, and name one by its
/// position in that order. A request whose end was reported is gone, and those behind it move up.
pub trait Wire {
    /// Starts a new connection: forgets the last one and queues what the protocol begins with.
    fn open(&mut self);

    /// Whether the connection is set up, so that it takes requests: a handshake, if there is one, is over.
    fn is_ready(&self) -> bool {
        true
    }

    /// How the handshake ended, once it is over; `None` if the wire has none.
    fn handshake(&self) -> Option<Handshake> {
        None
    }

    /// How many more requests the connection takes now; 0 if it takes no more at all.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Whether the connection is of no further use: nothing is in flight, and it takes no more requests.
    fn is_finished(&self) -> bool {
        false
    }

    /// Why the connection takes no more requests, if the server has said so.
    fn farewell(&self) -> Option<Fault> {
        None
    }

    /// Whether the server has said that nothing more follows, although its connection may still be open. That is a
    /// [close](Wire::close).
    fn is_closed(&self) -> bool {
        false
    }

    /// Why the connection is unusable, if the wire has found that out without being given bytes: it could not set up the
    /// connection, or not encrypt. [`Wire::eat`] reports it too.
    fn fault(&self) -> Option<Fault> {
        None
    }

    /// Queues another request. Call it only if the wire [is ready](Wire::is_ready) and has [room](Wire::room).
    fn request(&mut self, which: Which);

    /// Queues a request that belongs to no set; `last` says whether it is the last one on its connection.
    fn request_own(&mut self, request: &ScenarioRequest, last: bool);

    /// The queued bytes that are not sent yet.
    fn unsent(&mut self) -> &[u8];

    /// Takes note that `length` bytes of [`Wire::unsent`] were sent.
    fn sent(&mut self, length: usize);

    /// How many of its requests, the last ones, the server cannot have processed: too little of them was sent.
    fn unsent_requests(&self) -> usize {
        0
    }

    /// Eats received bytes, up to the first end of a response, and tells `responses` what they hold. There may be more
    /// to send afterwards.
    ///
    /// # Errors
    ///
    /// If the server must not send them: the connection is then unusable.
    fn eat(&mut self, bytes: &[u8], responses: &mut dyn Responses) -> Result<Eaten, Fault>;

    /// Whether [`Wire::eat`] has more to report even without further bytes.
    fn has_more(&self) -> bool {
        false
    }

    /// Gives up the request at that position. Returns false if only closing the connection does that.
    fn cancel(&mut self, _position: usize) -> bool {
        false
    }

    /// The body of the last whole response, if the wire keeps short bodies and it was short.
    fn short_body(&self) -> Option<&[u8]> {
        None
    }

    /// What the server said of the last response, or what it lacked, if its call has failed.
    fn message(&self) -> Option<&str> {
        None
    }

    /// How many body bytes certainly follow that nobody has to look at: they may be thrown away unread, and reported
    /// with [`Wire::skip`].
    fn skippable(&self) -> u64 {
        0
    }

    /// Takes `length` body bytes, at most [`Wire::skippable`], that were thrown away.
    fn skip(&mut self, _length: u64) -> Option<EndedResponse> {
        None
    }

    /// The server closed the connection. Says what that means for the first response that is due.
    fn close(&mut self) -> OnClose;
}

/// The owner's side of the responses that a [`Wire`] reads.
pub trait Responses {
    /// Bytes of the response to the request at `position` have arrived, perhaps not the first ones.
    fn begun(&mut self, position: usize);

    /// Where to keep that response, if it is to be kept.
    fn keep(&mut self, position: usize) -> Option<&mut Collect>;

    /// `count` events, or messages, of that response have arrived.
    fn events(&mut self, position: usize, count: u64);
}

/// Keeps every response.
impl Responses for Collect {
    fn begun(&mut self, _: usize) {}

    fn keep(&mut self, _: usize) -> Option<&mut Collect> {
        Some(self)
    }

    fn events(&mut self, _: usize, _: u64) {}
}

/// Keeps nothing.
impl Responses for Ignore {
    fn begun(&mut self, _: usize) {}

    fn keep(&mut self, _: usize) -> Option<&mut Collect> {
        None
    }

    fn events(&mut self, _: usize, _: u64) {}
}

/// How a handshake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Whether it resumed an earlier session.
    pub resumed: bool,
    /// What client and server agreed on.
    pub agreement: tls::Agreement,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eaten {
    /// How many bytes it took; fewer than were given only if a response has ended.
    pub bytes: usize,
    pub ended: Option<EndedResponse>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedResponse {
    /// The position of its request.
    pub position: usize,
    /// Whether its request was fully sent by then.
    pub was_sent: bool,
    pub end: End,
}

impl EndedResponse {
    pub fn whole(&self) -> Option<Whole> {
        match self.end {
            End::Whole(whole) => Some(whole),
            End::Failed(_) | End::Unprocessed(_) => None,
        }
    }
}

/// How a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Whole(Whole),
    /// There will be no whole response; the connection stays usable.
    Failed(Fault),
    /// The server has certainly not processed the request, so it may be sent again.
    Unprocessed(Fault),
}

/// What a close by the server means for the first response that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnClose {
    /// It ends this response.
    Whole(Whole),
    /// No response had begun.
    BeforeResponse,
    /// The response is cut short.
    Truncated,
    /// The close itself is wrong.
    Failed(Fault),
}

/// Which request to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Its number in the set of requests.
    pub number: usize,
    /// Whether it is the last one on its connection, and says so.
    pub last: bool,
}
