//! Server-sent events: the event stream of WHATWG HTML, section 9.2.
//!
//! [`events`](prony_traffic::sse::events) parses the events. [`EventCounter`] only counts them, cheaply enough for a load.

use memchr::memchr2;

/// Without this field there is no event.
const DATA: &[u8] = b"data";
/// The byte order mark that may precede the first line.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Counts the events of a stream, however the network splits it.
///
/// An event counts when its empty line arrives, and only if it has a `data` field, as the standard says. No line is too
/// long, nothing is kept, and nothing fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounter {
    at: At,
    /// The event being read has a `data` field.
    has_data: bool,
    /// The last byte was a CR: a line feed that comes next belongs to it.
    after_cr: bool,
}

/// The position of the next byte in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the stream's first line, after this many bytes of [`MARK`] and nothing else.
    Mark(usize),
    /// After this many bytes of [`DATA`] and nothing else; 0 is the start of the line.
    Name(usize),
    /// In the rest of a line, of which only the end matters.
    Rest,
}

impl Default for At {
    fn default() -> Self {
        Self::Mark(0)
    }
}

impl EventCounter {
    /// Starts over with another stream.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Eats the next bytes, and returns how many events they completed.
    pub fn eat(&mut self, mut bytes: &[u8]) -> u64 {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        let mut events = 0;
        loop {
            bytes = self.eat_name(bytes);
            let Some(end) = memchr2(b'\r', b'\n', bytes) else {
                return events;
            };
            events += u64::from(self.end_line());
            bytes = match &bytes[end..] {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                rest => &rest[1..],
            };
        }
    }

    /// Eats what decides whether the line is a `data` field, and returns the bytes after it.
    fn eat_name<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while let [first, rest @ ..] = bytes {
            self.at = match (self.at, first) {
                (At::Rest, _) | (_, b'\r' | b'\n') => return bytes,
                (At::Mark(eaten), byte) if *byte == MARK[eaten] => match eaten + 1 {
                    3 => At::Name(0),
                    eaten => At::Mark(eaten),
                },
                (At::Mark(0), byte) if *byte == DATA[0] => At::Name(1),
                (At::Name(eaten), byte) if DATA.get(eaten) == Some(byte) => At::Name(eaten + 1),
                (At::Name(eaten), b':') if eaten == DATA.len() => {
                    self.has_data = true;
                    At::Rest
                }
                _ => At::Rest,
            };
            bytes = rest;
        }
        bytes
    }

    /// Ends the line; returns whether that dispatched an event.
    fn end_line(&mut self) -> bool {
        match std::mem::replace(&mut self.at, At::Name(0)) {
            At::Mark(0) | At::Name(0) => std::mem::take(&mut self.has_data),
            // The field's name alone is the field with an empty value.
            At::Name(eaten) if eaten == DATA.len() => {
                self.has_data = true;
                false
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
