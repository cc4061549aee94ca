//! HPACK (RFC 7541), the encoding of header fields in HTTP/2.
//!
//! `loona-hpack` takes 1.2 times the CPU time for responses whose fields are all in its table, and 150 times if texts
//! are Huffman-coded, as in the first response of a connection and in all that carry a new date or a request id: 130
//! µs, when a whole request costs 4 µs (`cargo run --release -p prony-http --example hpack`). Its encoder puts every
//! field into the table, so a block could not be encoded once for all connections.

mod decoder;
mod encoder;
mod huffman;
mod table;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, TABLE_SIZE};
pub use encoder::{EMPTY_TABLE, Repeated, encode, resize_table};

/// Why a header block cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    #[error("a header block ends in the middle of a field")]
    Cut,
    #[error("a header block has a number that does not fit into 32 bits")]
    Number,
    #[error("a header block refers to field {0}, which the tables do not have")]
    Index(usize),
    #[error("a header block has a string with a broken Huffman code")]
    Huffman,
    #[error("a header block changes the table size in the wrong place or by too much")]
    TableSize,
    #[error("the header fields are longer than {} KiB together", MAX_LIST / 1024)]
    ListTooLong,
}

/// The longest list to decode, in bytes as [`Fields::size`] counts them.
pub const MAX_LIST: usize = 64 * 1024;

/// The size of a field beyond its name and value (RFC 7541, section 4.1).
const OVERHEAD: usize = 32;

/// Header fields in the order received.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Names and values, concatenated.
    bytes: Vec<u8>,
    ends: Vec<FieldEnds>,
}

#[derive(Clone, Copy, Debug)]
struct FieldEnds {
    name: usize,
    value: usize,
}

impl Fields {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&FieldEnds { name, value }| {
            let field = (&self.bytes[start..name], &self.bytes[name..value]);
            start = value;
            field
        })
    }

    /// The size of the list in bytes: of names and values, and 32 more for each field.
    pub fn size(&self) -> usize {
        self.bytes.len() + OVERHEAD * self.ends.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn last(&self) -> Option<(&[u8], &[u8])> {
        let (&FieldEnds { name, value }, before) = self.ends.split_last()?;
        let start = before.last().map_or(0, |ends| ends.value);
        Some((&self.bytes[start..name], &self.bytes[name..value]))
    }

    fn push(&mut self, name: &[u8], value: &[u8]) -> Result<(), HpackError> {
        self.push_with(|bytes| {
            bytes.extend_from_slice(name);
            let name_end = bytes.len();
            bytes.extend_from_slice(value);
            Ok(name_end)
        })
    }

    /// Adds the field that `write` appends; it returns where the name ends.
    fn push_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<usize, HpackError>,
    ) -> Result<(), HpackError> {
        let name = write(&mut self.bytes)?;
        let value = self.bytes.len();
        self.ends.push(FieldEnds { name, value });
        if self.size() > MAX_LIST {
            return Err(HpackError::ListTooLong);
        }
        Ok(())
    }
}
