//! One whole response, what it means for it to be right, and where it differs from what was expected.

/// The longest body that is kept to be looked at, or sent, in bytes: a body without end must not fill the memory.
pub const LONGEST_BODY: u64 = 64 * 1024 * 1024;

/// One whole response, for looking at: verification and the responses that are sampled during a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header fields in the order they came, names in lower case, values as they came.
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
}

/// What was expected, and what came instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {came}")]
pub struct Mismatch {
    /// What was expected.
    pub expected: String,
    /// What came.
    pub came: String,
}

/// Says whether a response is the right one.
pub trait ResponseCheck: Send + Sync {
    /// `Err` with what differs, where the response is not right.
    fn check(&self, response: &Response) -> Result<(), Mismatch>;

    /// The one status that every expected response has, where there is just one.
    fn status(&self) -> Option<u16> {
        None
    }

    /// Whether it looks at more than the status and the length, which are looked at in every response anyway.
    fn compares(&self) -> bool {
        true
    }

    /// How long a right body can be at most, in bytes: no more of a response is kept to be looked at.
    fn longest_body(&self) -> u64 {
        self.body_length().unwrap_or(LONGEST_BODY)
    }

    /// The one body that every right response has, if there is just one and it is known.
    fn body(&self) -> Option<&[u8]> {
        None
    }

    /// The one length in bytes that every right body has, where there is just one.
    fn body_length(&self) -> Option<u64> {
        self.body().map(|body| body.len() as u64)
    }
}

/// What a user of `prony load` expects of every expected response. What is `None` is not looked at; without a status, every 2xx and
/// 3xx is right.
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
        self.check_status(response.status)?;
        // The body goes first: where it differs says more than that its length does.
        if let Some(body) = &self.body {
            same_bytes(body, &response.body)?;
        }
        match self.length {
            Some(length) if response.body.len() as u64 != length => Err(Mismatch {
                expected: format!("a body of {length} bytes"),
                came: format!("{} bytes", response.body.len()),
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
}

impl Expectation {
    fn check_status(&self, came: u16) -> Result<(), Mismatch> {
        let expected = match self.status {
            Some(status) if came == status => return Ok(()),
            None if (200..400).contains(&came) => return Ok(()),
            Some(status) => format!("status {status}"),
            None => "a status from 200 to 399".to_owned(),
        };
        Err(Mismatch {
            expected,
            came: came.to_string(),
        })
    }
}

/// How much of each is shown, in bytes.
const SHOWN: usize = 40;

/// How much is shown of what is the same before a difference, in bytes.
const SHOWN_BEFORE: usize = 20;

/// # Errors
/// The lengths and the first difference, where they are not the same.
pub fn same_bytes(expected: &[u8], came: &[u8]) -> Result<(), Mismatch> {
    if expected == came {
        return Ok(());
    }
    let at = first_difference(expected, came);
    let said = |bytes: &[u8]| format!("{} bytes, {}", bytes.len(), difference_at(bytes, at));
    Err(Mismatch {
        expected: said(expected),
        came: said(came),
    })
}

/// The index of the first byte that differs; the length of the shorter if the other begins with it.
pub fn first_difference(a: &[u8], b: &[u8]) -> usize {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.unwrap_or(a.len().min(b.len()))
}

/// The bytes from the first one that differs, and if that is late those before it, which are the same in both.
pub fn difference_at(bytes: &[u8], at: usize) -> String {
    let text = format!("at byte {at}: {}", excerpt(bytes, at));
    let before = &bytes[..at.min(bytes.len())];
    // An early difference is found without them.
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

    fn response(status: u16, body: &[u8]) -> Response {
        Response {
            status,
            headers: Vec::new(),
            body: body.to_vec(),
        }
    }

    fn mismatch(expectation: &Expectation, response: &Response) -> String {
        expectation.check(response).unwrap_err().to_string()
    }

    #[test]
    fn nothing_expected_is_any_success() {
        let nothing = Expectation::default();
        assert_eq!((nothing.status(), nothing.body_length()), (None, None));
        for status in [200, 204, 304, 399] {
            assert_eq!(nothing.check(&response(status, b"x")), Ok(()));
        }
        assert_eq!(
            mismatch(&nothing, &response(404, b"")),
            "expected a status from 200 to 399, got 404"
        );
    }

    #[test]
    fn a_status_is_the_only_one() {
        let found = Expectation {
            status: Some(404),
            ..Expectation::default()
        };
        assert_eq!(found.status(), Some(404));
        assert_eq!(found.check(&response(404, b"")), Ok(()));
        assert_eq!(
            mismatch(&found, &response(200, b"")),
            "expected status 404, got 200"
        );
    }

    #[test]
    fn a_length_is_exact() {
        let ten = Expectation {
            length: Some(10),
            ..Expectation::default()
        };
        assert_eq!(ten.body_length(), Some(10));
        assert_eq!(ten.check(&response(200, b"0123456789")), Ok(()));
        assert_eq!(
            mismatch(&ten, &response(200, b"012345678")),
            "expected a body of 10 bytes, got 9 bytes"
        );
    }

    #[test]
    fn a_body_says_where_it_first_differs() {
        let hello = Expectation {
            body: Some(b"hello\n".to_vec()),
            ..Expectation::default()
        };
        assert_eq!(hello.body_length(), Some(6));
        assert_eq!(hello.check(&response(200, b"hello\n")), Ok(()));
        assert_eq!(
            mismatch(&hello, &response(200, b"help!\n")),
            r"expected 6 bytes, at byte 3: `lo\n`, got 6 bytes, at byte 3: `p!\n`"
        );
        assert_eq!(
            mismatch(&hello, &response(200, b"hello")),
            r"expected 6 bytes, at byte 5: `\n`, got 5 bytes, at byte 5: its end"
        );
        assert!(mismatch(&hello, &response(200, b"")).ends_with("got 0 bytes, at byte 0: nothing"));
    }

    #[test]
    fn a_late_difference_is_shown_with_its_place_and_what_is_around_it() {
        let (mut expected, mut came) = (vec![b'a'; 3000], vec![b'a'; 3000]);
        expected[2000] = b'\n';
        came[2000] = b'\r';
        let mismatch = same_bytes(&expected, &came).unwrap_err();
        assert!(
            mismatch
                .came
                .starts_with("3000 bytes, at byte 2000: `\\raaa"),
            "{}",
            mismatch.came
        );
        let after = format!(", after `…{}`", "a".repeat(SHOWN_BEFORE));
        assert!(mismatch.expected.ends_with(&after), "{}", mismatch.expected);
        let short = same_bytes(b"hello", b"hel").unwrap_err();
        assert_eq!(short.expected, "5 bytes, at byte 3: `lo`");
        assert_eq!(short.came, "3 bytes, at byte 3: its end");
    }
}
