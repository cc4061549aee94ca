//! HTTP/1.1 responses (RFC 9112), as a client reads them.
//!
//! [`ResponseReader`] eats a response in pieces of any size. It looks at the status line and at the
//! fields that frame the body, and at nothing else; what it is not asked to keep it only counts.

mod chunked;
mod collect;
mod fields;
mod head;
mod lines;
mod response;
mod wire;

pub use collect::{Collect, Ignore, Keep};
pub use fields::Framing;
pub use head::{Head, RequestKind};
pub use response::ResponseReader;
pub use wire::H1Wire;

/// Why bytes are not an HTTP/1.1 response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first line is not a status line.
    #[error("the response does not begin with an HTTP/1.0 or HTTP/1.1 status line")]
    StatusLine,
    /// A line of the head or of the trailers is no field.
    #[error("a header or trailer line has no name, no colon, or a forbidden byte")]
    HeaderLine,
    /// The head does not end.
    #[error("the head is longer than {} KiB", lines::MAX_SECTION / 1024)]
    HeadTooLong,
    /// Content-Length is not one number.
    #[error("Content-Length is not a number, or has several values")]
    ContentLength,
    /// A chunk's size line is not a hexadecimal number, perhaps with extensions, and CR LF.
    #[error(
        "a chunk does not begin with its size in hexadecimal, alone on its line or before a semicolon"
    )]
    ChunkSize,
    /// A chunk's data is not followed by CR LF.
    #[error("a chunk's data is not followed by CR LF: it is shorter or longer than its size says")]
    ChunkEnd,
    /// A chunk's size line or the trailers do not end.
    #[error("a chunk's size line or the trailer section is too long")]
    ChunkTooLong,
    /// 101 to a request that asked for no other protocol.
    #[error("status 101, though no other protocol was asked for")]
    SwitchingProtocols,
    /// Bytes came that belong to no response.
    #[error("more bytes came than the response has")]
    ExcessBytes,
}
