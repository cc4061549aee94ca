//! Which protocol a server speaks, by the first bytes that it sends.

use prony_http::{FRAME_HEADER, FrameHeader, Kind, MAX_FRAME, SETTING, encode_header};

/// The start of every response of HTTP/1.
pub(super) const HTTP1: &[u8] = b"HTTP/1.";
/// The start of every TLS alert (RFC 8446, section 5.1): its type and the major version.
const TLS_ALERT: &[u8] = &[21, 3];
/// How many bytes of a frame's header are its length.
const LENGTH: usize = 3;

/// A protocol that a server speaks although another one was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtherProtocol {
    #[error("the server responds with a TLS alert, not with HTTP: it seems to expect TLS")]
    Tls,
    #[error("the server responds with HTTP/1.1, not with HTTP/2: it seems to expect HTTP/1.1")]
    Http1,
    #[error("the server responds with HTTP/2, not with HTTP/1.1: it seems to expect HTTP/2")]
    Http2,
}

/// What the first bytes of a server are the start of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstBytes {
    /// There are too few to tell.
    Undecided,
    Of(OtherProtocol),
    Unknown,
}

impl FirstBytes {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let starts = [
            (TLS_ALERT, OtherProtocol::Tls),
            (HTTP1, OtherProtocol::Http1),
        ];
        for (start, protocol) in starts {
            if bytes.starts_with(start) {
                return Self::Of(protocol);
            }
            if start.starts_with(bytes) {
                return Self::Undecided;
            }
        }
        if !may_become_settings(bytes) {
            Self::Unknown
        } else if bytes.len() < FRAME_HEADER {
            Self::Undecided
        } else {
            Self::Of(OtherProtocol::Http2)
        }
    }
}

/// Whether `bytes` are, or may become, the SETTINGS frame with which an HTTP/2 server begins (RFC 9113, section 3.4).
fn may_become_settings(bytes: &[u8]) -> bool {
    let known = bytes.len().min(FRAME_HEADER);
    // What has not arrived is as it should be.
    let mut header = encode_header(0, Kind::SETTINGS, 0, 0);
    header[..known].copy_from_slice(&bytes[..known]);
    FrameHeader::read(&header).is_some_and(|header| {
        let holds_settings = known < LENGTH || header.length.is_multiple_of(SETTING);
        let is_settings = header.kind == Kind::SETTINGS && header.stream == 0;
        is_settings && header.length <= MAX_FRAME && holds_settings
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However they are split, the first bytes are never treated as something else, and are known once they are enough.
    #[test]
    fn a_protocol_is_known_by_its_first_bytes() {
        let settings = |length: usize| {
            let header = encode_header(length, Kind::SETTINGS, 0, 0);
            [&header[..], &vec![0; length]].concat()
        };
        // The last one has 0x0102 bytes.
        let lengths = [0, 30, 258].map(settings);
        let http2 = lengths
            .iter()
            .map(|bytes| (&bytes[..], 9, Some(OtherProtocol::Http2)));
        let others = [
            (
                &b"\x15\x03\x01\0\x02\x02\n"[..],
                2,
                Some(OtherProtocol::Tls),
            ),
            (b"HTTP/1.1 400 Bad\r\n", 7, Some(OtherProtocol::Http1)),
            (b"SSH-2.0-x\r\n", 1, None),
            (b"\x15\x04\0", 2, None),
            (b"\x16\x03\x01", 1, None),
            (b"HTTP/2 200\r\n", 6, None),
            (b"\r\nHTTP/1.1 200\r\n", 1, None),
            // Frames: no settings, too long, of another type, on a stream.
            (b"\0\0\x05\x04\0\0\0\0\0", 3, None),
            (b"\0\x40\x02\x04\0\0\0\0\0", 3, None),
            (b"\0\0\x06\x06\0\0\0\0\0", 4, None),
            (b"\0\0\x06\x04\0\0\0\0\x01", 9, None),
        ];
        for (bytes, enough, protocol) in http2.chain(others) {
            for length in 0..=bytes.len() {
                let expected = match protocol {
                    _ if length < enough => FirstBytes::Undecided,
                    Some(protocol) => FirstBytes::Of(protocol),
                    None => FirstBytes::Unknown,
                };
                assert_eq!(FirstBytes::of(&bytes[..length]), expected, "{bytes:?}");
            }
        }
    }
}
