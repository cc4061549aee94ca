//! Why bytes are not what an HTTP/2 server may send.

use prony_http::hpack::HpackError;
use prony_http::{FrameError, Kind, MAX_FRAME, Setting};

use crate::wire::OtherProtocol;

/// The longest header block in bytes, including the headers of its frames, so that endless empty frames are too long as
/// well.
pub const MAX_BLOCK: usize = 64 * 1024;

/// Why bytes are not what an HTTP/2 server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the server did not start with a SETTINGS frame: it may not support HTTP/2")]
    NotHttp2,
    #[error(transparent)]
    OtherProtocol(#[from] OtherProtocol),
    #[error("a frame has {0} bytes, but at most {MAX_FRAME} are allowed")]
    FrameTooLong(usize),
    #[error("a {0} frame has an invalid length")]
    FrameLength(Kind),
    #[error("a {0} frame has more padding than payload")]
    Padding(Kind),
    #[error("a {0} frame belongs to no stream")]
    NoStream(Kind),
    #[error("a {0} frame is on a stream, although it applies to the whole connection")]
    OnStream(Kind),
    #[error("a {0} frame is on a stream that was never opened")]
    IdleStream(Kind),
    #[error("a {0} frame is on a stream that has ended")]
    ClosedStream(Kind),
    #[error("another frame interrupts a header block")]
    BlockInterrupted,
    #[error("a CONTINUATION frame follows no header block")]
    ContinuesNothing,
    #[error("a header block is longer than {} KiB", MAX_BLOCK / 1024)]
    BlockTooLong,
    #[error(transparent)]
    Hpack(#[from] HpackError),
    #[error("the server pushes, although push is disabled")]
    Push,
    #[error("the server gives the setting {0} an invalid value")]
    Setting(Setting),
    #[error("a WINDOW_UPDATE frame has an increment of 0")]
    WindowUpdateZero,
    #[error("the server makes a flow-control window larger than 2^31-1 bytes")]
    WindowOverflow,
    #[error("the server sends more data than the flow-control window allows")]
    WindowExceeded,
    #[error("the server sends PING or SETTINGS frames but does not read the acknowledgements")]
    ResponsesUnread,
    #[error("the server floods the connection with frames that bring no response")]
    Flood,
    #[error("a header field has a name or value that HTTP/2 forbids")]
    Field,
    #[error(
        "a head has pseudo-header fields other than one `:status` at the start, or trailers have any"
    )]
    PseudoField,
    #[error("`:status` is not a number from 100 to 999")]
    Status,
    #[error("`content-length` is not a number, or has several values")]
    ContentLength,
    #[error("the body is longer or shorter than its `content-length`")]
    BodyLength,
    #[error("the response has a body, although its status or the request's method forbids one")]
    BodyNotAllowed,
    #[error("the response has status 101, which HTTP/2 forbids")]
    SwitchingProtocols,
    #[error("the response ends with an interim (1xx) head")]
    OnlyInterim,
    #[error("the response's body precedes its head")]
    BodyBeforeHead,
    #[error("the response continues after its trailers")]
    AfterTrailers,
}

impl From<FrameError> for Malformed {
    #[cold]
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Length(kind) => Self::FrameLength(kind),
            FrameError::Padding(kind) => Self::Padding(kind),
            FrameError::Setting(setting) => Self::Setting(setting),
            FrameError::WindowOverflow => Self::WindowOverflow,
        }
    }
}
