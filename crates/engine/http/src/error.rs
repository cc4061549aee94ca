//! Errors in frames that break a rule for both sides.

use super::{ErrorCode, Kind, Setting};

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
