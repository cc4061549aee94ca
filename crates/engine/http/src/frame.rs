//! Frames (RFC 9113, sections 4 and 6).

use super::{FrameError, Kind};

/// Bytes of a frame's header.
pub const FRAME_HEADER: usize = 9;
/// The longest payload of a frame that everyone accepts, in bytes: the default, which needs no setting.
pub const MAX_FRAME: usize = 16_384;
/// Bytes of the priority in a HEADERS frame, which is obsolete.
const PRIORITY: usize = 5;

/// Flags; each is valid in some types of frames only.
pub mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Of the payload, in bytes.
    pub length: usize,
    /// The type.
    pub kind: Kind,
    pub flags: u8,
    /// 0 for the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// The header that `bytes` begin with, if it is whole.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, ref stream @ ..] = bytes.first_chunk::<FRAME_HEADER>()?;
        Some(Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind: Kind(kind),
            flags,
            // The highest bit is reserved.
            stream: u32::from_be_bytes(*stream) & 0x7fff_ffff,
        })
    }

    /// The frame with this header that `bytes` begin with, if it is whole.
    #[inline]
    pub fn frame(self, bytes: &[u8]) -> Option<Frame<'_>> {
        let payload = bytes.get(FRAME_HEADER..FRAME_HEADER + self.length)?;
        Some(Frame {
            kind: self.kind,
            flags: self.flags,
            stream: self.stream,
            payload,
        })
    }
}

/// The header of a frame to send. Its payload has at most 2^24-1 bytes.
#[inline]
pub fn encode_header(length: usize, kind: Kind, flags: u8, stream: u32) -> [u8; FRAME_HEADER] {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    [a, b, c, kind.0, flags, d, e, f, g]
}

/// A whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The type.
    pub kind: Kind,
    pub flags: u8,
    /// 0 for the connection.
    pub stream: u32,
    /// Everything after the header.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Its bytes, with the header.
    #[inline]
    pub fn size(&self) -> usize {
        FRAME_HEADER + self.payload.len()
    }

    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload of a DATA or HEADERS frame without padding and priority.
    #[inline]
    pub fn content(&self) -> Result<&'a [u8], FrameError> {
        let has_priority = self.kind == Kind::HEADERS && self.has(flag::PRIORITY);
        if self.has(flag::PADDED) || has_priority {
            self.bare_content(has_priority)
        } else {
            Ok(self.payload)
        }
    }

    fn bare_content(&self, has_priority: bool) -> Result<&'a [u8], FrameError> {
        let too_short = FrameError::Length(self.kind);
        let (mut content, mut padding) = (self.payload, 0);
        if self.has(flag::PADDED) {
            let (&length, rest) = content.split_first().ok_or(too_short)?;
            (padding, content) = (usize::from(length), rest);
        }
        if has_priority {
            content = content.get(PRIORITY..).ok_or(too_short)?;
        }
        let length = content.len().checked_sub(padding);
        Ok(&content[..length.ok_or(FrameError::Padding(self.kind))?])
    }

    /// The payload of a frame that always has `LENGTH` bytes.
    #[inline]
    pub fn fixed<const LENGTH: usize>(&self) -> Result<&'a [u8; LENGTH], FrameError> {
        let fixed = self.payload.try_into();
        fixed.map_err(|_| FrameError::Length(self.kind))
    }

    /// The number that is the payload of a RST_STREAM or WINDOW_UPDATE frame.
    #[inline]
    pub fn number(&self) -> Result<u32, FrameError> {
        self.fixed().map(|bytes| u32::from_be_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_once_it_is_whole() {
        let read =
            |bytes: &[u8]| FrameHeader::read(bytes).is_some_and(|it| it.frame(bytes).is_some());
        let mut bytes = encode_header(3, Kind::PING, flag::ACK, 0x8000_0005).to_vec();
        bytes.extend_from_slice(b"abcd");
        for cut in 0..12 {
            assert!(!read(&bytes[..cut]), "{cut}");
        }
        let header = FrameHeader::read(&bytes).unwrap();
        assert_eq!(header.length, 3);
        let frame = header.frame(&bytes).unwrap();
        assert_eq!((frame.kind, frame.flags, frame.stream), (Kind(6), 1, 5));
        assert_eq!((frame.payload, frame.size()), (&b"abc"[..], 12));
    }

    #[test]
    fn a_header_has_three_bytes_of_length() {
        let header = encode_header(0x01_02_03, Kind::DATA, 0, 1);
        assert_eq!(header, [1, 2, 3, 0, 0, 0, 0, 0, 1]);
        assert_eq!(FrameHeader::read(&header).unwrap().length, 0x01_02_03);
    }

    #[test]
    fn padding_and_priority_are_removed() {
        let content = |kind, flags, payload| {
            let frame = Frame {
                kind,
                flags,
                stream: 1,
                payload,
            };
            frame.content()
        };
        let data = |flags, payload| content(Kind::DATA, flags, payload);
        assert_eq!(data(flag::PRIORITY, b"abc"), Ok(&b"abc"[..]));
        assert_eq!(data(flag::PADDED, b"\x02a00"), Ok(&b"a"[..]));
        assert_eq!(data(flag::PADDED, b"\x01a"), Ok(&b""[..]));
        let headers = |flags, payload| content(Kind::HEADERS, flags, payload);
        assert_eq!(headers(flag::PRIORITY, b"12345a"), Ok(&b"a"[..]));
        let both = flag::PADDED | flag::PRIORITY;
        assert_eq!(headers(both, b"\x0112345a0"), Ok(&b"a"[..]));
        for (payload, error) in [
            (&b""[..], FrameError::Length(Kind::HEADERS)),
            (b"\x001234", FrameError::Length(Kind::HEADERS)),
            (b"\x0212345a", FrameError::Padding(Kind::HEADERS)),
        ] {
            assert_eq!(headers(both, payload), Err(error));
        }
    }
}
