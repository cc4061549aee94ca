//! The events of a stream, each with its name, data and id.

use memchr::{memchr, memchr2};

/// One event, as a browser would dispatch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type: the `event` field, or `message` where there was none.
    pub name: String,
    /// Its `data` fields, joined by line feeds.
    pub data: String,
    /// The last `id` of the stream up to here; empty where there was none.
    pub id: String,
}

/// Why an event stream was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line is longer than the limit, in bytes.
    #[error(
        "a line of the event stream is longer than {limit} bytes; raise the limit if it may be"
    )]
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The data of one event are longer than the limit, in bytes.
    #[error("an event's data are longer than {limit} bytes; raise the limit if they may be")]
    DataTooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// The most that a stream may make its reader hold, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// The longest line, its end not counted.
    pub line: usize,
    /// The longest data of one event, with a line feed after each of its lines.
    pub data: usize,
}

impl Default for SseLimits {
    /// Lines of 1 MiB, data of 16 MiB.
    fn default() -> Self {
        Self {
            line: 1 << 20,
            data: 16 << 20,
        }
    }
}

/// Reads an event stream piece by piece, cut wherever the network cut it.
///
/// An event that no empty line follows is not dispatched, as the standard has it.
#[derive(Debug, Default)]
pub struct EventStream {
    limits: SseLimits,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// The last byte was a CR: a line feed that comes next belongs to it.
    after_cr: bool,
    /// A line has been read, so no byte order mark can come any more.
    begun: bool,
    fields: Fields,
    failed: Option<SseError>,
}

/// The fields of the event being read.
#[derive(Debug, Default)]
struct Fields {
    name: String,
    /// Each line of data with a line feed after it.
    data: String,
    id: String,
    retry_ms: Option<u64>,
}

impl EventStream {
    /// A stream of which nothing has come, with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// A stream of which nothing has come, with limits of the caller's own.
    pub fn with_limits(limits: SseLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Eats the bytes that came next, and hands over each event that they complete.
    ///
    /// After an error the stream stays failed: it eats nothing more and repeats the error.
    pub fn eat(&mut self, bytes: &[u8], on_event: &mut impl FnMut(Event)) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.eat_lines(bytes, on_event)
            .inspect_err(|&error| self.failed = Some(error))
    }

    /// The reconnection time that the stream asked for last, in milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.fields.retry_ms
    }

    fn eat_lines(
        &mut self,
        mut bytes: &[u8],
        on_event: &mut impl FnMut(Event),
    ) -> Result<(), SseError> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            self.end_line(&bytes[..end], on_event)?;
            bytes = match &bytes[end..] {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                rest => &rest[1..],
            };
        }
        self.check_line_length(bytes)?;
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// `end` is the line's last piece; what came of it earlier is in `partial`.
    fn end_line(&mut self, end: &[u8], on_event: &mut impl FnMut(Event)) -> Result<(), SseError> {
        self.check_line_length(end)?;
        if self.partial.is_empty() {
            return self.read_line(end, on_event);
        }
        let mut line = std::mem::take(&mut self.partial);
        line.extend_from_slice(end);
        let result = self.read_line(&line, on_event);
        line.clear();
        self.partial = line;
        result
    }

    fn check_line_length(&self, more: &[u8]) -> Result<(), SseError> {
        let limit = self.limits.line;
        match self.partial.len() + more.len() <= limit {
            true => Ok(()),
            false => Err(SseError::LineTooLong { limit }),
        }
    }

    fn read_line(&mut self, line: &[u8], on_event: &mut impl FnMut(Event)) -> Result<(), SseError> {
        const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
        let line = match std::mem::replace(&mut self.begun, true) {
            true => line,
            false => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
        };
        if line.is_empty() {
            self.fields.dispatch(on_event);
            return Ok(());
        }
        let (field, value) = split_field(line);
        self.fields.set(field, value, self.limits.data)
    }
}

/// A field's name, and its value without the one space that may stand before it. A comment has
/// the empty name.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b':', line) {
        None => (line, b""),
        Some(colon) => {
            let value = &line[colon + 1..];
            (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
        }
    }
}

impl Fields {
    fn set(&mut self, field: &[u8], value: &[u8], data_limit: usize) -> Result<(), SseError> {
        match field {
            b"data" => {
                self.data.push_str(&String::from_utf8_lossy(value));
                self.data.push('\n');
                if self.data.len() > data_limit {
                    return Err(SseError::DataTooLong { limit: data_limit });
                }
            }
            b"event" => replace(&mut self.name, value),
            b"id" if memchr(0, value).is_none() => replace(&mut self.id, value),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // Too many digits for a number: longer than anyone waits.
                let digits = String::from_utf8_lossy(value);
                self.retry_ms = Some(digits.parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(Event)) {
        let name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        // Each data field left a line feed, so no data at all means there was no such field.
        if data.pop().is_none() {
            return;
        }
        on_event(Event {
            name: match name.is_empty() {
                true => "message".to_owned(),
                false => name,
            },
            data,
            id: self.id.clone(),
        });
    }
}

fn replace(text: &mut String, value: &[u8]) {
    text.clear();
    text.push_str(&String::from_utf8_lossy(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads the stream from the pieces, each eaten by itself.
    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let (mut stream, mut events) = (EventStream::new(), Vec::new());
        for piece in pieces {
            stream.eat(piece, &mut |event| events.push(event)).unwrap();
        }
        events
    }

    fn event(name: &str, data: &str, id: &str) -> Event {
        Event {
            name: name.into(),
            data: data.into(),
            id: id.into(),
        }
    }

    /// The standard's own algorithm on a text that is there as a whole, as plainly as it can be
    /// written.
    fn reference(bytes: &[u8]) -> Vec<Event> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines: Vec<&str> = text.split('\n').collect();
        lines.pop(); // What no line end follows is no line.
        let (mut events, mut id) = (Vec::new(), String::new());
        let (mut name, mut data) = (String::new(), Vec::new());
        for line in lines {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                _ if line.is_empty() => {
                    if !data.is_empty() {
                        let name = if name.is_empty() { "message" } else { &name };
                        events.push(event(name, &data.join("\n"), &id));
                    }
                    name.clear();
                    data.clear();
                }
                "event" => name = value.to_owned(),
                "data" => data.push(value.to_owned()),
                "id" if !value.contains('\0') => id = value.to_owned(),
                _ => {}
            }
        }
        events
    }

    #[test]
    fn fields_make_events() {
        let text =
            b"\xEF\xBB\xBF: a comment\nevent: patch\ndata: one\ndata:two\ndata:  three\nid: 7\n\n\
            data\n\nevent: nothing\n\ndata: x\nunknown: y\nid: \0\n\ndata: never ended\n";
        assert_eq!(
            events([text.as_slice()]),
            [
                event("patch", "one\ntwo\n three", "7"),
                event("message", "", "7"),
                event("message", "x", "7"),
            ]
        );
    }

    #[test]
    fn every_line_end_ends_a_line() {
        for end in ["\r", "\n", "\r\n"] {
            let text = format!("data: a{end}data: b{end}{end}data: c{end}{end}");
            let expected = [event("message", "a\nb", ""), event("message", "c", "")];
            assert_eq!(events([text.as_bytes()]), expected, "{end:?}");
        }
    }

    #[test]
    fn a_split_at_any_byte_changes_nothing() {
        let text = "\u{FEFF}event: é\r\ndata: ü\r\r\n: c\ndata: b\r\ndata\n\nid: 1\rdata: z\n\r\n";
        let bytes = text.as_bytes();
        let whole = events([bytes]);
        assert_eq!(whole.len(), 3);
        for cut in 0..=bytes.len() {
            assert_eq!(
                events([&bytes[..cut], &bytes[cut..]]),
                whole,
                "cut at {cut}"
            );
        }
        assert_eq!(events(bytes.chunks(1)), whole);
    }

    #[test]
    fn retry_is_read_only_where_it_is_a_number() {
        let mut stream = EventStream::new();
        stream.eat(b"retry: 3x\n", &mut |_| {}).unwrap();
        assert_eq!(stream.retry_ms(), None);
        stream.eat(b"retry: 250\nretry:\n", &mut |_| {}).unwrap();
        assert_eq!(stream.retry_ms(), Some(250));
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer_however_it_is_cut() {
        let limits = SseLimits { line: 8, data: 100 };
        let read = |bytes: &[u8], piece: usize| {
            let mut stream = EventStream::with_limits(limits);
            bytes
                .chunks(piece)
                .try_for_each(|piece| stream.eat(piece, &mut |_| {}))
        };
        for piece in 1..12 {
            assert_eq!(read(b"data:678\r\n\n", piece), Ok(()));
            let too_long = Err(SseError::LineTooLong { limit: 8 });
            assert_eq!(read(b"data:6789\n", piece), too_long);
            assert_eq!(read(b"data:6789", piece), too_long);
        }
    }

    #[test]
    fn data_that_never_end_are_given_up_and_stay_given_up() {
        let mut stream = EventStream::with_limits(SseLimits { line: 20, data: 10 });
        let too_long = Err(SseError::DataTooLong { limit: 10 });
        stream.eat(b"data: 1234\ndata: 678\n", &mut |_| {}).unwrap();
        assert_eq!(stream.eat(b"data\n", &mut |_| {}), Ok(()));
        assert_eq!(stream.eat(b"data\n", &mut |_| {}), too_long);
        assert_eq!(stream.eat(b"\n", &mut |_| panic!("no event")), too_long);
    }

    const TOKENS: &[&[u8]] = &[
        b"data",
        b"event",
        b"id",
        b"retry",
        b"datas",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"x",
        b"\0",
        b"\xEF\xBB\xBF",
        b"\xC3\xA9",
        b"\xFF",
        b"\xE2\x82",
    ];

    proptest! {
        #[test]
        fn it_reads_what_the_reference_reads(
            tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60),
            cuts in prop::collection::vec(0usize..200, 0..4),
        ) {
            let bytes = tokens.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(events(pieces), reference(&bytes));
        }
    }
}
