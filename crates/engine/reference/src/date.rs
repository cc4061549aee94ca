//! The date of responses.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// The value of the Date field, an IMF-fixdate (RFC 9110, section 5.6.7), updated once a second.
#[derive(Debug)]
pub(crate) struct Date {
    second: u64,
    text: String,
}

impl Date {
    /// The date at `now`.
    pub(crate) fn new(now: SystemTime) -> Self {
        let mut date = Self {
            second: u64::MAX,
            text: String::new(),
        };
        date.refresh(now);
        date
    }

    /// Updates the text if the second has changed.
    pub(crate) fn refresh(&mut self, now: SystemTime) {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if second == self.second {
            return;
        }
        self.second = second;
        self.text.clear();
        let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
        // Writing to a string does not fail.
        let _ = write!(self.text, "{date}");
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_an_imf_fixdate_and_follows_the_clock() {
        let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
        let mut date = Date::new(at(784_111_777_000));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        date.refresh(at(784_111_777_999));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        date.refresh(at(784_111_778_000));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
