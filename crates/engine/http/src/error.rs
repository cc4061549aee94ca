//! Error codes, and the errors in frames that break a rule for both sides.

use std::fmt;

use super::{Kind, Setting};

/// Why a stream is reset or the connection ends (section 7); displayed by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

#[expect(missing_docs, reason = "the names are those of RFC 9113, section 7")]
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
const NAMES: [&str; 14] = [
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
        super::display(f, "error code", self.0, 0, &NAMES)
    }
}

/// What is wrong with a frame, whichever side sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The payload is shorter or longer than that type of frame can have.
    Length(Kind),
    /// There is more padding than payload.
    Padding(Kind),
    /// The setting has a value that it cannot have.
    Setting(Setting),
    /// A window is larger than [`MAX_WINDOW`](crate::MAX_WINDOW).
    WindowOverflow,
}

/// The code that the standard demands.
impl From<FrameError> for ErrorCode {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Length(_) => Self::FRAME_SIZE_ERROR,
            FrameError::WindowOverflow | FrameError::Setting(Setting::INITIAL_WINDOW_SIZE) => {
                Self::FLOW_CONTROL_ERROR
            }
            FrameError::Padding(_) | FrameError::Setting(_) => Self::PROTOCOL_ERROR,
        }
    }
}
