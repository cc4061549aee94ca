//! Flow control (RFC 9113, section 5.2): how much may be sent.

use super::FrameError;

/// The largest window, in bytes.
pub const MAX_WINDOW: u32 = 0x7fff_ffff;
/// The initial size of every window, in bytes.
pub const DEFAULT_WINDOW: u32 = 65_535;

/// How much may be sent to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendWindow(i64);

impl SendWindow {
    #[inline]
    pub fn new(size: u32) -> Self {
        Self(size.into())
    }

    /// Bytes that may be sent now.
    #[inline]
    pub fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// Uses `length` bytes, at most [`SendWindow::room`].
    #[inline]
    pub fn take(&mut self, length: usize) {
        self.0 -= length as i64;
    }

    /// Changes it as the other side demands. A changed setting may make it negative (section 6.9.2).
    #[inline]
    pub fn grow(&mut self, by: i64) -> Result<(), FrameError> {
        self.0 += by;
        if self.0 > MAX_WINDOW.into() {
            return Err(FrameError::WindowOverflow);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_window_may_be_negative_but_not_too_large() {
        let mut window = SendWindow::new(DEFAULT_WINDOW);
        window.take(60_000);
        window.grow(-65_535).unwrap();
        assert_eq!(window.room(), 0);
        window.grow(60_001).unwrap();
        assert_eq!(window.room(), 1);
        let largest = i64::from(MAX_WINDOW) - 1;
        assert_eq!(window.grow(largest), Ok(()));
        assert_eq!(window.grow(1), Err(FrameError::WindowOverflow));
    }
}
