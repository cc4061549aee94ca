//! The chunked transfer coding (RFC 9112, section 7.1), byte by byte only if it has to be.
//!
//! The lines that frame a chunk end in CR LF. A lone LF ends a line of a head or of the trailers (section 2.2), but not
//! here: after a chunk that is one byte too long it is data.

use super::Malformed;
use super::fields::FieldLine;
use super::lines::Lines;

/// The longest chunk-size line, leading zeros and extensions included, in bytes.
const MAX_SIZE_LINE: u32 = 4096;

/// The position in the line of a chunk's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeLine {
    /// Before the first digit.
    Start,
    Digits,
    /// In whitespace after the digits. Tolerated even without an extension after it.
    Space,
    /// In the extensions, which are ignored.
    Extensions,
    LineFeed,
}

/// The position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunked {
    /// In the line of a size, after `length` bytes.
    Size {
        at: SizeLine,
        size: u64,
        length: u32,
    },
    /// In a chunk's data; `left` is never 0.
    Data { left: u64 },
    /// After a chunk's data.
    DataEnd { seen_cr: bool },
    /// After the line of the last chunk's size.
    Last,
}

/// What one step through a chunked body did.
pub(super) enum ChunkStep {
    /// This many bytes were framing.
    Framing(usize),
    /// This many bytes at the front are body.
    Body(usize),
    /// This many bytes were framing; the trailers follow.
    Last(usize),
}

impl Chunked {
    pub(super) const START: Chunked = Chunked::Size {
        at: SizeLine::Start,
        size: 0,
        length: 0,
    };

    /// Takes one step with `bytes`, which are not empty.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<ChunkStep, Malformed> {
        if let Chunked::Data { left } = *self {
            let length = left.min(bytes.len() as u64);
            self.advance_data(length);
            return Ok(ChunkStep::Body(length as usize));
        }
        for (at, &byte) in bytes.iter().enumerate() {
            *self = self.framing_byte(byte)?;
            match self {
                Chunked::Last => return Ok(ChunkStep::Last(at + 1)),
                Chunked::Data { .. } => return Ok(ChunkStep::Framing(at + 1)),
                Chunked::Size { .. } | Chunked::DataEnd { .. } => {}
            }
        }
        Ok(ChunkStep::Framing(bytes.len()))
    }

    /// Takes `length` bytes of data, at most what the chunk has left.
    pub(super) fn advance_data(&mut self, length: u64) {
        if let Chunked::Data { left } = self {
            *left -= length;
            if *left == 0 {
                *self = Chunked::DataEnd { seen_cr: false };
            }
        }
    }

    /// How many body bytes certainly follow.
    pub(super) fn data_left(&self) -> u64 {
        match *self {
            Chunked::Data { left } => left,
            _ => 0,
        }
    }

    /// Eats one byte that is not data.
    fn framing_byte(self, byte: u8) -> Result<Chunked, Malformed> {
        match self {
            Chunked::Size { at, size, length } => size_line_byte(byte, at, size, length),
            Chunked::DataEnd { seen_cr } => match (byte, seen_cr) {
                (b'\r', false) => Ok(Chunked::DataEnd { seen_cr: true }),
                (b'\n', true) => Ok(Chunked::START),
                _ => Err(Malformed::ChunkEnd),
            },
            Chunked::Data { .. } | Chunked::Last => {
                unreachable!("only framing is read byte by byte")
            }
        }
    }
}

fn size_line_byte(byte: u8, at: SizeLine, size: u64, length: u32) -> Result<Chunked, Malformed> {
    if length >= MAX_SIZE_LINE {
        return Err(Malformed::ChunkTooLong);
    }
    let mut size = size;
    let at = match (at, byte) {
        (SizeLine::Start | SizeLine::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
            size = with_digit(size, byte).ok_or(Malformed::ChunkSize)?;
            SizeLine::Digits
        }
        (SizeLine::Start, _) => return Err(Malformed::ChunkSize),
        (SizeLine::LineFeed, b'\n') if size == 0 => return Ok(Chunked::Last),
        (SizeLine::LineFeed, b'\n') => return Ok(Chunked::Data { left: size }),
        (SizeLine::LineFeed, _) => return Err(Malformed::ChunkSize),
        (_, b'\r') => SizeLine::LineFeed,
        (SizeLine::Extensions, 0..=8 | 10..=31 | 127) => return Err(Malformed::ChunkSize),
        (_, b';') | (SizeLine::Extensions, _) => SizeLine::Extensions,
        (SizeLine::Digits | SizeLine::Space, b' ' | b'\t') => SizeLine::Space,
        (SizeLine::Digits | SizeLine::Space, _) => return Err(Malformed::ChunkSize),
    };
    let length = length + 1;
    Ok(Chunked::Size { at, size, length })
}

/// `size` with one more hexadecimal digit; `None` if it does not fit into 64 bits.
fn with_digit(size: u64, digit: u8) -> Option<u64> {
    let digit = char::from(digit).to_digit(16)?;
    Some(size.checked_mul(16)? | u64::from(digit))
}

/// Reads one trailer section after the last chunk (section 7.1.2): checks its lines and ignores their meaning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trailers {
    lines: Lines,
    in_field: bool,
}

impl Trailers {
    /// Continues in `bytes`, which start with those of the last call. Returns the length of the section, or `None`
    /// until its empty line has arrived.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        while let Some(line) = self.lines.next(bytes) {
            if line.is_empty() {
                return Ok(Some(self.lines.position()));
            }
            FieldLine::read(&bytes[line], self.in_field)?;
            self.in_field = true;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
