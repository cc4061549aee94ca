//! How many events an event stream has brought, and nothing else of them.

use memchr::memchr2;

/// The name of the field without which there is no event.
const DATA: &[u8] = b"data";
/// The byte order mark that may stand before the first line.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Counts the events of a stream that comes piece by piece, cut wherever the network cut it.
///
/// An event is counted with the empty line that dispatches it, and only if it has a `data` field, as
/// the standard has it. No line is too long, nothing is kept of what was read, and nothing fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounter {
    at: At,
    /// The event being read has a `data` field.
    has_data: bool,
    /// The last byte was a CR: a line feed that comes next belongs to it.
    after_cr: bool,
}

/// Where in a line the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the stream's first line, after so many bytes of [`MARK`] and nothing else.
    Mark(usize),
    /// After so many bytes of [`DATA`] and nothing else; 0 is the beginning of the line.
    Name(usize),
    /// Where nothing matters any more but the line's end.
    Rest,
}

impl Default for At {
    fn default() -> Self {
        Self::Mark(0)
    }
}

impl EventCounter {
    /// At the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the stream so far: what comes next is the beginning of another one.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Eats the bytes that came next: how many events they completed.
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

    /// Eats what tells whether the line is a `data` field, and returns the bytes after it.
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

    /// The line is over: whether it dispatched an event.
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
mod tests {
    use super::super::EventStream;
    use super::*;
    use proptest::prelude::*;

    fn count<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut counter = EventCounter::new();
        pieces.into_iter().map(|piece| counter.eat(piece)).sum()
    }

    /// What the parser makes of the same bytes.
    fn parsed(bytes: &[u8]) -> u64 {
        let (mut stream, mut events) = (EventStream::new(), 0);
        stream.eat(bytes, &mut |_| events += 1).unwrap();
        events
    }

    #[test]
    fn an_event_is_counted_with_the_empty_line_after_its_data() {
        for (text, events) in [
            ("", 0),
            ("data: a\n", 0),
            ("data: a\n\n", 1),
            ("data: a\n\n\n\n", 1),
            ("data\n\n", 1),
            ("data:\r\rdata:\n\r\ndata\r\n\r\n", 3),
            ("\u{FEFF}data: a\n\n", 1),
            ("\u{FEFF}\n\ndata: a\n\n", 1),
            ("\u{FEFF}\u{FEFF}data: a\n\n", 0),
            ("\n\u{FEFF}data: a\n\n", 0),
            (": data: a\n\n", 0),
            ("event: a\nid: 1\nretry: 1\n\n", 0),
            ("event: a\ndata: a\ndata: b\n\nevent: b\n\n", 1),
            ("datas: a\n\ndat: a\n\nda\n\n data: a\n\nDATA: a\n\n", 0),
            ("data : a\n\n", 0),
        ] {
            assert_eq!(count([text.as_bytes()]), events, "{text:?}");
            assert_eq!(parsed(text.as_bytes()), events, "{text:?}");
        }
    }

    #[test]
    fn it_says_which_piece_completed_an_event() {
        let mut counter = EventCounter::new();
        assert_eq!(counter.eat(b"data: a\r\n"), 0);
        assert_eq!(counter.eat(b"\r"), 1);
        assert_eq!(counter.eat(b"\ndata: b\n\ndata: c\n\nda"), 2);
        assert_eq!(counter.eat(b"ta\n\n"), 1);
    }

    #[test]
    fn a_stream_begun_anew_owes_nothing_to_the_one_before() {
        for begun in ["data: a\n", "da", "data", "\r", "\u{FEFF}"] {
            let mut counter = EventCounter::new();
            counter.eat(begun.as_bytes());
            counter.restart();
            assert_eq!(counter, EventCounter::new());
            assert_eq!(counter.eat(b"\n"), 0, "{begun:?}");
        }
    }

    #[test]
    fn a_split_at_any_byte_changes_nothing() {
        let text = "\u{FEFF}event: é\r\ndata: ü\r\r\n: c\ndata: b\r\ndata\n\nid: 1\rdata: z\n\r\n";
        let bytes = text.as_bytes();
        assert_eq!(count([bytes]), 3);
        for cut in 0..=bytes.len() {
            let pieces = [&bytes[..cut], &bytes[cut..]];
            assert_eq!(count(pieces), 3, "cut at {cut}");
        }
        assert_eq!(count(bytes.chunks(1)), 3);
    }

    const TOKENS: &[&[u8]] = &[
        b"data",
        b"da",
        b"ta",
        b"event",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"x",
        b"data: x\n\n",
        b"\xEF\xBB\xBF",
        b"\xEF",
        b"\xBB\xBF",
    ];

    proptest! {
        #[test]
        fn it_counts_what_the_parser_reads(
            tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60),
            cuts in prop::collection::vec(0usize..200, 0..4),
        ) {
            let bytes = tokens.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(count(pieces), parsed(&bytes));
        }
    }
}
