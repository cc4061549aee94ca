//! Unary gRPC calls over HTTP/2, as a client makes them (gRPC's PROTOCOL-HTTP2.md).

mod call;
mod response;
#[cfg(test)]
mod tests;
mod wire;

pub use call::{Call, CallError};
pub use wire::CallWire;

use super::h2;

/// Why bytes are not a response to a unary call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is not even HTTP/2.
    #[error(transparent)]
    Http2(#[from] h2::Malformed),
    /// Upper case, a byte that may not be there, or a field that HTTP/2 has no use for.
    #[error("a header field's name or value is one that none may have in HTTP/2")]
    Field,
    /// `:status` is what a head has, and trailers have nothing of the kind.
    #[error(
        "a head has other pseudo-header fields than one `:status` before all else, or trailers have any"
    )]
    PseudoField,
    /// Not three digits.
    #[error("`:status` is no number from 100 to 999")]
    Status,
    /// There is no 101 in HTTP/2.
    #[error("status 101, which HTTP/2 does not have")]
    SwitchingProtocols,
    /// 1xx and nothing after it.
    #[error("the response ends with an interim head")]
    OnlyInterim,
    /// A body without a head.
    #[error("the response's body comes before its head")]
    BodyBeforeHead,
    /// A third head, so to speak.
    #[error("the response goes on after its trailers")]
    AfterTrailers,
    /// The flag before a message.
    #[error(
        "a message has the flag {0}, as if it were compressed, though no compression was offered"
    )]
    Compressed(u8),
    /// Shorter than its length says.
    #[error("the response ends in the middle of a message")]
    MessageCut,
    /// A unary call gets a response with one.
    #[error("a unary call gets a response with more than one message")]
    SecondMessage,
    /// OK means that there is one.
    #[error("a unary call gets a response with OK, but without a message")]
    NoMessage,
    /// Not a number.
    #[error("`grpc-status` is not a number")]
    RpcStatus,
    /// Nobody can have read what was not sent.
    #[error("a call gets a response with OK before its message was sent whole")]
    TooEarly,
}
