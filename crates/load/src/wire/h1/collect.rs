//! Keeps a response while it is read.

use super::fields::{FieldLine, trim};
use super::head::status_line;
use super::lines::Lines;
use crate::response::{LONGEST_BODY, Response};
use crate::wire::body_limit::BodyLimit;

/// What to do with the parts of a response as they are read.
pub trait Keep {
    /// Takes the final head as received, with its empty line.
    fn head(&mut self, bytes: &[u8]);
    /// Takes a piece of the body, its transfer coding removed.
    fn body(&mut self, bytes: &[u8]);
}

/// Keeps nothing.
pub struct Ignore;

impl Keep for Ignore {
    fn head(&mut self, _: &[u8]) {}
    fn body(&mut self, _: &[u8]) {}
}

/// Keeps a [`Response`], with a limited number of body bytes.
#[derive(Clone, Debug)]
pub struct Collect {
    response: Response,
    limit: BodyLimit,
}

impl Default for Collect {
    /// Keeps a body up to the overall limit.
    fn default() -> Self {
        Self::of_bodies_up_to(LONGEST_BODY)
    }
}

impl Collect {
    /// Keeps a body of up to `longest` bytes, and shows that a longer one is longer.
    pub fn of_bodies_up_to(longest: u64) -> Self {
        Self {
            response: Response::default(),
            limit: BodyLimit(longest.min(LONGEST_BODY) as usize),
        }
    }

    /// The response, once it is whole.
    pub fn into_response(self) -> Response {
        self.response
    }

    /// Keeps the head of a response whose wire has no textual head.
    pub fn set_head(&mut self, status: u16, headers: Vec<(String, Vec<u8>)>) {
        self.response.status = status;
        self.response.headers = headers;
    }

    /// Keeps one more field, such as a trailer.
    pub fn add_header(&mut self, name: String, value: Vec<u8>) {
        self.response.headers.push((name, value));
    }

    fn take_line(&mut self, line: &[u8]) {
        match FieldLine::read(line, true) {
            Ok(FieldLine::Begins { name, value_at }) => {
                let name = String::from_utf8_lossy(name).to_ascii_lowercase();
                self.add_header(name, trim(&line[value_at..]).to_vec());
            }
            Ok(FieldLine::Continues) => {
                if let Some((_, value)) = self.response.headers.last_mut() {
                    unfold(value, trim(line));
                }
            }
            // The reader accepts no head with such a line.
            Err(_) => {}
        }
    }
}

/// A fold counts as one space (RFC 9112, section 5.2).
fn unfold(value: &mut Vec<u8>, line: &[u8]) {
    if !value.is_empty() && !line.is_empty() {
        value.push(b' ');
    }
    value.extend_from_slice(line);
}

impl Keep for Collect {
    fn head(&mut self, bytes: &[u8]) {
        let mut lines = Lines::default();
        let first = lines.next(bytes).map(|line| status_line(&bytes[line]));
        self.response.status = match first {
            Some(Ok((_, status))) => status,
            _ => 0,
        };
        self.response.headers.clear();
        while let Some(line) = lines.next(bytes).filter(|line| !line.is_empty()) {
            self.take_line(&bytes[line]);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        self.limit.add(&mut self.response.body, bytes);
    }
}
