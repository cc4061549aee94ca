//! The decoder against the examples of RFC 7541, another decoder, and invalid blocks.

use proptest::prelude::*;

use super::{Decoder, EMPTY_TABLE, Fields, HpackError, MAX_LIST, TABLE_SIZE, huffman};

type List = Vec<(Vec<u8>, Vec<u8>)>;

/// Sets the table size to 256 bytes, as in appendices C.5 and C.6.
const TABLE_OF_256: &str = "3fe101";

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<List, HpackError> {
    let mut fields = Fields::default();
    decoder.decode(block, &mut fields)?;
    let fields = fields.iter();
    Ok(fields
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect())
}

fn refuse(block: &[u8]) -> HpackError {
    decode(&mut Decoder::default(), block).unwrap_err()
}

/// Decodes the blocks in order and compares each as `name: value` lines.
fn assert_decoded(blocks: &[(&str, &[&str])]) {
    let mut decoder = Decoder::default();
    for (block, expected) in blocks {
        let fields = decode(&mut decoder, &unhex(block)).unwrap();
        let shown = fields.iter().map(|(name, value)| {
            format!(
                "{}: {}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(value)
            )
        });
        assert_eq!(shown.collect::<Vec<_>>(), *expected, "{block}");
    }
}

#[test]
fn changes_of_the_table_are_counted() {
    let mut decoder = Decoder::default();
    let mut counts = Vec::new();
    for block in [
        "82",
        "040c 2f73 616d 706c 652f 7061 7468",
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        "be",
        TABLE_OF_256,
    ] {
        decode(&mut decoder, &unhex(block)).unwrap();
        counts.push(decoder.changes());
    }
    assert_eq!(counts, [0, 0, 1, 1, 2]);
}

#[test]
fn single_fields_are_those_of_appendix_c_2() {
    let block = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    assert_decoded(&[(block, &["custom-key: custom-header"])]);
    assert_decoded(&[(
        "040c 2f73 616d 706c 652f 7061 7468",
        &[":path: /sample/path"],
    )]);
    assert_decoded(&[(
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        &["password: secret"],
    )]);
    assert_decoded(&[("82", &[":method: GET"])]);
}

const FIRST: [&str; 4] = [
    ":method: GET",
    ":scheme: http",
    ":path: /",
    ":authority: www.example.com",
];
const SECOND: [&str; 5] = [
    ":method: GET",
    ":scheme: http",
    ":path: /",
    ":authority: www.example.com",
    "cache-control: no-cache",
];
const THIRD: [&str; 5] = [
    ":method: GET",
    ":scheme: https",
    ":path: /index.html",
    ":authority: www.example.com",
    "custom-key: custom-value",
];

#[test]
fn requests_are_those_of_appendix_c_3() {
    assert_decoded(&[
        ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", &FIRST),
        ("8286 84be 5808 6e6f 2d63 6163 6865", &SECOND),
        (
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            &THIRD,
        ),
    ]);
}

#[test]
fn requests_with_huffman_codes_are_those_of_appendix_c_4() {
    assert_decoded(&[
        ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", &FIRST),
        ("8286 84be 5886 a8eb 1064 9cbf", &SECOND),
        (
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
            &THIRD,
        ),
    ]);
}

const FIRST_RESPONSE: [&str; 4] = [
    ":status: 302",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
];
const SECOND_RESPONSE: [&str; 4] = [
    ":status: 307",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:21 GMT",
    "location: https://www.example.com",
];
const THIRD_RESPONSE: [&str; 6] = [
    ":status: 200",
    "cache-control: private",
    "date: Mon, 21 Oct 2013 20:13:22 GMT",
    "location: https://www.example.com",
    "content-encoding: gzip",
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
];

#[test]
fn responses_with_evictions_are_those_of_appendix_c_5() {
    let first = [
        TABLE_OF_256,
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a",
        "3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
    ];
    let third = "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d \
        54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 \
        5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31";
    assert_decoded(&[
        (&first.concat(), &FIRST_RESPONSE),
        ("4803 3330 37c1 c0bf", &SECOND_RESPONSE),
        (third, &THIRD_RESPONSE),
    ]);
}

#[test]
fn responses_with_evictions_and_huffman_codes_are_those_of_appendix_c_6() {
    let first = [
        TABLE_OF_256,
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e",
        "919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    ];
    let third = "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab \
        77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 \
        65c0 03ed 4ee5 b106 3d50 07";
    assert_decoded(&[
        (&first.concat(), &FIRST_RESPONSE),
        ("4883 640e ffc1 c0bf", &SECOND_RESPONSE),
        (third, &THIRD_RESPONSE),
    ]);
}

#[test]
fn invalid_blocks_are_refused() {
    for cut in [
        "40",
        "4001",
        "000161",
        "0001 61",
        "00 0161 0262",
        "82 ff",
        "3f",
    ] {
        assert_eq!(refuse(&unhex(cut)), HpackError::Cut, "{cut}");
    }
    assert_eq!(refuse(&[0x80]), HpackError::Index(0));
    assert_eq!(refuse(&[0x80 | 62]), HpackError::Index(62));
    // 2^32, and an endless number.
    assert_eq!(refuse(&unhex("ff 81ff ffff 0f")), HpackError::Number);
    assert_eq!(refuse(&unhex("ff 8080 8080 8000")), HpackError::Number);
    assert_eq!(
        refuse(&unhex("ff 80ff ffff 0f")),
        HpackError::Index(u32::MAX as usize)
    );
    // A string of 4 GiB less one.
    assert_eq!(refuse(&unhex("00 7f80 ffff ff0f")), HpackError::Cut);
    assert_eq!(refuse(&unhex("00 0161 81ff")), HpackError::Huffman);
}

#[test]
fn the_table_size_changes_only_at_the_start_of_a_block() {
    assert_eq!(refuse(&[0x82, EMPTY_TABLE]), HpackError::TableSize);
    let mut larger = Vec::new();
    super::encoder::integer(TABLE_SIZE + 1, 5, EMPTY_TABLE, &mut larger);
    assert_eq!(refuse(&larger), HpackError::TableSize);

    let mut decoder = Decoder::default();
    decode(&mut decoder, &unhex("4001 6101 62")).unwrap();
    assert_eq!(
        decode(&mut decoder, &[0x80 | 62]).unwrap(),
        [(b"a".into(), b"b".into())]
    );
    // The table shrinks to nothing and grows again, and its fields are gone.
    let shrunk = [&[EMPTY_TABLE][..], &unhex("3fe11f"), &[0x80 | 62]].concat();
    assert_eq!(decode(&mut decoder, &shrunk), Err(HpackError::Index(62)));
}

#[test]
fn a_short_block_cannot_make_a_long_list() {
    let mut decoder = Decoder::default();
    let value = [b'v'; 4000];
    let mut block = vec![0x40, 1, b'n'];
    super::encoder::integer(value.len(), 7, 0, &mut block);
    block.extend_from_slice(&value);
    decode(&mut decoder, &block).unwrap();
    let times = MAX_LIST / (value.len() + 33);
    assert_eq!(
        decode(&mut decoder, &vec![0x80 | 62; times]).unwrap().len(),
        times
    );
    let bomb = vec![0x80 | 62; times + 1];
    assert_eq!(decode(&mut decoder, &bomb), Err(HpackError::ListTooLong));
    assert_eq!(refuse(&[0x82; MAX_LIST / 32]), HpackError::ListTooLong);
}

/// A piece of a block that an encoder may choose.
#[derive(Clone, Debug)]
enum Piece {
    Indexed(usize),
    /// How it is indexed (`0x40`, 0 or `0x10`), a name by index or as text, and the value.
    Literal(u8, Result<usize, Text>, Text),
}

/// Text, and whether it is coded.
type Text = (Vec<u8>, bool);

fn text() -> impl Strategy<Value = Text> {
    let short = prop::collection::vec(any::<u8>(), 0..20);
    let long = prop::collection::vec(any::<u8>(), 0..1500);
    (prop_oneof![4 => short, 1 => long], any::<bool>())
}

fn piece() -> impl Strategy<Value = Piece> {
    let index = || 1usize..80;
    let name = prop_oneof![index().prop_map(Ok), text().prop_map(Err)];
    let kind = prop_oneof![2 => Just(0x40), 1 => Just(0), 1 => Just(0x10)];
    prop_oneof![
        index().prop_map(Piece::Indexed),
        (kind, name, text()).prop_map(|(kind, name, value)| Piece::Literal(kind, name, value)),
    ]
}

fn push_text((text, coded): &Text, block: &mut Vec<u8>) {
    let (text, flag) = if *coded {
        (huffman::encode(text), 0x80)
    } else {
        (text.clone(), 0)
    };
    super::encoder::integer(text.len(), 7, flag, block);
    block.extend_from_slice(&text);
}

fn push_piece(piece: &Piece, block: &mut Vec<u8>) {
    match piece {
        Piece::Indexed(index) => super::encoder::integer(*index, 7, 0x80, block),
        Piece::Literal(kind, name, value) => {
            let prefix = if *kind == 0x40 { 6 } else { 4 };
            let index = *name.as_ref().unwrap_or(&0);
            super::encoder::integer(index, prefix, *kind, block);
            if let Err(name) = name {
                push_text(name, block);
            }
            push_text(value, block);
        }
    }
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    let resize = prop::option::weighted(0.2, 0..=TABLE_SIZE);
    (resize, prop::collection::vec(piece(), 1..8)).prop_map(|(resize, pieces)| {
        let mut block = Vec::new();
        if let Some(size) = resize {
            super::encoder::integer(size, 5, EMPTY_TABLE, &mut block);
        }
        pieces
            .iter()
            .for_each(|piece| push_piece(piece, &mut block));
        block
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
