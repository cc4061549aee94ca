//! Keeps a response while it is read.

use std::ops::Range;

use crate::body_limit::BodyLimit;
use crate::response::{LONGEST_BODY, Response};

/// Keeps a response, with a limited number of body bytes. Its memory can be used again for the next one.
#[derive(Clone, Debug)]
pub struct Collect {
    status: u16,
    is_http10: bool,
    /// The names and values of the header fields, one after the other.
    text: Vec<u8>,
    fields: Vec<KeptField>,
    body: Vec<u8>,
    limit: BodyLimit,
}

/// Where a field is in the text.
#[derive(Clone, Debug)]
struct KeptField {
    name: Range<usize>,
    value: Range<usize>,
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
            status: 0,
            is_http10: false,
            text: Vec::new(),
            fields: Vec::new(),
            body: Vec::new(),
            limit: BodyLimit(longest.min(LONGEST_BODY) as usize),
        }
    }

    /// The status; 0 until the head has arrived.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the response says HTTP/1.0.
    pub(crate) fn is_http10(&self) -> bool {
        self.is_http10
    }

    /// The header fields in the order received: names in lower case, values unchanged.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| {
            (
                &self.text[field.name.clone()],
                &self.text[field.value.clone()],
            )
        })
    }

    /// The body, as far as it is kept.
    pub fn kept_body(&self) -> &[u8] {
        &self.body
    }

    /// Whether the body was too long to be kept whole.
    pub fn is_cut(&self) -> bool {
        self.body.len() > self.limit.0
    }

    /// Forgets the response, but not the memory, and keeps the next body up to `longest` bytes.
    pub fn restart(&mut self, longest: u64) {
        self.begin_head(0);
        self.body.clear();
        self.limit = BodyLimit(longest.min(LONGEST_BODY) as usize);
    }

    /// The response, once it is whole.
    pub fn into_response(self) -> Response {
        let field = |(name, value): (&[u8], &[u8])| {
            (String::from_utf8_lossy(name).into_owned(), value.to_vec())
        };
        Response {
            status: self.status,
            headers: self.fields().map(field).collect(),
            body: self.body,
        }
    }

    /// Keeps the head of a response, which has these fields so far: none.
    pub fn begin_head(&mut self, status: u16) {
        (self.status, self.is_http10) = (status, false);
        self.text.clear();
        self.fields.clear();
    }

    /// Remembers that the response says HTTP/1.0.
    pub fn set_http10(&mut self) {
        self.is_http10 = true;
    }

    /// Keeps one more field, such as a trailer.
    pub fn add_field(&mut self, name: &[u8], value: &[u8]) {
        let name_at = self.text.len();
        self.text.extend_from_slice(name);
        let value_at = self.text.len();
        self.text[name_at..].make_ascii_lowercase();
        self.text.extend_from_slice(value);
        self.fields.push(KeptField {
            name: name_at..value_at,
            value: value_at..self.text.len(),
        });
    }

    /// Continues the last field. A fold counts as one space (RFC 9112, section 5.2).
    pub fn continue_field(&mut self, line: &[u8]) {
        let Some(KeptField { value, .. }) = self.fields.last_mut() else {
            return;
        };
        if value.start < value.end && !line.is_empty() {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(line);
        value.end = self.text.len();
    }

    /// Keeps the next piece of the body, its transfer coding removed.
    #[inline]
    pub fn add_body(&mut self, bytes: &[u8]) {
        self.limit.add(&mut self.body, bytes);
    }
}
