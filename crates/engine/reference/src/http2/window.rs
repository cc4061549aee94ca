//! Flow control (RFC 9113, section 5.2): how much the client may send.

use prony_http::ErrorCode;

/// How much the client may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    size: u32,
    left: u32,
}

impl ReceiveWindow {
    pub(super) fn new(size: u32) -> Self {
        Self { size, left: size }
    }

    /// These bytes were received.
    pub(super) fn take(&mut self, length: usize) -> Result<(), ErrorCode> {
        let left = u32::try_from(length)
            .ok()
            .and_then(|length| self.left.checked_sub(length));
        self.left = left.ok_or(ErrorCode::FLOW_CONTROL_ERROR)?;
        Ok(())
    }

    /// By how much to open it again, once half of it is used.
    pub(super) fn refill(&mut self) -> Option<u32> {
        let used = self.size - self.left;
        let is_due = used > self.size / 2;
        is_due.then(|| {
            self.left = self.size;
            used
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_window_is_refilled_when_half_is_used() {
        let mut window = ReceiveWindow::new(100);
        window.take(50).unwrap();
        assert_eq!(window.refill(), None);
        window.take(1).unwrap();
        assert_eq!(window.refill(), Some(51));
        assert_eq!(window.refill(), None);
        window.take(100).unwrap();
        assert_eq!(window.take(1), Err(ErrorCode::FLOW_CONTROL_ERROR));
    }
}
