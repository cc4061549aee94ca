//! Skipping a body in the chunked transfer coding (RFC 9112, section 7.1).

/// A size with its extensions, or the trailers, may be this long, in bytes.
const MAX_LINES: usize = 16 * 1024;

/// Where in a chunked body the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// At the first digit of a chunk's size.
    Size,
    /// Further on in its digits.
    InSize,
    /// In whitespace after them.
    Space,
    /// In a chunk's extension.
    Extension,
    /// At the line feed that ends the size's line.
    SizeEnd,
    /// In a chunk's data.
    Data,
    /// At the CR after a chunk's data.
    DataCr,
    /// At the line feed after a chunk's data.
    DataLf,
    /// At the first byte of a trailer line.
    Trailer,
    /// Further on in a trailer line.
    InTrailer,
    /// At the line feed of the empty line that ends it all.
    LastLf,
    /// Behind the body.
    End,
}

/// Skips one chunked body, in whatever pieces it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkedSkip {
    at: At,
    /// Of the present chunk, in bytes.
    left: u64,
    /// How much of a size with its extensions, or of the trailers, has come, in bytes.
    lines: usize,
}

/// The body is not in the chunked coding, or makes too much of its extensions and trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotChunked;

impl ChunkedSkip {
    /// At the first byte of a body.
    pub fn new() -> Self {
        Self {
            at: At::Size,
            left: 0,
            lines: 0,
        }
    }

    /// Whether the body is over.
    pub fn is_over(&self) -> bool {
        self.at == At::End
    }

    /// Skips what belongs to the body, and says how many bytes that was.
    pub fn skip(&mut self, bytes: &[u8]) -> Result<usize, NotChunked> {
        let mut eaten = 0;
        while eaten < bytes.len() && !self.is_over() {
            eaten += match self.at {
                At::Data => self.skip_data(&bytes[eaten..]),
                _ => {
                    self.step(bytes[eaten])?;
                    1
                }
            };
        }
        Ok(eaten)
    }

    fn skip_data(&mut self, bytes: &[u8]) -> usize {
        let skipped = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
        self.left -= skipped as u64;
        if self.left == 0 {
            self.at = At::DataCr;
        }
        skipped
    }

    fn step(&mut self, byte: u8) -> Result<(), NotChunked> {
        self.at = match (self.at, byte) {
            (At::Size | At::InSize, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.add_digit(byte)?;
                self.count_line_byte(At::InSize)?
            }
            (At::InSize | At::Space, b'\r') => At::SizeEnd,
            (At::InSize | At::Space, b';') => At::Extension,
            (At::InSize | At::Space, b' ' | b'\t') => self.count_line_byte(At::Space)?,
            (At::Extension, b'\r') => At::SizeEnd,
            (At::Extension, b'\n') => return Err(NotChunked),
            (At::Extension, _) => self.count_line_byte(At::Extension)?,
            (At::SizeEnd, b'\n') if self.left == 0 => At::Trailer,
            (At::SizeEnd, b'\n') => {
                self.lines = 0;
                At::Data
            }
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Size,
            (At::Trailer, b'\r') => At::LastLf,
            (At::InTrailer, b'\n') => At::Trailer,
            (At::Trailer, b'\n') => return Err(NotChunked),
            (At::Trailer | At::InTrailer, _) => self.count_line_byte(At::InTrailer)?,
            (At::LastLf, b'\n') => At::End,
            _ => return Err(NotChunked),
        };
        Ok(())
    }

    /// The size has one more digit; one that 64 bits do not hold is refused.
    fn add_digit(&mut self, digit: u8) -> Result<(), NotChunked> {
        let digit = char::from(digit).to_digit(16).ok_or(NotChunked)?;
        self.left = self.left.checked_mul(16).ok_or(NotChunked)? | u64::from(digit);
        Ok(())
    }

    fn count_line_byte(&mut self, at: At) -> Result<At, NotChunked> {
        self.lines += 1;
        match self.lines <= MAX_LINES {
            true => Ok(at),
            false => Err(NotChunked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of `bytes`, eaten in pieces, the body is; `None` where it is not over.
    fn length<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Option<usize>, NotChunked> {
        let (mut body, mut eaten) = (ChunkedSkip::new(), 0);
        for piece in pieces {
            eaten += body.skip(piece)?;
        }
        Ok(body.is_over().then_some(eaten))
    }

    #[test]
    fn it_ends_where_the_body_ends_however_it_is_cut() {
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "a;x=\"y\"\r\n0123456789\r\n00\r\n\r\n",
            "00000000000000000002\t;x\r\nhi\r\n0\r\n\r\n",
            "1 \r\n\r\r\nF\r\n0\r\n\r\n567\r\n9abcd\r\n0;z\r\nTrailer: a\r\nOther: b\r\n\r\n",
        ] {
            let all = format!("{body}GET / HTTP/1.1\r\n\r\n");
            let bytes = all.as_bytes();
            for cut in 0..=bytes.len() {
                let pieces = [&bytes[..cut], &bytes[cut..]];
                assert_eq!(
                    length(pieces.into_iter()),
                    Ok(Some(body.len())),
                    "{body:?} at {cut}"
                );
            }
            assert_eq!(length(bytes.chunks(1)), Ok(Some(body.len())));
            let short = &body.as_bytes()[..body.len() - 1];
            assert_eq!(length([short].into_iter()), Ok(None));
        }
    }

    #[test]
    fn what_is_not_chunked_is_refused_however_it_is_cut() {
        for body in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "1\n",
            "1\rx",
            "1\r\nabc\r\n",
            "1;x\nX",
            "1 x\r\n",
            "1 1\r\n",
            "0\r\n\n",
            "0\r\n\rx",
            "fffffffffffffffff\r\n",
        ] {
            assert_eq!(
                length([body.as_bytes()].into_iter()),
                Err(NotChunked),
                "{body:?}"
            );
            assert_eq!(
                length(body.as_bytes().chunks(1)),
                Err(NotChunked),
                "{body:?}"
            );
        }
    }

    #[test]
    fn extensions_and_trailers_cannot_go_on_for_ever() {
        for start in ["1;", "1 ;", "0\r\nTrailer: "] {
            let body = format!("{start}{}", "x".repeat(MAX_LINES + 1));
            assert_eq!(length([body.as_bytes()].into_iter()), Err(NotChunked));
        }
    }
}
