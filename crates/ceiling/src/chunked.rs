//! Skipping a body in the chunked transfer coding (RFC 9112, section 7.1).

/// Extensions of one chunk and trailers together may be this long, in bytes.
const MAX_LINES: usize = 16 * 1024;

/// Where in a chunked body the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In a chunk's size, after so many of its digits.
    Size { digits: u8 },
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
    /// How much of chunk extension or trailers has come, in bytes.
    lines: usize,
}

/// The body is not in the chunked coding, or makes too much of its extensions and trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotChunked;

impl ChunkedSkip {
    /// At the first byte of a body.
    pub fn new() -> Self {
        Self {
            at: At::Size { digits: 0 },
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
            (At::Size { digits }, _) => self.step_size(digits, byte)?,
            (At::Extension, b'\r') => At::SizeEnd,
            (At::Extension, b'\n') => return Err(NotChunked),
            (At::Extension, _) => self.count_line_byte(At::Extension)?,
            (At::SizeEnd, b'\n') if self.left == 0 => At::Trailer,
            (At::SizeEnd, b'\n') => {
                self.lines = 0;
                At::Data
            }
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Size { digits: 0 },
            (At::Trailer, b'\r') => At::LastLf,
            (At::InTrailer, b'\n') => At::Trailer,
            (At::Trailer, b'\n') => return Err(NotChunked),
            (At::Trailer | At::InTrailer, _) => self.count_line_byte(At::InTrailer)?,
            (At::LastLf, b'\n') => At::End,
            _ => return Err(NotChunked),
        };
        Ok(())
    }

    fn step_size(&mut self, digits: u8, byte: u8) -> Result<At, NotChunked> {
        // 15 digits hold more than any body, and never overflow.
        const MAX_DIGITS: u8 = 15;
        match (char::from(byte).to_digit(16), byte) {
            (Some(digit), _) if digits < MAX_DIGITS => {
                self.left = self.left * 16 + u64::from(digit);
                Ok(At::Size { digits: digits + 1 })
            }
            (None, b'\r') if digits > 0 => Ok(At::SizeEnd),
            (None, b';' | b' ' | b'\t') if digits > 0 => Ok(At::Extension),
            _ => Err(NotChunked),
        }
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
            "0\r\n\n",
            "0\r\n\rx",
            "ffffffffffffffff\r\n",
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
        for start in ["1;", "0\r\nTrailer: "] {
            let body = format!("{start}{}", "x".repeat(MAX_LINES + 1));
            assert_eq!(length([body.as_bytes()].into_iter()), Err(NotChunked));
        }
    }
}
