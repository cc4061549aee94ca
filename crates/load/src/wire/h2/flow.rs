//! Flow control (RFC 9113, section 5.2): how much each side may send.

use super::Malformed;

/// The largest window.
pub(super) const MAX_WINDOW: u32 = 0x7fff_ffff;
/// The initial size of every window.
pub(super) const DEFAULT_WINDOW: u32 = 65_535;

/// How much may be sent to the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendWindow(i64);

impl SendWindow {
    pub(super) fn new(size: u32) -> Self {
        Self(size.into())
    }

    /// Bytes that may be sent now.
    pub(super) fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// Uses `length` bytes, at most [`SendWindow::room`].
    pub(super) fn take(&mut self, length: usize) {
        self.0 -= length as i64;
    }

    /// Changes it as the server demands. A changed setting may make it negative (section 6.9.2).
    pub(super) fn grow(&mut self, by: i64) -> Result<(), Malformed> {
        self.0 += by;
        if self.0 > MAX_WINDOW.into() {
            return Err(Malformed::WindowOverflow);
        }
        Ok(())
    }
}

/// How much the server may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    left: u32,
}

impl ReceiveWindow {
    /// The size of every window here: a server never waits for it, and it is far enough from the largest that no sum
    /// overflows.
    pub(super) const SIZE: u32 = (1 << 30) - 1;

    pub(super) const FULL: Self = Self { left: Self::SIZE };

    /// Takes `length` received bytes. Returns how much to reopen the window by, if half of it is used.
    pub(super) fn take(&mut self, length: usize) -> Result<Option<u32>, Malformed> {
        self.left = u32::try_from(length)
            .ok()
            .and_then(|length| self.left.checked_sub(length))
            .ok_or(Malformed::WindowExceeded)?;
        let used = Self::SIZE - self.left;
        if used < Self::SIZE / 2 {
            return Ok(None);
        }
        self.left = Self::SIZE;
        Ok(Some(used))
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
        assert_eq!(
            window.grow(MAX_WINDOW.into()),
            Err(Malformed::WindowOverflow)
        );
    }

    #[test]
    fn a_half_used_receive_window_is_reopened() {
        let mut window = ReceiveWindow::FULL;
        let half = (ReceiveWindow::SIZE / 2) as usize;
        assert_eq!(window.take(half - 1), Ok(None));
        assert_eq!(window.take(1), Ok(Some(ReceiveWindow::SIZE / 2)));
        assert_eq!(window.take(half - 1), Ok(None));
        assert_eq!(
            window.take(ReceiveWindow::SIZE as usize),
            Err(Malformed::WindowExceeded)
        );
    }
}
