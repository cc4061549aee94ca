//! A header block: the payload of a HEADERS frame and of the CONTINUATION frames after it.

use prony_http::{FRAME_HEADER, Frame, Kind, flag};

use super::malformed::{MAX_BLOCK, Malformed};

/// A header block whose end has not arrived.
#[derive(Debug, Default)]
pub(super) struct PartialBlock {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
    /// Bytes of its frames.
    length: usize,
}

/// A whole header block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) bytes: &'a [u8],
}

impl PartialBlock {
    pub(super) fn clear(&mut self) {
        // Stream 0 has no header blocks.
        self.stream = 0;
        self.bytes.clear();
        self.length = 0;
    }

    pub(super) fn begun(&self) -> bool {
        self.stream != 0
    }

    /// Takes a HEADERS frame; returns the block if that is all of it.
    pub(super) fn begin<'a>(&mut self, frame: &Frame<'a>) -> Result<Option<Block<'a>>, Malformed> {
        let bytes = frame.content()?;
        let block = Block {
            stream: frame.stream,
            end_stream: frame.has(flag::END_STREAM),
            bytes,
        };
        if frame.has(flag::END_HEADERS) {
            return Ok(Some(block));
        }
        self.clear();
        self.stream = block.stream;
        self.end_stream = block.end_stream;
        self.add(bytes)?;
        Ok(None)
    }

    /// Takes the frame after one that did not end the block; returns whether the block is whole now.
    /// [`PartialBlock::clear`] must follow then.
    pub(super) fn continue_with(&mut self, frame: &Frame<'_>) -> Result<bool, Malformed> {
        if frame.kind != Kind::CONTINUATION || frame.stream != self.stream {
            return Err(Malformed::BlockInterrupted);
        }
        self.add(frame.payload)?;
        Ok(frame.has(flag::END_HEADERS))
    }

    /// The block, once it is whole.
    pub(super) fn block(&self) -> Block<'_> {
        Block {
            stream: self.stream,
            end_stream: self.end_stream,
            bytes: &self.bytes,
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.length += FRAME_HEADER + bytes.len();
        if self.length > MAX_BLOCK {
            return Err(Malformed::BlockTooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}
