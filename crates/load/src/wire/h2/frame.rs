//! Splits the bytes of a connection into frames (RFC 9113, section 4).

use std::fmt;

use super::Malformed;

/// The longest payload of a frame that the server may send, in bytes: the default, which needs no setting.
pub const MAX_FRAME: usize = 16_384;

/// Bytes of a frame's header.
pub(super) const FRAME_HEADER: usize = 9;

prony_model::named! {
    /// The type of a frame, by its number from 0 on. Unknown ones are ignored.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "the names are those of RFC 9113, section 6")]
    pub enum Kind {
        Data = "DATA",
        Headers = "HEADERS",
        Priority = "PRIORITY",
        RstStream = "RST_STREAM",
        Settings = "SETTINGS",
        PushPromise = "PUSH_PROMISE",
        Ping = "PING",
        GoAway = "GOAWAY",
        WindowUpdate = "WINDOW_UPDATE",
        Continuation = "CONTINUATION",
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error code of a RST_STREAM or GOAWAY frame (section 7); displayed by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing went wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The stream is not needed any more.
    pub const CANCEL: Self = Self(0x8);
}

/// By number, from 0 on.
const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

/// Flags; each is valid in some types of frames only.
pub(super) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Of the payload, in bytes.
    pub(super) length: usize,
    /// `None` if it is unknown.
    pub(super) kind: Option<Kind>,
    pub(super) flags: u8,
    /// 0 for the connection.
    pub(super) stream: u32,
}

impl FrameHeader {
    fn read(bytes: &[u8; FRAME_HEADER]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind: Kind::ALL.get(usize::from(kind)).copied(),
            flags,
            // The highest bit is reserved.
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The header of a frame to send. Its payload has at most 2^24-1 bytes.
pub(super) fn encode_header(
    length: usize,
    kind: Kind,
    flags: u8,
    stream: u32,
) -> [u8; FRAME_HEADER] {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    [a, b, c, kind as u8, flags, s0, s1, s2, s3]
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub(super) header: FrameHeader,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The payload of a DATA or HEADERS frame without its padding.
    pub(super) fn unpadded(&self, kind: Kind) -> Result<&'a [u8], Malformed> {
        if !self.header.has(flag::PADDED) {
            return Ok(self.payload);
        }
        let (&padding, rest) = self
            .payload
            .split_first()
            .ok_or(Malformed::FrameLength(kind))?;
        rest.len()
            .checked_sub(usize::from(padding))
            .map(|length| &rest[..length])
            .ok_or(Malformed::Padding(kind))
    }
}

/// Splits the bytes of a connection into frames. Frames that arrive in one piece are not copied.
#[derive(Debug, Default)]
pub struct FrameReader {
    /// A frame that arrived in several pieces, at most 16,393 bytes.
    partial: Vec<u8>,
    /// Whether that frame was returned, so that it can be dropped.
    was_returned: bool,
    begun: bool,
}

impl FrameReader {
    /// Forgets everything, for a new connection.
    pub fn restart(&mut self) {
        self.partial.clear();
        self.was_returned = false;
        self.begun = false;
    }

    /// Whether a frame has begun but not ended.
    pub fn in_frame(&self) -> bool {
        !self.partial.is_empty() && !self.was_returned
    }

    /// Takes the next frame off `bytes`. If its end has not arrived, takes everything and returns `None`.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Frame<'a>>, Malformed> {
        if self.was_returned {
            self.partial.clear();
            self.was_returned = false;
        }
        if !self.partial.is_empty() {
            return self.complete(bytes);
        }
        if let Some(header) = read_header(bytes, &mut self.begun)?
            && let Some((payload, rest)) = bytes[FRAME_HEADER..].split_at_checked(header.length)
        {
            *bytes = rest;
            return Ok(Some(Frame { header, payload }));
        }
        self.partial.extend_from_slice(std::mem::take(bytes));
        Ok(None)
    }

    /// Continues a frame that began earlier.
    fn complete(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame<'_>>, Malformed> {
        self.fill(FRAME_HEADER, bytes);
        let Some(header) = read_header(&self.partial, &mut self.begun)? else {
            return Ok(None);
        };
        let length = FRAME_HEADER + header.length;
        self.fill(length, bytes);
        if self.partial.len() < length {
            return Ok(None);
        }
        self.was_returned = true;
        let payload = &self.partial[FRAME_HEADER..];
        Ok(Some(Frame { header, payload }))
    }

    /// Moves bytes to the buffer until it has `length` of them, if there are enough.
    fn fill(&mut self, length: usize, bytes: &mut &[u8]) {
        let lacking = length.saturating_sub(self.partial.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(lacking);
        self.partial.extend_from_slice(taken);
        *bytes = rest;
    }
}

/// The header at the start of `bytes`, if it is complete. `begun` says whether the connection has had a frame before.
fn read_header(bytes: &[u8], begun: &mut bool) -> Result<Option<FrameHeader>, Malformed> {
    let Some(header) = bytes.first_chunk().map(FrameHeader::read) else {
        return Ok(None);
    };
    // Check this before the length, which is meaningless if the bytes are no frame at all.
    if !*begun && header.kind != Some(Kind::Settings) {
        return Err(Malformed::NotHttp2);
    }
    if header.length > MAX_FRAME {
        return Err(Malformed::FrameTooLong(header.length));
    }
    *begun = true;
    Ok(Some(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_are_displayed_by_name() {
        assert_eq!(ErrorCode::NO_ERROR.to_string(), "NO_ERROR");
        assert_eq!(ErrorCode::CANCEL.to_string(), "CANCEL");
        assert_eq!(ErrorCode(0xd).to_string(), "HTTP_1_1_REQUIRED");
        assert_eq!(ErrorCode(0xe).to_string(), "error code 0xe");
    }
}
