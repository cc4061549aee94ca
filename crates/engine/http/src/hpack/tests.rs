//! The decoder against the examples of RFC 7541, another decoder, and invalid blocks.

use proptest::prelude::*;

use super::{Decoder, EMPTY_TABLE, Fields, HpackError, MAX_LIST, TABLE_SIZE, huffman};

type List = Vec<(Vec<u8>, Vec<u8>)>;

/// Sets the table size to 256 bytes, as in appendices C.5 and C.6.
const TABLE_OF_256: &str = "3fe101";

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.chars().filter_map(|digit| digit.to_digit(16));
    let digits: Vec<u32> = digits.collect();
    let bytes = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8);
    bytes.collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<List, HpackError> {
    let mut fields = Fields::default();
    decoder.decode(block, &mut fields)?;
    let fields = fields.iter();
    Ok(fields
        .map(|(name, value)| (name.into(), value.into()))
        .collect())
}

fn refuse(block: &[u8]) -> HpackError {
    decode(&mut Decoder::default(), block).unwrap_err()
}

/// Decodes the blocks in order and compares each as `name: value` lines.
fn assert_decoded(blocks: &[&str], expected: &[&str]) {
    let mut decoder = Decoder::default();
    assert_eq!(blocks.len(), expected.len());
    for (block, expected) in blocks.iter().zip(expected) {
        let fields = decode(&mut decoder, &unhex(block)).unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let lines = fields
            .into_iter()
            .map(|(name, value)| [text(name), text(value)].join(": "));
        assert_eq!(lines.collect::<Vec<_>>().join("\n"), *expected, "{block}");
    }
}

/// The single fields of appendix C.2.
const SINGLE: [&str; 4] = [
    "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
    "040c 2f73 616d 706c 652f 7061 7468",
    "1008 7061 7373 776f 7264 0673 6563 7265 74",
    "82",
];

#[test]
fn changes_of_the_table_are_counted() {
    let [custom, path, _, get] = SINGLE;
    let mut decoder = Decoder::default();
    let counts = [get, path, custom, "be", TABLE_OF_256].map(|block| {
        decode(&mut decoder, &unhex(block)).unwrap();
        decoder.changes()
    });
    assert_eq!(counts, [0, 0, 1, 1, 2]);
}

#[test]
fn single_fields_are_those_of_appendix_c_2() {
    let expected =
        "custom-key: custom-header | :path: /sample/path | password: secret | :method: GET";
    for (block, expected) in SINGLE.iter().zip(expected.split(" | ")) {
        assert_decoded(&[block], &[expected]);
    }
}

const REQUESTS: [&str; 3] = [
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com",
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache",
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value",
];

#[test]
fn requests_are_those_of_appendix_c_3() {
    let blocks = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    assert_decoded(&blocks, &REQUESTS);
}

#[test]
fn requests_with_huffman_codes_are_those_of_appendix_c_4() {
    let blocks = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    assert_decoded(&blocks, &REQUESTS);
}

const RESPONSES: [&str; 3] = [
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com",
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com",
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com\n\
     content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
];

#[test]
fn responses_with_evictions_are_those_of_appendix_c_5() {
    let first = "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a \
        3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d";
    let third = "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d \
        54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 \
        5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31";
    let first = [TABLE_OF_256, first].concat();
    assert_decoded(&[&first, "4803 3330 37c1 c0bf", third], &RESPONSES);
}

#[test]
fn responses_with_evictions_and_huffman_codes_are_those_of_appendix_c_6() {
    let first = "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
        919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
    let third = "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab \
        77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 \
        65c0 03ed 4ee5 b106 3d50 07";
    let first = [TABLE_OF_256, first].concat();
    assert_decoded(&[&first, "4883 640e ffc1 c0bf", third], &RESPONSES);
}

#[test]
fn invalid_blocks_are_refused() {
    let most = u32::MAX as usize;
    for (block, error) in [
        ("40", HpackError::Cut),
        ("4001", HpackError::Cut),
        ("0001 61", HpackError::Cut),
        ("00 0161 0262", HpackError::Cut),
        ("82 ff", HpackError::Cut),
        ("3f", HpackError::Cut),
        ("80", HpackError::Index(0)),
        ("be", HpackError::Index(62)),
        // 2^32, and an endless number.
        ("ff 81ff ffff 0f", HpackError::Number),
        ("ff 8080 8080 8000", HpackError::Number),
        ("ff 80ff ffff 0f", HpackError::Index(most)),
        // A string of 4 GiB less one.
        ("00 7f80 ffff ff0f", HpackError::Cut),
        ("00 0161 81ff", HpackError::Huffman),
    ] {
        assert_eq!(refuse(&unhex(block)), error, "{block}");
    }
}

#[test]
fn the_table_size_changes_only_at_the_start_of_a_block() {
    assert_eq!(refuse(&[0x82, EMPTY_TABLE]), HpackError::TableSize);
    let larger = integer(TABLE_SIZE + 1, 5, EMPTY_TABLE);
    assert_eq!(refuse(&larger), HpackError::TableSize);

    let mut decoder = Decoder::default();
    decode(&mut decoder, &unhex("4001 6101 62")).unwrap();
    let field = decode(&mut decoder, &[0x80 | 62]);
    assert_eq!(field.unwrap(), [(b"a".into(), b"b".into())]);
    // The table shrinks to nothing and grows again, and its fields are gone.
    let shrunk = [&[EMPTY_TABLE][..], &unhex("3fe11f"), &[0x80 | 62]].concat();
    assert_eq!(decode(&mut decoder, &shrunk), Err(HpackError::Index(62)));
}

#[test]
fn a_short_block_cannot_make_a_long_list() {
    let mut decoder = Decoder::default();
    let value = [b'v'; 4000];
    let block = [&[0x40, 1, b'n'][..], &integer(value.len(), 7, 0), &value].concat();
    decode(&mut decoder, &block).unwrap();
    let times = MAX_LIST / (value.len() + 33);
    let list = decode(&mut decoder, &vec![0x80 | 62; times]).unwrap();
    assert_eq!(list.len(), times);
    let bomb = vec![0x80 | 62; times + 1];
    assert_eq!(decode(&mut decoder, &bomb), Err(HpackError::ListTooLong));
    assert_eq!(refuse(&[0x82; MAX_LIST / 32]), HpackError::ListTooLong);
}

/// A text as a block has it, coded or not.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let short = prop::collection::vec(any::<u8>(), 0..20);
    let long = prop::collection::vec(any::<u8>(), 0..1500);
    let text = (prop_oneof![4 => short, 1 => long], any::<bool>());
    text.prop_map(|(text, coded)| {
        let (text, flag) = if coded {
            (huffman::encode(&text), 0x80)
        } else {
            (text, 0)
        };
        [integer(text.len(), 7, flag), text].concat()
    })
}

fn integer(number: usize, prefix: u32, flags: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    super::encoder::integer(number, prefix, flags, &mut bytes);
    bytes
}

/// A piece of a block that an encoder may choose.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let index = || 1usize..80;
    let kind = prop_oneof![2 => Just(0x40), 1 => Just(0), 1 => Just(0x10)];
    // By index, or as text.
    let name = prop_oneof![
        index().prop_map(|it| (it, vec![])),
        text().prop_map(|it| (0, it))
    ];
    let literal = (kind, name, text()).prop_map(|(kind, (index, name), value)| {
        let prefix = if kind == 0x40 { 6 } else { 4 };
        [integer(index, prefix, kind), name, value].concat()
    });
    prop_oneof![index().prop_map(|index| integer(index, 7, 0x80)), literal]
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    let resize = prop::option::weighted(0.2, 0..=TABLE_SIZE);
    (resize, prop::collection::vec(piece(), 1..8)).prop_map(|(resize, pieces)| {
        let resize = resize.map(|size| integer(size, 5, EMPTY_TABLE));
        [resize.unwrap_or_default(), pieces.concat()].concat()
    })
}

proptest! {
    /// Plausible blocks, with indexes that may be invalid.
    #[test]
    fn blocks_are_decoded_as_by_another_decoder(blocks in prop::collection::vec(block(), 1..20)) {
        let (mut ours, mut theirs) = (Decoder::default(), loona_hpack::Decoder::new());
        for block in blocks {
            let expected = theirs.decode(&block).ok();
            prop_assert_eq!(decode(&mut ours, &block).ok(), expected.clone());
            if expected.is_none() {
                break;
            }
        }
    }

    /// Any bytes. The other decoder allows size changes everywhere but at the end.
    #[test]
    fn blocks_that_another_decoder_refuses_are_refused(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..4),
    ) {
        let (mut ours, mut theirs) = (Decoder::default(), loona_hpack::Decoder::new());
        for block in blocks {
            let Ok(fields) = decode(&mut ours, &block) else {
                break;
            };
            match theirs.decode(&block) {
                Ok(expected) => prop_assert_eq!(fields, expected),
                Err(_) => prop_assert!(fields.is_empty()),
            }
        }
    }
}
