//! The chunked transfer coding (RFC 9112, section 7.1), byte by byte only where it has to be.

use super::{Malformed, head::MAX_HEAD};

/// The longest chunk-size line, extensions included, in bytes.
const MAX_SIZE_LINE: u32 = 4096;

/// Where in a chunked body the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunked {
    /// In the hexadecimal digits of a size; `digits` have come.
    Size { size: u64, digits: u32 },
    /// After the digits, up to the line end.
    Extension { size: u64, length: u32 },
    /// In a chunk's data; never with 0 left.
    Data { left: u64 },
    /// After a chunk's data.
    DataEnd { seen_cr: bool },
    /// In a line of the trailer section; `length` bytes of the line have come.
    Trailer { length: u32, total: u32 },
}

/// What one step through a chunked body did.
pub(super) enum ChunkStep {
    /// This many bytes were framing.
    Framing(usize),
    /// This many bytes at the front are body.
    Body(usize),
    /// This many bytes were framing, and the body is over.
    End(usize),
}

impl Chunked {
    pub(super) const START: Chunked = Chunked::Size { size: 0, digits: 0 };

    /// Takes one step with `bytes`, which are not empty.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<ChunkStep, Malformed> {
        if let Chunked::Data { left } = *self {
            let length = left.min(bytes.len() as u64);
            self.advance_data(length);
            return Ok(ChunkStep::Body(length as usize));
        }
        for (at, &byte) in bytes.iter().enumerate() {
            if self.framing_byte(byte)? {
                return Ok(ChunkStep::End(at + 1));
            }
            if matches!(self, Chunked::Data { .. }) {
                return Ok(ChunkStep::Framing(at + 1));
            }
        }
        Ok(ChunkStep::Framing(bytes.len()))
    }

    /// `length` bytes of data, at most what the chunk has left, have come.
    pub(super) fn advance_data(&mut self, length: u64) {
        if let Chunked::Data { left } = self {
            *left -= length;
            if *left == 0 {
                *self = Chunked::DataEnd { seen_cr: false };
            }
        }
    }

    /// Body bytes that come next for certain.
    pub(super) fn data_left(&self) -> u64 {
        match *self {
            Chunked::Data { left } => left,
            _ => 0,
        }
    }

    /// Eats one byte that is not data; true where it ends the body.
    fn framing_byte(&mut self, byte: u8) -> Result<bool, Malformed> {
        match *self {
            Chunked::Size { size, digits } => *self = size_byte(byte, size, digits)?,
            Chunked::Extension { size, .. } if byte == b'\n' => *self = after_size(size),
            Chunked::Extension { size, length } if length < MAX_SIZE_LINE => {
                *self = Chunked::Extension {
                    size,
                    length: length + 1,
                };
            }
            Chunked::Extension { .. } => return Err(Malformed::ChunkTooLong),
            Chunked::DataEnd { seen_cr } => match (byte, seen_cr) {
                (b'\r', false) => *self = Chunked::DataEnd { seen_cr: true },
                (b'\n', _) => *self = Chunked::START,
                _ => return Err(Malformed::ChunkEnd),
            },
            Chunked::Trailer { length, total } => return self.trailer_byte(byte, length, total),
            Chunked::Data { .. } => unreachable!("data is never read byte by byte"),
        }
        Ok(false)
    }

    fn trailer_byte(&mut self, byte: u8, length: u32, total: u32) -> Result<bool, Malformed> {
        if total as usize >= MAX_HEAD {
            return Err(Malformed::ChunkTooLong);
        }
        let length = match byte {
            b'\n' if length == 0 => return Ok(true),
            b'\n' => 0,
            b'\r' => length,
            _ => length + 1,
        };
        *self = Chunked::Trailer {
            length,
            total: total + 1,
        };
        Ok(false)
    }
}

fn size_byte(byte: u8, size: u64, digits: u32) -> Result<Chunked, Malformed> {
    if let Some(digit) = (byte as char).to_digit(16) {
        // 15 digits are an exbibyte: no chunk is longer, and nothing overflows.
        return if digits < 15 {
            Ok(Chunked::Size {
                size: size * 16 + u64::from(digit),
                digits: digits + 1,
            })
        } else {
            Err(Malformed::ChunkSize)
        };
    }
    match byte {
        _ if digits == 0 => Err(Malformed::ChunkSize),
        b'\n' => Ok(after_size(size)),
        b'\r' | b';' | b' ' | b'\t' => Ok(Chunked::Extension { size, length: 0 }),
        _ => Err(Malformed::ChunkSize),
    }
}

fn after_size(size: u64) -> Chunked {
    match size {
        0 => Chunked::Trailer {
            length: 0,
            total: 0,
        },
        left => Chunked::Data { left },
    }
}
