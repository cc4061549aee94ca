//! One whole response, and what it means for it to be right.

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
