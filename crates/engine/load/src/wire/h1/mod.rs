//! HTTP/1.1 responses (RFC 9112), as a client reads them.
//!
//! [`ResponseReader`] eats a response in pieces of any size. It parses only the status line and the fields that frame
//! the body; what it need not keep it only counts.

mod chunked;
mod fields;
mod head;
mod keep;
mod lines;
mod response;
mod wire;

pub use fields::Framing;
pub use head::{Head, RequestKind};
pub use keep::{Ignore, Keep};
pub use response::{ReadBytes, ResponseReader};
pub use wire::H1Wire;

use crate::wire::OtherProtocol;

/// Why bytes are not an HTTP/1.1 response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the response does not start with an HTTP/1.0 or HTTP/1.1 status line")]
    StatusLine,
    #[error(transparent)]
    OtherProtocol(#[from] OtherProtocol),
    #[error("a header or trailer line has no name, no colon, or a forbidden byte")]
    HeaderLine,
    #[error("the head is longer than {} KiB", lines::MAX_SECTION / 1024)]
    HeadTooLong,
    #[error("Content-Length is not a number, or has several values")]
    ContentLength,
    #[error(
        "a chunk does not start with its size in hexadecimal, alone on its line or before a semicolon"
    )]
    ChunkSize,
    #[error("a chunk's data is not followed by CR LF: it is shorter or longer than its size says")]
    ChunkEnd,
    #[error("a chunk's size line or the trailer section is too long")]
    ChunkTooLong,
    #[error("status 101, although no other protocol was requested")]
    SwitchingProtocols,
    #[error("there are more bytes than the response has")]
    ExcessBytes,
}
