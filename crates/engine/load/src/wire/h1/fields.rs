//! Field lines (RFC 9112, section 5), and the fields that frame a body.

use std::ops::Range;

use memchr::{memchr, memchr2};

use super::Malformed;
use crate::wire::decimal::decimal;

/// A line of a field section.
pub(super) enum FieldLine<'a> {
    /// Starts a field.
    Begins {
        name: &'a [u8],
        /// Where its value begins in the line.
        value_at: usize,
    },
    /// Continues the value of the previous field (`obs-fold`).
    Continues,
}

impl FieldLine<'_> {
    /// Reads a line that is not empty; `in_field` says whether a field precedes it.
    #[inline]
    pub(super) fn read(line: &[u8], in_field: bool) -> Result<FieldLine<'_>, Malformed> {
        if has_forbidden_byte(line) {
            return Err(Malformed::HeaderLine);
        }
        if let [b' ' | b'\t', ..] = line {
            return if in_field {
                Ok(FieldLine::Continues)
            } else {
                Err(Malformed::HeaderLine)
            };
        }
        let colon = memchr(b':', line).ok_or(Malformed::HeaderLine)?;
        let name = &line[..colon];
        if name.is_empty() || !name.iter().copied().all(is_token_byte) {
            return Err(Malformed::HeaderLine);
        }
        Ok(FieldLine::Begins {
            name,
            value_at: colon + 1,
        })
    }
}

/// Whether a line contains a byte that must not be accepted as text: NUL, or a CR that ends no line.
#[inline]
pub(super) fn has_forbidden_byte(line: &[u8]) -> bool {
    memchr2(b'\r', 0, line).is_some()
}

/// How to find the end of a body (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After this many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// When the server closes the connection.
    UntilClose,
}

/// A field that says how the body ends or whether the connection stays open.
#[derive(Clone, Copy, Debug)]
enum FramingField {
    Connection,
    ContentLength,
    TransferEncoding,
}

impl FramingField {
    /// The length of the name rules out nearly every field that does not matter.
    #[inline]
    fn named(name: &[u8]) -> Option<Self> {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => Some(Self::Connection),
            14 if name.eq_ignore_ascii_case(b"content-length") => Some(Self::ContentLength),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => Some(Self::TransferEncoding),
            _ => None,
        }
    }
}

/// What the fields of a head, as far as read, say about its body and its connection.
#[derive(Debug, Default)]
pub(super) struct FramingFields {
    in_field: bool,
    /// A framing field whose value may continue in the next line, and where its value is.
    open: Option<(FramingField, Range<usize>)>,
    length: Option<u64>,
    pub(super) transfer_encoded: bool,
    chunked: bool,
    pub(super) close: bool,
    pub(super) keep_alive: bool,
}

impl FramingFields {
    /// Takes the line of `bytes` that is at `line`.
    #[inline]
    pub(super) fn take(&mut self, bytes: &[u8], line: Range<usize>) -> Result<(), Malformed> {
        match FieldLine::read(&bytes[line.clone()], self.in_field)? {
            FieldLine::Begins { name, value_at } => {
                self.end_field(bytes)?;
                self.in_field = true;
                let value = line.start + value_at..line.end;
                self.open = FramingField::named(name).map(|field| (field, value));
            }
            FieldLine::Continues => {
                if let Some((_, value)) = &mut self.open {
                    value.end = line.end;
                }
            }
        }
        Ok(())
    }

    /// Ends the last field.
    #[inline]
    pub(super) fn end_field(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let Some((field, value)) = self.open.take() else {
            return Ok(());
        };
        let value = &bytes[value];
        match field {
            FramingField::Connection => self.take_connection(value),
            FramingField::ContentLength => self.take_length(value)?,
            FramingField::TransferEncoding => self.take_encoding(value),
        }
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Several equal values count as one (RFC 9112, section 6.3, rule 5).
    fn take_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let mut parts = list(value).peekable();
        if parts.peek().is_none() {
            return Err(Malformed::ContentLength);
        }
        for part in parts {
            let length = decimal(part).ok_or(Malformed::ContentLength)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(Malformed::ContentLength);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn take_encoding(&mut self, value: &[u8]) {
        self.transfer_encoded = true;
        if let Some(last) = list(value).last() {
            self.chunked = last.eq_ignore_ascii_case(b"chunked");
        }
    }

    /// Transfer-Encoding wins over Content-Length (RFC 9112, section 6.3, rule 3).
    pub(super) fn framing(&self) -> Framing {
        match (self.transfer_encoded, self.length) {
            (true, _) if self.chunked => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            _ => Framing::UntilClose,
        }
    }
}

/// The elements of a comma-separated field value, without empty ones.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(trim)
        .filter(|part| !part.is_empty())
}

/// Trims spaces, tabs and line folds, and no other control characters.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = value.iter().position(is_text).unwrap_or(value.len());
    let end = value.iter().rposition(is_text).map_or(start, |at| at + 1);
    &value[start..end]
}

/// `tchar` of RFC 9110, section 5.6.2.
const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}
