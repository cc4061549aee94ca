//! Request framing (RFC 9112): where a request's head and body begin and end. Touches no socket.

use std::mem::MaybeUninit;

use httparse::{Error, Header, Status};
use memchr::memchr2;

/// The longest request head, in bytes.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
const MAX_FIELDS: usize = 100;
/// The longest line with the size of a chunk, and the longest trailers, in bytes.
const MAX_LINE: usize = 16 * 1024;

/// What the next bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// A whole request head. Its body, if it has one, comes next.
    Head(Head<'a>),
    /// The end of a request.
    End,
    /// More bytes are needed.
    NeedMore,
}

/// The parts of a request head that the response depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) method: Method,
    /// The request target as received.
    pub(crate) target: &'a str,
    /// Whether the connection stays open after the response.
    pub(crate) link: Link,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
}

/// The methods that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Other,
}

impl Method {
    pub(crate) fn of(name: &[u8]) -> Self {
        match name {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            _ => Method::Other,
        }
    }
}

/// Whether a connection stays open after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// It stays open, the default of HTTP/1.1.
    Stays,
    /// It stays open, which the response to an HTTP/1.0 client must say.
    StaysBy10,
    Closes,
}

/// Why a request is refused and the connection closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is not an HTTP/1 request.
    Malformed,
    /// Its head is longer than [`MAX_HEAD`] or has too many fields.
    HeadTooLarge,
    /// Its body is in a transfer coding other than chunked.
    UnknownCoding,
}

/// Finds the requests in the bytes of one connection.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    at: At,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    Body(Body),
}

/// What is left of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// This many bytes.
    Length(u64),
    /// In the chunked transfer coding (RFC 9112, section 7.1).
    Chunked(Chunked),
}

/// What comes next in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunked {
    /// The line with the size of a chunk and its extensions.
    Size,
    /// This many bytes of data.
    Data(u64),
    /// The line end after the data.
    DataEnd,
    /// The trailers or the empty line after them; this many bytes of them have been read.
    Trailers(usize),
}

impl Framer {
    /// What the connection's next bytes begin with, and how many of them that takes. The caller passes the rest again,
    /// after [`Event::NeedMore`] with more bytes behind them.
    pub(crate) fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Event<'a>), Refusal> {
        match &mut self.at {
            At::Head if bytes.is_empty() => Ok((0, Event::NeedMore)),
            At::Head => self.next_head(bytes),
            At::Body(body) => {
                let (skipped, over) = body.skip(bytes)?;
                if !over {
                    return Ok((skipped, Event::NeedMore));
                }
                self.at = At::Head;
                Ok((skipped, Event::End))
            }
        }
    }

    fn next_head<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Event<'a>), Refusal> {
        let mut fields = [const { MaybeUninit::<Header<'a>>::uninit() }; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut []);
        // The limit applies before parsing, so that the result does not depend on how the bytes are cut.
        let visible = &bytes[..bytes.len().min(MAX_HEAD)];
        match request.parse_with_uninit_headers(visible, &mut fields) {
            Ok(Status::Complete(length)) => {
                let (head, body) = read_head(&request)?;
                self.at = At::Body(body);
                Ok((length, Event::Head(head)))
            }
            Ok(Status::Partial) if bytes.len() >= MAX_HEAD => Err(Refusal::HeadTooLarge),
            Ok(Status::Partial) => Ok((0, Event::NeedMore)),
            Err(Error::TooManyHeaders) => Err(Refusal::HeadTooLarge),
            Err(_) => Err(Refusal::Malformed),
        }
    }
}

impl Body {
    /// Skips the body's bytes: how many, and whether the body is over.
    fn skip(&mut self, bytes: &[u8]) -> Result<(usize, bool), Refusal> {
        match self {
            Body::Length(left) => Ok((skip(left, bytes), *left == 0)),
            Body::Chunked(chunks) => chunks.skip(bytes),
        }
    }
}

/// Counts down `left` by the bytes there are, and says how many that were.
fn skip(left: &mut u64, bytes: &[u8]) -> usize {
    let skipped = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *left -= skipped as u64;
    skipped
}

impl Chunked {
    fn skip(&mut self, bytes: &[u8]) -> Result<(usize, bool), Refusal> {
        let mut skipped = 0;
        loop {
            let rest = &bytes[skipped..];
            if let Chunked::Data(left) = self {
                skipped += skip(left, rest);
                if *left > 0 {
                    return Ok((skipped, false));
                }
                *self = Chunked::DataEnd;
                continue;
            }
            let Some(line) = self.line(rest)? else {
                return Ok((skipped, false));
            };
            skipped += line.len() + 2;
            *self = match *self {
                Chunked::Size => match chunk_size(line)? {
                    0 => Chunked::Trailers(0),
                    size => Chunked::Data(size),
                },
                Chunked::DataEnd if line.is_empty() => Chunked::Size,
                Chunked::Trailers(_) if line.is_empty() => return Ok((skipped, true)),
                Chunked::Trailers(before) if before + line.len() <= MAX_LINE => {
                    Chunked::Trailers(before + line.len())
                }
                _ => return Err(Refusal::Malformed),
            };
        }
    }

    /// The next line without its end; `None` if it is not complete. A wrong first byte is refused at once, because
    /// nothing may follow it.
    fn line(self, bytes: &[u8]) -> Result<Option<&[u8]>, Refusal> {
        let is_wrong = bytes.first().is_some_and(|&first| match self {
            Chunked::Size => !first.is_ascii_hexdigit(),
            Chunked::DataEnd => first != b'\r',
            _ => false,
        });
        let visible = &bytes[..bytes.len().min(MAX_LINE + 2)];
        match memchr2(b'\r', b'\n', visible) {
            _ if is_wrong => Err(Refusal::Malformed),
            Some(end) if end <= MAX_LINE && visible[end..].starts_with(b"\r\n") => {
                Ok(Some(&visible[..end]))
            }
            Some(end) if end <= MAX_LINE && &visible[end..] == b"\r" => Ok(None),
            None if visible.len() <= MAX_LINE => Ok(None),
            _ => Err(Refusal::Malformed),
        }
    }
}

/// The size that begins the line of a chunk.
fn chunk_size(line: &[u8]) -> Result<u64, Refusal> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
    let digits = std::str::from_utf8(digits.trim_ascii_end()).map_err(|_| Refusal::Malformed)?;
    u64::from_str_radix(digits, 16).map_err(|_| Refusal::Malformed)
}

#[derive(Default)]
struct Fields {
    hosts: u32,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

fn read_head<'a>(request: &httparse::Request<'_, 'a>) -> Result<(Head<'a>, Body), Refusal> {
    let is_10 = request.version == Some(0);
    let mut fields = Fields::default();
    for field in request.headers.iter() {
        fields.read(field)?;
    }
    let no_host = fields.hosts == 0 && !is_10;
    // Both lengths at once, or chunks in HTTP/1.0, are used to smuggle requests.
    let two_lengths = fields.chunked && (fields.length.is_some() || is_10);
    if no_host || fields.hosts > 1 || two_lengths {
        return Err(Refusal::Malformed);
    }
    let body = if fields.chunked {
        Body::Chunked(Chunked::Size)
    } else {
        Body::Length(fields.length.unwrap_or(0))
    };
    let head = Head {
        method: Method::of(request.method.unwrap_or_default().as_bytes()),
        target: request.path.unwrap_or_default(),
        link: match (fields.close, is_10, fields.keep_alive) {
            (true, ..) | (_, true, false) => Link::Closes,
            (_, true, true) => Link::StaysBy10,
            _ => Link::Stays,
        },
        expects_continue: fields.expects_continue && !is_10 && body != Body::Length(0),
    };
    Ok((head, body))
}

impl Fields {
    fn read(&mut self, field: &Header<'_>) -> Result<(), Refusal> {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        // Comparing lengths first rules out nearly every field.
        match field.name.len() {
            4 if is("host") => self.hosts += 1,
            6 if is("expect") => {
                self.expects_continue = field.value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if is("connection") => {
                for option in field.value.split(|&byte| byte == b',') {
                    let option = option.trim_ascii();
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if is("content-length") => {
                let length = content_length(field.value).ok_or(Refusal::Malformed)?;
                if self.length.is_some_and(|other| other != length) {
                    return Err(Refusal::Malformed);
                }
                self.length = Some(length);
            }
            17 if is("transfer-encoding") => {
                if self.chunked {
                    return Err(Refusal::Malformed);
                }
                if !field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::UnknownCoding);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The value of a Content-Length field. Digits only, as the standard requires: no sign, no list.
pub(crate) fn content_length(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = std::str::from_utf8(value).ok()?;
    let all_digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    all_digits.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
