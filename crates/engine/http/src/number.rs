//! Numbers of the standard that have names: types of frames, settings and error codes.

use std::fmt;

/// The type of a frame; displayed by its name. Unknown ones are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u8);
impl Kind {
    pub const DATA: Self = Self(0x0);
    pub const HEADERS: Self = Self(0x1);
    pub const PRIORITY: Self = Self(0x2);
    pub const RST_STREAM: Self = Self(0x3);
    pub const SETTINGS: Self = Self(0x4);
    pub const PUSH_PROMISE: Self = Self(0x5);
    pub const PING: Self = Self(0x6);
    pub const GOAWAY: Self = Self(0x7);
    pub const WINDOW_UPDATE: Self = Self(0x8);
    pub const CONTINUATION: Self = Self(0x9);
}

/// By number, from 0 on.
const KINDS: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, "type", self.0.into(), 0, &KINDS)
    }
}

/// The number of a setting; displayed by its name. Unknown ones are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting(pub u16);
impl Setting {
    pub const HEADER_TABLE_SIZE: Self = Self(0x1);
    pub const ENABLE_PUSH: Self = Self(0x2);
    pub const MAX_CONCURRENT_STREAMS: Self = Self(0x3);
    pub const INITIAL_WINDOW_SIZE: Self = Self(0x4);
    pub const MAX_FRAME_SIZE: Self = Self(0x5);
    pub const MAX_HEADER_LIST_SIZE: Self = Self(0x6);
}

/// By number, from 1 on.
const SETTINGS: [&str; 6] = [
    "HEADER_TABLE_SIZE",
    "ENABLE_PUSH",
    "MAX_CONCURRENT_STREAMS",
    "INITIAL_WINDOW_SIZE",
    "MAX_FRAME_SIZE",
    "MAX_HEADER_LIST_SIZE",
];

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, "setting", self.0.into(), 1, &SETTINGS)
    }
}

/// Why a stream is reset or the connection ends (section 7); displayed by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub u32);
impl ErrorCode {
    pub const NO_ERROR: Self = Self(0x0);
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    pub const INTERNAL_ERROR: Self = Self(0x2);
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    pub const STREAM_CLOSED: Self = Self(0x5);
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    pub const REFUSED_STREAM: Self = Self(0x7);
    pub const CANCEL: Self = Self(0x8);
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
}

/// By number, from 0 on.
const ERROR_CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, "error code", self.0, 0, &ERROR_CODES)
    }
}

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
