//! The lines of a head or a trailer section, each scanned once however the bytes are split.

use std::ops::Range;

use memchr::memchr;

/// The longest head, and the longest trailer section, in bytes.
pub(super) const MAX_SECTION: usize = 64 * 1024;

/// Finds one line after another in bytes that may grow between calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    /// Where the next line begins.
    start: usize,
    /// No line ends between `start` and here.
    scanned: usize,
    /// How many bytes were scanned, all calls together.
    #[cfg(test)]
    pub(super) searched: usize,
}

impl Lines {
    /// The next line, without its end; `None` until the end has arrived. `bytes` start with those of the last call. A
    /// lone LF ends a line too, as RFC 9112, section 2.2, allows.
    #[inline]
    pub(super) fn next(&mut self, bytes: &[u8]) -> Option<Range<usize>> {
        let found = memchr(b'\n', &bytes[self.scanned..]);
        #[cfg(test)]
        {
            self.searched += found.map_or(bytes.len() - self.scanned, |at| at + 1);
        }
        let Some(found) = found else {
            self.scanned = bytes.len();
            return None;
        };
        let line_feed = self.scanned + found;
        let has_cr = bytes[self.start..line_feed].ends_with(b"\r");
        let line = self.start..line_feed - usize::from(has_cr);
        self.start = line_feed + 1;
        self.scanned = self.start;
        Some(line)
    }

    /// Where the next line begins.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start
    }
}

/// The start of a section whose end has not arrived: nearly always empty.
#[derive(Debug, Default)]
pub(super) struct Partial {
    bytes: Vec<u8>,
}

impl Partial {
    /// Calls `read` with the section so far, of which `bytes` are the latest piece. `read` returns what the section
    /// says and its length, or `None` until its end has arrived. Returns how many of `bytes` belong to the section, and
    /// what it says; an overlong section is an error.
    #[inline]
    pub(super) fn eat<T, E>(
        &mut self,
        bytes: &[u8],
        too_long: E,
        read: impl FnOnce(&[u8]) -> Result<Option<(T, usize)>, E>,
    ) -> Result<(usize, Option<T>), E> {
        let before = self.bytes.len();
        let read = if before == 0 {
            read(bytes)?
        } else {
            let room = (MAX_SECTION + 1).saturating_sub(before).min(bytes.len());
            self.bytes.extend_from_slice(&bytes[..room]);
            read(&self.bytes)?
        };
        match read {
            Some((_, length)) if length > MAX_SECTION => Err(too_long),
            Some((meaning, length)) => {
                self.bytes.clear();
                Ok((length - before, Some(meaning)))
            }
            None if before + bytes.len() > MAX_SECTION => Err(too_long),
            None => {
                if before == 0 {
                    self.bytes.extend_from_slice(bytes);
                }
                Ok((bytes.len(), None))
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}
