//! One whole response, and where it differs from the expected one.

use serde::{Deserialize, Serialize};

use crate::base64::Base64;
use crate::document::{NotPortable, Portable, RebuildError};

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
    pub(crate) fn status_and_line(&self) -> String {
        let status = self.status;
        let mut lines = self
            .body
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii);
        let line = lines.find(|line| !line.is_empty());
        // What is encoded is no text.
        match line.filter(|_| self.header("content-encoding").is_none()) {
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
    /// What was expected.
    pub expected: String,
    /// What was received.
    pub received: String,
}

/// Compares responses with the expected one.
pub trait ResponseCheck: Send + Sync {
    /// `Err` with the difference, if there is one.
    fn check(&self, response: &Response) -> Result<(), Mismatch>;

    /// The status of every expected response, if there is only one.
    fn status(&self) -> Option<u16> {
        None
    }

    /// The statuses of expected responses; if there are none, every 2xx and 3xx is accepted.
    fn statuses(&self) -> Vec<u16> {
        self.status().into_iter().collect()
    }

    /// Whether [`check`](Self::check) compares more than the status and the length, which are always checked.
    fn compares(&self) -> bool {
        true
    }

    /// The longest expected body, in bytes: no more of a response is kept.
    fn longest_body(&self) -> u64 {
        self.body_length().unwrap_or(LONGEST_BODY)
    }

    /// The body of every expected response, if there is only one and it is known.
    fn body(&self) -> Option<&[u8]> {
        None
    }

    /// The body length of every expected response in bytes, if there is only one.
    fn body_length(&self) -> Option<u64> {
        self.body().map(|body| body.len() as u64)
    }

    /// The check as data, which [`Rebuild`](crate::Rebuild) knows.
    ///
    /// # Errors
    ///
    /// If it cannot leave this process.
    fn portable(&self) -> Result<Portable, NotPortable> {
        Err(NotPortable("this expected response"))
    }
}

/// What a user of `prony load` expects of every response. A `None` is not checked; without a status, every 2xx and 3xx
/// is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The status code.
    pub status: Option<u16>,
    /// The length of the body in bytes, its transfer coding removed.
    pub length: Option<u64>,
    /// The whole body.
    pub body: Option<Vec<u8>>,
}

impl ResponseCheck for Expectation {
    fn check(&self, response: &Response) -> Result<(), Mismatch> {
        self.check_status(response)?;
        // The body goes first: where it differs says more than its length.
        if let Some(body) = &self.body {
            same_bytes(body, &response.body)?;
        }
        match self.length {
            Some(length) if response.body.len() as u64 != length => Err(Mismatch {
                expected: format!("a body of {length} bytes"),
                received: format!("{} bytes", response.body.len()),
            }),
            _ => Ok(()),
        }
    }

    fn status(&self) -> Option<u16> {
        self.status
    }

    fn compares(&self) -> bool {
        self.body.is_some()
    }

    fn body(&self) -> Option<&[u8]> {
        self.body.as_deref()
    }

    fn body_length(&self) -> Option<u64> {
        let of_body = || self.body.as_ref().map(|body| body.len() as u64);
        self.length.or_else(of_body)
    }

    fn portable(&self) -> Result<Portable, NotPortable> {
        let Self {
            status,
            length,
            body,
        } = self.clone();
        let body = body.map(Base64);
        let content = ExpectationContent {
            status,
            length,
            body,
        };
        Portable::new(Self::KIND, &content)
    }
}

/// An expectation as data.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectationContent {
    #[serde(deserialize_with = "Option::deserialize")]
    status: Option<u16>,
    #[serde(deserialize_with = "Option::deserialize")]
    length: Option<u64>,
    #[serde(deserialize_with = "Option::deserialize")]
    body: Option<Base64>,
}

impl Expectation {
    /// The kind of its [`Portable`].
    pub const KIND: &str = "expectation";

    /// Rebuilds it.
    ///
    /// # Errors
    ///
    /// If the content is not that of an expectation.
    pub fn rebuild(portable: &Portable) -> Result<Self, RebuildError> {
        let ExpectationContent {
            status,
            length,
            body,
        } = portable.read()?;
        Ok(Self {
            status,
            length,
            body: body.map(|body| body.0),
        })
    }

    fn check_status(&self, response: &Response) -> Result<(), Mismatch> {
        let actual = response.status;
        let expected = match self.status {
            Some(status) if actual == status => return Ok(()),
            None if (200..400).contains(&actual) => return Ok(()),
            Some(status) => format!("status {status}"),
            None => "a status from 200 to 399".to_owned(),
        };
        Err(Mismatch {
            expected,
            received: response.status_and_line(),
        })
    }
}

/// The most bytes of a body that are kept to show its first line.
pub(crate) const LONGEST_LINE: u64 = 1000;

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
pub fn first_difference(a: &[u8], b: &[u8]) -> usize {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.unwrap_or(a.len().min(b.len()))
}

/// Shows the bytes from the first difference, and if that is far from the start the equal ones before it.
pub fn difference_at(bytes: &[u8], at: usize) -> String {
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
    use prony_testkit::table::rows;

    use super::*;

    /// The expected status, length and body, then those of the response, and the mismatch.
    const CASES: &str = r#"
        - | - | - | 200 | x | ok
        - | - | - | 204 | x | ok
        - | - | - | 304 | x | ok
        - | - | - | 399 | x | ok
        - | - | - | 404 | "" | expected a status from 200 to 399, got 404
        404 | - | - | 404 | "" | ok
        404 | - | - | 200 | "" | expected status 404, got 200
        - | 10 | - | 200 | 0123456789 | ok
        - | 10 | - | 200 | 012345678 | expected a body of 10 bytes, got 9 bytes
        - | - | hello\n | 200 | hello\n | ok
        - | - | hello\n | 200 | help!\n | expected 6 bytes, at byte 3: `lo\\n`, got 6 bytes, at byte 3: `p!\\n`
        - | - | hello\n | 200 | hello | expected 6 bytes, at byte 5: `\\n`, got 5 bytes, at byte 5: its end
        - | - | hello\n | 200 | "" | expected 6 bytes, at byte 0: `hello\\n`, got 0 bytes, at byte 0: nothing
    "#;

    #[test]
    fn a_response_is_as_expected_or_the_difference_is_named() {
        for [status, length, body, got, got_body, mismatch] in rows(CASES) {
            let expectation = Expectation {
                status: status.parse().ok(),
                length: length.parse().ok(),
                body: (body != "-").then(|| body.into()),
            };
            assert_eq!(expectation.status(), expectation.status);
            let known = expectation.body.as_ref().map(|body| body.len() as u64);
            assert_eq!(expectation.body_length(), expectation.length.or(known));
            let response = Response {
                status: got.parse().unwrap(),
                body: got_body.into(),
                ..Response::default()
            };
            let checked = expectation.check(&response);
            let checked = checked.map_or_else(|mismatch| mismatch.to_string(), |()| "ok".into());
            assert_eq!(checked, mismatch);
        }
    }

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
