//! The Date field's value, made anew once a second.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// The length of an IMF-fixdate (RFC 9110, section 5.6.7) in bytes.
pub const LENGTH: usize = 29;

/// The present second as an IMF-fixdate.
#[derive(Debug)]
pub struct Date {
    second: u64,
    text: String,
}

impl Date {
    /// The date at `now`.
    pub fn new(now: SystemTime) -> Self {
        let mut date = Self {
            second: u64::MAX,
            text: String::with_capacity(LENGTH),
        };
        date.refresh(now);
        date
    }

    /// Makes the text anew if the second has changed.
    pub fn refresh(&mut self, now: SystemTime) {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if second == self.second {
            return;
        }
        self.second = second;
        self.text.clear();
        let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
        // Writing to a string fails only where the value itself does, and a date does not.
        let _ = write!(self.text, "{date}");
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_an_imf_fixdate_and_follows_the_clock() {
        let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
        let mut date = Date::new(at(784_111_777_000));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date.as_bytes().len(), LENGTH);
        date.refresh(at(784_111_777_999));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        date.refresh(at(784_111_778_000));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
