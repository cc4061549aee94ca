//! A decoded header block has the fields that another decoder finds in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::wire::h2::hpack::{Decoder, Fields, MAX_LIST};

fuzz_target!(|blocks: Vec<&[u8]>| {
    let (mut ours, mut theirs) = (Decoder::default(), loona_hpack::Decoder::new());
    let mut fields = Fields::default();
    for block in blocks {
        let result = ours.decode(block, &mut fields);
        assert!(fields.size() < 2 * (MAX_LIST + block.len()));
        if result.is_err() {
            return;
        }
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
        match theirs.decode(block) {
            Ok(expected) => assert_eq!(fields, expected),
            // loona-hpack rejects a change of the table size that no field follows.
            Err(_) => assert!(fields.is_empty()),
        }
    }
});
