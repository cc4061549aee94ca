//! HPACK (RFC 7541): how header fields are written in HTTP/2.
//!
//! `loona-hpack` takes 1.2 times the CPU time for responses whose fields are all in its table, and 150 times if texts are
//! Huffman-coded, as in the first response of a connection and in all that carry a new date or a request id: 130 µs,
//! when a whole request costs 4 µs (`cargo run --release -p prony-load --example hpack`). Its encoder puts every field
//! into the table, so a block could not be encoded once for all connections.

mod decoder;
mod encoder;
mod fields;
mod huffman;
mod table;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, TABLE_SIZE};
pub use encoder::{EMPTY_TABLE, encode};
pub use fields::{Fields, MAX_LIST};

/// Why a header block cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// The block ends within a field.
    #[error("a header block ends in the middle of a field")]
    Cut,
    /// A number beyond any that has a meaning.
    #[error("a header block has a number that does not fit into 32 bits")]
    Number,
    /// A field that is in no table.
    #[error("a header block names field {0} of the tables, which is not there")]
    Index(usize),
    /// A string in a code that is none.
    #[error("a header block has a string with a broken Huffman code")]
    Huffman,
    /// A dynamic table larger than was allowed, or changed within the block.
    #[error("a header block changes the size of the table where, or as, it must not")]
    TableSize,
    /// Too many fields, or too long ones.
    #[error("the header fields are longer than {} KiB together", MAX_LIST / 1024)]
    ListTooLong,
}
