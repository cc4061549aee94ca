//! Request framing (RFC 9112): where a request's head and body begin and end. Touches no socket.

use std::mem::MaybeUninit;

use httparse::{Error, Header, Status};

use crate::chunked::ChunkedSkip;

/// The longest request head, in bytes.
pub const MAX_HEAD: usize = 16 * 1024;
const MAX_FIELDS: usize = 100;

/// What the next bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole request head. Its body, if it has one, comes next.
    Head(Head<'a>),
    /// The end of a request.
    End,
    /// Not yet enough to say.
    NeedMore,
}

/// What a request head says that the response depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The method.
    pub method: Method,
    /// The request target as it came.
    pub target: &'a str,
    /// What is to become of the connection after the response.
    pub link: Link,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// The methods that make a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// Any other.
    Other,
}

/// What becomes of a connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It stays, as is usual in HTTP/1.1.
    Stays,
    /// It stays, which an HTTP/1.0 client has to be told.
    StaysBy10,
    /// It is closed.
    Closes,
}

/// Why a request is refused and the connection closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HTTP/1 request.
    Malformed,
    /// Its head is longer than [`MAX_HEAD`], or has too many fields.
    HeadTooLarge,
    /// Its body is in a transfer coding other than chunked.
    UnknownCoding,
}

/// Finds the requests in the bytes of one connection.
#[derive(Debug, Default)]
pub struct Framer {
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
    Length(u64),
    Chunked(ChunkedSkip),
}

impl Framer {
    /// Says what `bytes`, the connection's next ones, begin with, and how many of them that
    /// takes. The bytes not taken are to be given again, with more behind them after
    /// [`Event::NeedMore`].
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, Event<'a>), Refusal> {
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
        // Looking no further than the limit makes the verdict the same however the bytes are cut.
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
    /// How many of `bytes` belong to the body, and whether they end it.
    fn skip(&mut self, bytes: &[u8]) -> Result<(usize, bool), Refusal> {
        match self {
            Body::Length(left) => {
                let skipped = usize::try_from(*left).map_or(bytes.len(), |l| l.min(bytes.len()));
                *left -= skipped as u64;
                Ok((skipped, *left == 0))
            }
            Body::Chunked(chunks) => {
                let skipped = chunks.skip(bytes).map_err(|_| Refusal::Malformed)?;
                Ok((skipped, chunks.is_over()))
            }
        }
    }
}

/// The header fields that bear on framing.
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
    // Both lengths at once, or chunks in HTTP/1.0, are how requests are smuggled.
    let two_lengths = fields.chunked && (fields.length.is_some() || is_10);
    if no_host || fields.hosts > 1 || two_lengths {
        return Err(Refusal::Malformed);
    }
    let body = match fields.chunked {
        true => Body::Chunked(ChunkedSkip::new()),
        false => Body::Length(fields.length.unwrap_or(0)),
    };
    let head = Head {
        method: match request.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            _ => Method::Other,
        },
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
        // The length of the name rules out nearly every field at once.
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

/// Digits and nothing else, as the standard has it: no sign, no list.
fn content_length(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = std::str::from_utf8(value).ok()?;
    let all_digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    all_digits.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
