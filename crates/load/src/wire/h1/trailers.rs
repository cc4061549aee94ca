//! The trailer section behind the last chunk (RFC 9112, section 7.1.2): its lines are checked, and what they say is ignored.

use super::Malformed;
use super::fields::FieldLine;
use super::lines::Lines;

/// Reads one trailer section.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trailers {
    lines: Lines,
    in_field: bool,
}

impl Trailers {
    /// Reads on in `bytes`, which are those of the last call and perhaps more: returns the length of
    /// the section, or `None` until its empty line has come.
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
