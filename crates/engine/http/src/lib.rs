//! What both sides of an HTTP/2 connection (RFC 9113) share: frames, settings, windows to send into, and HPACK.
//!
//! It reads and writes bytes and keeps no connection: what a client or a server makes of a frame is theirs to know.

mod error;
mod frame;
pub mod hpack;
mod settings;
mod window;

pub use error::{ErrorCode, FrameError};
pub use frame::{FRAME_HEADER, Frame, FrameHeader, Kind, MAX_FRAME, encode_header, flag};
pub use settings::{SETTING, Setting, encode_settings, read_settings};
pub use window::{DEFAULT_WINDOW, MAX_WINDOW, SendWindow};

use std::fmt;

/// What a client sends first (section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Displays a number by its name; `names` are those from `first` on.
fn display(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    number: u32,
    first: u32,
    names: &[&str],
) -> fmt::Result {
    let place = number.checked_sub(first).map(|place| place as usize);
    match place.and_then(|place| names.get(place)) {
        Some(name) => f.write_str(name),
        None => write!(f, "{what} {number:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_are_displayed_by_name() {
        assert_eq!(ErrorCode::NO_ERROR.to_string(), "NO_ERROR");
        assert_eq!(ErrorCode::CANCEL.to_string(), "CANCEL");
        assert_eq!(ErrorCode(0xd).to_string(), "HTTP_1_1_REQUIRED");
        assert_eq!(ErrorCode(0xe).to_string(), "error code 0xe");
        assert_eq!(Kind::DATA.to_string(), "DATA");
        assert_eq!(Kind::CONTINUATION.to_string(), "CONTINUATION");
        assert_eq!(Kind(0xa).to_string(), "type 0xa");
        assert_eq!(Setting::HEADER_TABLE_SIZE.to_string(), "HEADER_TABLE_SIZE");
        let last = Setting::MAX_HEADER_LIST_SIZE.to_string();
        assert_eq!(last, "MAX_HEADER_LIST_SIZE");
        assert_eq!(Setting(0).to_string(), "setting 0x0");
    }
}
