//! The head of a response: its status line and the fields that frame its body.

use http::Method;

use super::Malformed;
use super::fields::{Framing, FramingFields, has_forbidden_byte};
use super::lines::Lines;
use crate::wire::OtherProtocol;
use crate::wire::first_bytes::{FirstBytes, HTTP1};

/// The methods that change how a response is framed (RFC 9112, section 6.3, rules 1 and 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// The response has the body that its head announces.
    #[default]
    Plain,
    /// `HEAD`: no response has a body.
    Head,
    /// `CONNECT`: a 2xx has no body, and turns the connection into a tunnel.
    Connect,
}

impl RequestKind {
    /// The kind of a request with that method.
    pub fn of(method: &Method) -> Self {
        match *method {
            Method::HEAD => Self::Head,
            Method::CONNECT => Self::Connect,
            _ => Self::Plain,
        }
    }

    /// Whether a response of that status turns the connection into a tunnel.
    pub(crate) fn opens_tunnel(self, status: u16) -> bool {
        self == Self::Connect && (200..300).contains(&status)
    }

    /// Whether a response of that status has no body, whatever its head announces.
    pub(in crate::wire) fn is_bodiless(self, status: u16) -> bool {
        self == Self::Head || matches!(status, 100..=199 | 204 | 304) || self.opens_tunnel(status)
    }
}

/// What the head of a response says about how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code, 100 to 999.
    pub status: u16,
    /// Whether the connection may be reused afterwards.
    pub keep_alive: bool,
    /// How its body ends.
    pub framing: Framing,
}

impl Head {
    /// Reads a head from the start of `bytes`. Returns the head and its length in bytes, or `None` until its empty line
    /// has arrived.
    pub fn read(bytes: &[u8], kind: RequestKind) -> Result<Option<(Head, usize)>, Malformed> {
        HeadReader::default().read(bytes, kind)
    }
}

/// Reads one head, in any number of pieces.
#[derive(Debug, Default)]
pub(super) struct HeadReader {
    pub(super) lines: Lines,
    /// The minor version and the status, once their line has arrived.
    status_line: Option<(u8, u16)>,
    fields: FramingFields,
}

impl HeadReader {
    /// Continues in `bytes`, which start with those of the last call. Returns the head and its length in bytes, or
    /// `None` until its empty line has arrived.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        kind: RequestKind,
    ) -> Result<Option<(Head, usize)>, Malformed> {
        let (minor, status) = match self.status_line {
            Some(known) => known,
            None => {
                let Some(line) = self.lines.next(bytes) else {
                    return check_status_start(bytes).map(|()| None);
                };
                *self.status_line.insert(status_line(&bytes[line])?)
            }
        };
        while let Some(line) = self.lines.next(bytes) {
            if line.is_empty() {
                self.fields.end_field(bytes)?;
                let head = self.head(minor, status, kind);
                return Ok(Some((head, self.lines.position())));
            }
            self.fields.take(bytes, line)?;
        }
        Ok(None)
    }

    fn head(&self, minor: u8, status: u16, kind: RequestKind) -> Head {
        let fields = &self.fields;
        let framing = if kind.is_bodiless(status) {
            Framing::Length(0)
        } else {
            fields.framing()
        };
        // HTTP/1.0 has no Transfer-Encoding: such framing is taken to be faulty (RFC 9112, section
        // 6.1), so nothing that comes after it can be trusted.
        let by_version = minor >= 1 || (fields.keep_alive && !fields.transfer_encoded);
        let keep_alive = framing != Framing::UntilClose
            && !fields.close
            && !kind.opens_tunnel(status)
            && by_version;
        Head {
            status,
            keep_alive,
            framing,
        }
    }
}

/// Refuses garbage at once, without waiting for a line end that may never arrive.
fn check_status_start(bytes: &[u8]) -> Result<(), Malformed> {
    match FirstBytes::of(bytes) {
        FirstBytes::Undecided | FirstBytes::Of(OtherProtocol::Http1) => Ok(()),
        FirstBytes::Of(_) | FirstBytes::Unknown => Err(no_status_line(bytes)),
    }
}

/// What bytes are that do not start as a head does.
#[cold]
fn no_status_line(bytes: &[u8]) -> Malformed {
    other_protocol(bytes).unwrap_or(Malformed::StatusLine)
}

/// The protocol of bytes that belong to another one than HTTP/1.
#[cold]
pub(super) fn other_protocol(bytes: &[u8]) -> Option<Malformed> {
    match FirstBytes::of(bytes) {
        FirstBytes::Of(other @ (OtherProtocol::Tls | OtherProtocol::Http2)) => Some(other.into()),
        _ => None,
    }
}

/// The minor version and the status of `HTTP/1.x NNN reason`. A higher minor version is read as the highest known one
/// (RFC 9110, section 2.5).
pub(super) fn status_line(line: &[u8]) -> Result<(u8, u16), Malformed> {
    let rest = line
        .strip_prefix(HTTP1)
        .ok_or_else(|| no_status_line(line))?;
    let [minor @ b'0'..=b'9', b' ', a, b, c, reason @ ..] = rest else {
        return Err(Malformed::StatusLine);
    };
    let digits = [a, b, c];
    if !digits.iter().all(|digit| digit.is_ascii_digit())
        || *a == b'0'
        || !(reason.is_empty() || reason[0] == b' ')
        || has_forbidden_byte(reason)
    {
        return Err(Malformed::StatusLine);
    }
    let status = digits
        .iter()
        .fold(0, |status, &&digit| status * 10 + u16::from(digit - b'0'));
    Ok(((minor - b'0').min(1), status))
}

#[cfg(test)]
mod tests;
