//! Unary gRPC calls over HTTP/2, on the client's side (gRPC's PROTOCOL-HTTP2.md).

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
#[expect(missing_docs, reason = "documented by the messages")]
pub enum Malformed {
    #[error(transparent)]
    Http2(#[from] h2::Malformed),
    #[error("a header field has a name or value that HTTP/2 forbids")]
    Field,
    #[error(
        "a head has pseudo-header fields other than one `:status` at the start, or trailers have any"
    )]
    PseudoField,
    #[error("`:status` is not a number from 100 to 999")]
    Status,
    #[error("status 101, which HTTP/2 does not have")]
    SwitchingProtocols,
    #[error("the response ends with an interim head")]
    OnlyInterim,
    #[error("the response's body precedes its head")]
    BodyBeforeHead,
    #[error("the response continues after its trailers")]
    AfterTrailers,
    #[error("a message has the compression flag {0}, although no compression was offered")]
    Compressed(u8),
    #[error("the response ends in the middle of a message")]
    MessageCut,
    #[error("the response to a unary call has more than one message")]
    SecondMessage,
    #[error("the response to a unary call has status OK, but no message")]
    NoMessage,
    #[error("`grpc-status` is not a number")]
    RpcStatus,
    #[error("the response has status OK before the call's message was fully sent")]
    TooEarly,
}
