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
#[expect(missing_docs, reason = "the messages say it")]
pub enum Malformed {
    #[error(transparent)]
    Http2(#[from] h2::Malformed),
    #[error("a header field's name or value is one that none may have in HTTP/2")]
    Field,
    #[error(
        "a head has other pseudo-header fields than one `:status` before all else, or trailers have any"
    )]
    PseudoField,
    #[error("`:status` is no number from 100 to 999")]
    Status,
    #[error("status 101, which HTTP/2 does not have")]
    SwitchingProtocols,
    #[error("the response ends with an interim head")]
    OnlyInterim,
    #[error("the response's body comes before its head")]
    BodyBeforeHead,
    #[error("the response goes on after its trailers")]
    AfterTrailers,
    #[error(
        "a message has the flag {0}, as if it were compressed, though no compression was offered"
    )]
    Compressed(u8),
    #[error("the response ends in the middle of a message")]
    MessageCut,
    #[error("a unary call gets a response with more than one message")]
    SecondMessage,
    #[error("a unary call gets a response with OK, but without a message")]
    NoMessage,
    #[error("`grpc-status` is not a number")]
    RpcStatus,
    #[error("a call gets a response with OK before its message was sent whole")]
    TooEarly,
}
