//! HTTP/2 (RFC 9113) for a client with prior knowledge.
//!
//! A [`FrameReader`] splits the bytes of a connection, and [`Connection`] turns its frames into [`StreamEvent`]s and
//! sends by itself what the protocol needs. It carries one stream at a time.

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
#[expect(missing_docs, reason = "documented by the messages")]
pub enum Malformed {
    #[error("the server did not start with a SETTINGS frame: it may not support HTTP/2")]
    NotHttp2,
    #[error("a frame has {0} bytes, but at most {MAX_FRAME} are allowed")]
    FrameTooLong(usize),
    #[error("a {0} frame has an invalid length")]
    FrameLength(Kind),
    #[error("a {0} frame has more padding than payload")]
    Padding(Kind),
    #[error("a {0} frame is on no stream")]
    NoStream(Kind),
    #[error("a {0} frame is on a stream, although it concerns the connection")]
    OnStream(Kind),
    #[error("a {0} frame is on a stream that was never opened")]
    IdleStream(Kind),
    #[error("a {0} frame is on a stream that has ended")]
    ClosedStream(Kind),
    #[error("another frame interrupts a header block")]
    BlockInterrupted,
    #[error("a CONTINUATION frame continues nothing")]
    ContinuesNothing,
    #[error("a header block is longer than {} KiB", MAX_BLOCK / 1024)]
    BlockTooLong,
    #[error(transparent)]
    Hpack(#[from] HpackError),
    #[error("the server pushes, although push is disabled")]
    Push,
    #[error("the server gives the setting {0} an invalid value")]
    Setting(&'static str),
    #[error("a WINDOW_UPDATE frame adds nothing")]
    WindowUpdateZero,
    #[error("the server makes a flow-control window larger than 2^31-1 bytes")]
    WindowOverflow,
    #[error("the server sends more data than the flow-control window allows")]
    WindowExceeded,
    #[error("the server sends PING or SETTINGS frames but does not read the acknowledgements")]
    ResponsesUnread,
}
