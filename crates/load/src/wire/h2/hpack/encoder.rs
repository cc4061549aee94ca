//! Encodes the header blocks to send (RFC 7541, section 6).
//!
//! It never uses the dynamic table, so a block can be encoded once and sent on any connection any number of times.

use super::table::STATIC;

/// The first byte of a connection's first block: shrinks the table to nothing, which satisfies a server that wants a
/// smaller one than the default (section 4.2).
pub const EMPTY_TABLE: u8 = 0b0010_0000;

/// Appends `fields`, with names in lower case, to `block`: as an index if the static table has them, else as text.
pub fn encode(fields: &[(&str, &str)], block: &mut Vec<u8>) {
    for &(name, value) in fields {
        if let Some(place) = STATIC.iter().position(|&field| field == (name, value)) {
            integer(place + 1, 7, 0b1000_0000, block);
            continue;
        }
        match STATIC.iter().position(|field| field.0 == name) {
            Some(place) => integer(place + 1, 4, 0, block),
            None => {
                block.push(0);
                string(name, block);
            }
        }
        string(value, block);
    }
}

fn string(text: &str, block: &mut Vec<u8>) {
    integer(text.len(), 7, 0, block);
    block.extend_from_slice(text.as_bytes());
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
    use crate::wire::h2::hpack::{Decoder, Fields};
    use proptest::prelude::*;

    #[test]
    fn integers_are_those_of_appendix_c_1() {
        let encode = |number, prefix| {
            let mut block = Vec::new();
            integer(number, prefix, 0, &mut block);
            block
        };
        assert_eq!(encode(10, 5), [10]);
        assert_eq!(encode(1337, 5), [31, 154, 10]);
        assert_eq!(encode(42, 7), [42]);
        assert_eq!(encode(127, 7), [127, 0]);
    }

    #[test]
    fn fields_of_the_static_table_become_indexes() {
        let mut block = Vec::new();
        encode(
            &[(":method", "POST"), (":path", "/x"), ("te", "trailers")],
            &mut block,
        );
        assert_eq!(block, b"\x83\x04\x02/x\x00\x02te\x08trailers");
    }

    proptest! {
        #[test]
        fn encoded_fields_are_decoded(
            fields in prop::collection::vec(("[a-z:-]{0,200}", "\\PC{0,300}"), 0..8),
        ) {
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (&**name, &**value)).collect();
            let mut block = vec![EMPTY_TABLE];
            encode(&fields, &mut block);
            let mut decoded = Fields::default();
            Decoder::default().decode(&block, &mut decoded).unwrap();
            let expected: Vec<_> =
                fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
            prop_assert_eq!(decoded.iter().collect::<Vec<_>>(), expected);
        }
    }
}
