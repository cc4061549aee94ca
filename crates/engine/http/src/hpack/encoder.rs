//! Encodes the header blocks to send (RFC 7541, section 6).
//!
//! A block is encoded once and sent any number of times. [`encode`] never uses the dynamic table, so its block fits any
//! connection; [`Repeated`] puts the fields into the table once for each connection.

use super::OVERHEAD;
use super::table::STATIC;

/// The first byte of a block: empties the table for good, which satisfies a server that wants a smaller one than the
/// default (section 4.2).
pub const EMPTY_TABLE: u8 = 0b0010_0000;

/// How the field differs from one in the tables.
const INDEXED: u8 = 0b1000_0000;
const ADDED: u8 = 0b0100_0000;
const NOT_ADDED: u8 = 0;

/// Appends `fields`, with names in lower case, to `block`: as an index if the static table has them, else as text.
pub fn encode(fields: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)], block: &mut Vec<u8>) {
    for (name, value) in fields {
        let (name, value) = (name.as_ref(), value.as_ref());
        match static_index(name, value) {
            Some(index) => integer(index, 7, INDEXED, block),
            None => literal(name, value, 4, NOT_ADDED, block),
        }
    }
}

/// Blocks for the same fields again and again over one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The first block: adds the fields to the table.
    pub first: Vec<u8>,
    /// Each further block: refers to the table, if it has nothing but the fields of the first block.
    pub further: Vec<u8>,
    /// The table's size with these fields, in bytes.
    pub table_size: usize,
}

impl Repeated {
    /// Encodes `fields`, with names in lower case.
    pub fn new(fields: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Self {
        let (mut first, mut further) = (Vec::new(), Vec::new());
        let fields = fields.iter().map(|(name, value)| {
            let (name, value) = (name.as_ref(), value.as_ref());
            (name, value, static_index(name, value))
        });
        let added = fields.clone().filter(|(.., index)| index.is_none());
        let table_size = added
            .clone()
            .map(|(name, value, _)| name.len() + value.len() + OVERHEAD)
            .sum();
        // The newest field has the lowest index (section 2.3.3).
        let mut newer = added.count();
        for (name, value, index) in fields {
            match index {
                Some(index) => {
                    integer(index, 7, INDEXED, &mut first);
                    integer(index, 7, INDEXED, &mut further);
                }
                None => {
                    literal(name, value, 6, ADDED, &mut first);
                    integer(STATIC.len() + newer, 7, INDEXED, &mut further);
                    newer -= 1;
                }
            }
        }
        Self {
            first,
            further,
            table_size,
        }
    }
}

/// Appends a change of the table's size to `block`, allowed at its start only (section 6.3).
pub fn resize_table(size: usize, block: &mut Vec<u8>) {
    integer(size, 5, EMPTY_TABLE, block);
}

/// The index of that field, from 1 on.
fn static_index(name: &[u8], value: &[u8]) -> Option<usize> {
    STATIC
        .iter()
        .position(|field| field.0.as_bytes() == name && field.1.as_bytes() == value)
        .map(|place| place + 1)
}

fn literal(name: &[u8], value: &[u8], prefix: u32, kind: u8, block: &mut Vec<u8>) {
    match STATIC.iter().position(|field| field.0.as_bytes() == name) {
        Some(place) => integer(place + 1, prefix, kind, block),
        None => {
            block.push(kind);
            string(name, block);
        }
    }
    string(value, block);
}

fn string(text: &[u8], block: &mut Vec<u8>) {
    integer(text.len(), 7, 0, block);
    block.extend_from_slice(text);
}

/// Appends an integer: its first `prefix` bits follow the `kind` bits of its first byte (section 5.1).
pub(super) fn integer(number: usize, prefix: u32, kind: u8, block: &mut Vec<u8>) {
    let mask = (1usize << prefix) - 1;
    if number < mask {
        block.push(kind | number as u8);
        return;
    }
    block.push(kind | mask as u8);
    let mut rest = number - mask;
    while rest >= 0x80 {
        block.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    block.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::{Decoder, Fields};
    use proptest::prelude::*;

    #[test]
    fn integers_are_those_of_appendix_c_1() {
        for (number, prefix, expected) in [
            (10, 5, &[10][..]),
            (1337, 5, &[31, 154, 10]),
            (42, 7, &[42]),
            (127, 7, &[127, 0]),
        ] {
            let mut block = Vec::new();
            integer(number, prefix, 0, &mut block);
            assert_eq!(block, expected);
        }
    }

    #[test]
    fn fields_of_the_static_table_become_indexes() {
        let mut block = Vec::new();
        let fields = [(":method", "POST"), (":path", "/x"), ("te", "trailers")];
        encode(&fields, &mut block);
        assert_eq!(block, b"\x83\x04\x02/x\x00\x02te\x08trailers");
    }

    #[test]
    fn repeated_fields_become_indexes_of_the_table() {
        let fields = [(":method", "GET"), (":path", "/x"), ("a", "b")];
        let repeated = Repeated::new(&fields);
        assert_eq!(repeated.first, b"\x82\x44\x02/x\x40\x01a\x01b");
        assert_eq!(repeated.further, [0x82, 0x80 | 63, 0x80 | 62]);
        assert_eq!(repeated.table_size, 7 + 32 + 2 + 32);
    }

    /// That each of these blocks in order has these fields.
    fn assert_decoded(blocks: &[&[u8]], fields: &[(String, String)]) {
        let (mut decoder, mut decoded) = (Decoder::default(), Fields::default());
        let expected = fields
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let expected: Vec<_> = expected.collect();
        for block in blocks {
            decoder.decode(block, &mut decoded).unwrap();
            assert_eq!(decoded.iter().collect::<Vec<_>>(), expected);
        }
    }

    proptest! {
        #[test]
        fn repeated_blocks_decode_to_the_same_fields(
            fields in prop::collection::vec(("[a-z-]{0,40}", "\\PC{0,40}"), 0..20),
        ) {
            let repeated = Repeated::new(&fields);
            prop_assume!(repeated.table_size <= 4096);
            assert_decoded(&[&repeated.first, &repeated.further, &repeated.further], &fields);
        }

        #[test]
        fn encoded_fields_are_decoded(
            fields in prop::collection::vec(("[a-z:-]{0,200}", "\\PC{0,300}"), 0..8),
        ) {
            let mut block = vec![EMPTY_TABLE];
            encode(&fields, &mut block);
            assert_decoded(&[&block], &fields);
        }
    }
}
