//! HTTP/2 (RFC 9113), as a client that speaks it from the first byte.
//!
//! A [`FrameReader`] cuts the bytes of a connection, and [`Connection`] turns its frames into [`StreamEvent`]s and responses
//! by itself what the protocol wants to get a response. It carries one stream at a time.

mod connection;
mod flow;
mod frame;
mod header_block;
pub mod hpack;
mod outgoing;
mod settings;
#[cfg(test)]
pub(super) mod tests;

pub use connection::{Connection, StreamEvent};
pub use frame::{ErrorCode, Frame, FrameReader, Kind, MAX_FRAME};
pub use header_block::MAX_BLOCK;

use hpack::HpackError;

/// Why bytes are not what an HTTP/2 server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first frame is something else, or no frame at all.
    #[error("what the server sent does not begin with a SETTINGS frame: it may not speak HTTP/2")]
    NotHttp2,
    /// Longer than was allowed.
    #[error("a frame of {0} bytes, though at most {MAX_FRAME} are allowed")]
    FrameTooLong(usize),
    /// A length that frames of this kind must not have.
    #[error("a {0} frame has a length that none may have")]
    FrameLength(Kind),
    /// More padding than frame.
    #[error("a {0} frame has more padding than it is long")]
    Padding(Kind),
    /// Stream 0, though the frame is about a stream.
    #[error("a {0} frame is on no stream")]
    NoStream(Kind),
    /// A stream, though the frame is about the connection.
    #[error("a {0} frame is on a stream, though it concerns the connection")]
    OnStream(Kind),
    /// A stream that was never opened.
    #[error("a {0} frame is on a stream that was never opened")]
    IdleStream(Kind),
    /// A stream that the server has ended before.
    #[error("a {0} frame is on a stream that has ended")]
    ClosedStream(Kind),
    /// Only CONTINUATION may come between the parts of a header block.
    #[error("another frame interrupts a header block")]
    BlockInterrupted,
    /// CONTINUATION out of place.
    #[error("a CONTINUATION frame continues nothing")]
    ContinuesNothing,
    /// The header block does not end.
    #[error("a header block is longer than {} KiB", MAX_BLOCK / 1024)]
    BlockTooLong,
    /// The header block cannot be decoded.
    #[error(transparent)]
    Hpack(#[from] HpackError),
    /// A push, which was forbidden.
    #[error("the server pushes, though it was told not to")]
    Push,
    /// A setting out of its range.
    #[error("the server gives the setting {0} a value that it must not have")]
    Setting(&'static str),
    /// WINDOW_UPDATE by 0.
    #[error("a WINDOW_UPDATE frame adds nothing")]
    WindowUpdateZero,
    /// A window larger than there may be.
    #[error("the server makes a flow-control window larger than 2^31-1 bytes")]
    WindowOverflow,
    /// More data than there was room for.
    #[error("the server sends more data than the flow-control window lets it")]
    WindowExceeded,
    /// Frames that must get a response come faster than their responses go.
    #[error("the server sends PING or SETTINGS frames and does not read what responds them")]
    ResponsesUnread,
}
