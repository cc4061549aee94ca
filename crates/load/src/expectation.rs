//! What a user of `prony load` expects of every response.

use crate::difference::same_bytes;
use crate::response::{Mismatch, Response, ResponseCheck};

/// What every expected response has. What is `None` is not looked at; without a status, every 2xx and
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
}
