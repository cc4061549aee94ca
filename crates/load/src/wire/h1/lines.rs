//! The lines of a head or a trailer section, each looked at once however the bytes are cut.

use std::ops::Range;

use memchr::memchr;

/// The longest head, and the longest trailer section, in bytes.
pub(super) const MAX_SECTION: usize = 64 * 1024;

/// Finds one line after another in bytes that may grow between two calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    /// Where the next line begins.
    start: usize,
    /// No line ends between `start` and here.
    scanned: usize,
    /// How many bytes were searched, all calls together.
    #[cfg(test)]
    pub(super) searched: usize,
}

impl Lines {
    /// The next line, without its end; `None` until that has come. `bytes` are those of the last
    /// call, and perhaps more. A lone LF ends a line too, as RFC 9112, section 2.2, allows.
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

    /// Where the line after the last one begins.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start
    }
}

/// The beginning of a section whose end has not come: empty nearly always.
#[derive(Debug, Default)]
pub(super) struct Partial {
    bytes: Vec<u8>,
}

impl Partial {
    /// Gives `read` the section as far as it has come, `bytes` being its latest piece. `read`
    /// returns what the section says and its length, or `None` until its end has come. Returns how
    /// many of `bytes` belong to the section, and what it says; a section that is longer than it
    /// may be is an error.
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
            Some((said, length)) => {
                self.bytes.clear();
                Ok((length - before, Some(said)))
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
