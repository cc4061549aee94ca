//! A list of header fields, in one piece of memory that is used again.

use super::HpackError;

/// The longest list that is decoded, in bytes as [`Fields::size`] counts them.
pub const MAX_LIST: usize = 64 * 1024;

/// What a field counts beyond its name and value (RFC 7541, section 4.1).
pub(super) const OVERHEAD: usize = 32;

/// Header fields in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Names and values, one after the other.
    bytes: Vec<u8>,
    /// Where each name and each value ends.
    ends: Vec<(usize, usize)>,
}

impl Fields {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(name, value)| {
            let field = (&self.bytes[start..name], &self.bytes[name..value]);
            start = value;
            field
        })
    }

    /// The size of the list in bytes: of names and values, and 32 more for each field.
    pub fn size(&self) -> usize {
        self.bytes.len() + OVERHEAD * self.ends.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The last field.
    pub(super) fn last(&self) -> Option<(&[u8], &[u8])> {
        let (&(name, value), before) = self.ends.split_last()?;
        let start = before.last().map_or(0, |&(_, end)| end);
        Some((&self.bytes[start..name], &self.bytes[name..value]))
    }

    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) -> Result<(), HpackError> {
        self.push_with(|bytes| {
            bytes.extend_from_slice(name);
            let name_end = bytes.len();
            bytes.extend_from_slice(value);
            Ok(name_end)
        })
    }

    /// Adds the field that `write` appends; it returns where the name ends.
    pub(super) fn push_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<usize, HpackError>,
    ) -> Result<(), HpackError> {
        let name_end = write(&mut self.bytes)?;
        self.ends.push((name_end, self.bytes.len()));
        if self.size() > MAX_LIST {
            return Err(HpackError::ListTooLong);
        }
        Ok(())
    }
}
