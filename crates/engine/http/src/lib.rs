//! What both sides of an HTTP/2 connection (RFC 9113) share: frames, settings, windows to send into, and HPACK.
//!
//! It reads and writes bytes and keeps no connection: what a client or a server makes of a frame is theirs to know.

mod error;
mod frame;
pub mod hpack;
mod number;
mod settings;
mod window;

pub use error::FrameError;
pub use frame::{FRAME_HEADER, Frame, FrameHeader, MAX_FRAME, encode_header, flag};
pub use number::{ErrorCode, Kind, Setting};
pub use settings::{SETTING, encode_settings, read_settings};
pub use window::{DEFAULT_WINDOW, MAX_WINDOW, SendWindow};

/// What a client sends first (section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
