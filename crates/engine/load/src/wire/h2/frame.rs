//! Splits the bytes of a connection into frames (RFC 9113, section 4).

use prony_http::{FRAME_HEADER, Frame, FrameHeader, Kind, MAX_FRAME};

use super::Malformed;
use crate::wire::OtherProtocol;
use crate::wire::first_bytes::FirstBytes;

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
    pub(crate) fn in_frame(&self) -> bool {
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
            && let Some(frame) = header.frame(bytes)
        {
            *bytes = &bytes[frame.size()..];
            return Ok(Some(frame));
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
        self.fill(FRAME_HEADER + header.length, bytes);
        let frame = header.frame(&self.partial);
        self.was_returned = frame.is_some();
        Ok(frame)
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
    if !*begun {
        check_protocol(bytes)?;
    }
    let Some(header) = FrameHeader::read(bytes) else {
        return Ok(None);
    };
    // Check this before the length, which is meaningless if the bytes are not a frame at all.
    if !*begun && header.kind != Kind::SETTINGS {
        return Err(Malformed::NotHttp2);
    }
    if header.length > MAX_FRAME {
        return Err(Malformed::FrameTooLong(header.length));
    }
    *begun = true;
    Ok(Some(header))
}

/// Names another protocol as soon as it shows: all that a TLS server sends may be shorter than the header of a frame.
#[cold]
fn check_protocol(bytes: &[u8]) -> Result<(), Malformed> {
    match FirstBytes::of(bytes) {
        FirstBytes::Of(other @ (OtherProtocol::Tls | OtherProtocol::Http1)) => Err(other.into()),
        _ => Ok(()),
    }
}
