//! Flow control (RFC 9113, section 5.2): how much the server may send.

use super::Malformed;

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
