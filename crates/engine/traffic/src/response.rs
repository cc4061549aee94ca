//! One whole response, and where it differs from the expected one.

/// The longest body, in bytes, that is kept for comparison or sent: an endless body must not fill the memory.
pub const LONGEST_BODY: u64 = 64 * 1024 * 1024;

/// One whole response, from verification or sampled during a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header fields in the order received: names in lower case, values unchanged.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, its transfer coding removed.
    pub body: Vec<u8>,
}

impl Response {
    /// The first field of that name (given in lower case), as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field == name)
            .and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The status, and the first line of the body that is not blank, which mostly says why: `401: no token`.
    pub fn status_and_line(&self) -> String {
        // What is encoded is no text.
        let is_text = self.header("content-encoding").is_none();
        self.status_and_line_of(if is_text { &self.body } else { b"" })
    }

    /// The same with its body without codings.
    pub(crate) fn status_and_line_of(&self, body: &[u8]) -> String {
        let status = self.status;
        let mut lines = body.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        match lines.find(|line| !line.is_empty()) {
            None => status.to_string(),
            Some(line) => {
                let text = String::from_utf8_lossy(line);
                let end = if text.chars().nth(SHOWN_OF_LINE).is_some() {
                    "…"
                } else {
                    ""
                };
                let blank = |c: char| if c.is_control() { ' ' } else { c };
                let shown: String = text.chars().take(SHOWN_OF_LINE).map(blank).collect();
                format!("{status}: {shown}{end}")
            }
        }
    }
}

/// What was expected, and what was received instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {received}")]
pub struct Mismatch {
    pub expected: String,
    pub received: String,
}

/// The most bytes of a body that are kept to show its first line.
pub const LONGEST_LINE: u64 = 1000;

/// The most characters of a first line that are shown.
const SHOWN_OF_LINE: usize = 160;

/// The most bytes to show of each side.
const SHOWN: usize = 40;

/// The most equal bytes to show before a difference.
const SHOWN_BEFORE: usize = 20;

/// # Errors
///
/// If they differ: the lengths and the first difference.
pub fn same_bytes(expected: &[u8], actual: &[u8]) -> Result<(), Mismatch> {
    if expected == actual {
        return Ok(());
    }
    let at = first_difference(expected, actual);
    let describe = |bytes: &[u8]| format!("{} bytes, {}", bytes.len(), difference_at(bytes, at));
    Err(Mismatch {
        expected: describe(expected),
        received: describe(actual),
    })
}

/// The index of the first byte that differs; the length of the shorter if the other starts with it.
pub(crate) fn first_difference(a: &[u8], b: &[u8]) -> usize {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.unwrap_or(a.len().min(b.len()))
}

/// Shows the bytes from the first difference, and if that is far from the start the equal ones before it.
pub(crate) fn difference_at(bytes: &[u8], at: usize) -> String {
    let text = format!("at byte {at}: {}", excerpt(bytes, at));
    let before = &bytes[..at.min(bytes.len())];
    // A difference near the start is easy to find without them.
    match before.len().checked_sub(SHOWN_BEFORE) {
        None => text,
        Some(from) => format!("{text}, after `…{}`", before[from..].escape_ascii()),
    }
}

/// The bytes from `at`, shortened.
pub fn excerpt(bytes: &[u8], at: usize) -> String {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.len() {
        0 if at == 0 => "nothing".to_owned(),
        0 => "its end".to_owned(),
        1..=SHOWN => format!("`{}`", rest.escape_ascii()),
        _ => format!("`{}…`", rest[..SHOWN].escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_difference_is_shown_with_its_position_and_context() {
        let (mut expected, mut actual) = (vec![b'a'; 3000], vec![b'a'; 3000]);
        expected[2000] = b'\n';
        actual[2000] = b'\r';
        let mismatch = same_bytes(&expected, &actual).unwrap_err();
        assert!(
            mismatch
                .received
                .starts_with("3000 bytes, at byte 2000: `\\raaa"),
            "{}",
            mismatch.received
        );
        let after = format!(", after `…{}`", "a".repeat(SHOWN_BEFORE));
        assert!(mismatch.expected.ends_with(&after), "{}", mismatch.expected);
        let short = same_bytes(b"hello", b"hel").unwrap_err();
        assert_eq!(short.expected, "5 bytes, at byte 3: `lo`");
        assert_eq!(short.received, "3 bytes, at byte 3: its end");
    }
}
