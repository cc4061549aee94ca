//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).

use super::HpackError;

/// The bytes, and the end-of-string symbol, which must not occur.
const SYMBOLS: usize = 257;
const END: u16 = 256;
const LONGEST: usize = 30;

/// The code length of each symbol in bits. That defines all of appendix B: the code is canonical, so the codes of one
/// length are numbered by symbol, and follow the shorter ones.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The symbols ordered by code length, then by symbol.
const ORDERED: [u16; SYMBOLS] = ordered();
/// For each code length, its first code and the index of its symbol in [`ORDERED`].
const FIRST: [(u32, usize); LONGEST + 1] = first();

/// Most codes are at most this long and are found with one lookup.
const SHORT: u32 = 9;
/// For each prefix of [`SHORT`] bits.
const SHORT_CODES: [ShortCode; 1 << SHORT] = short_codes();

#[derive(Clone, Copy)]
struct ShortCode {
    symbol: u8,
    /// 0 if the code is longer than [`SHORT`].
    length: u8,
}

const fn ordered() -> [u16; SYMBOLS] {
    let mut ordered = [0; SYMBOLS];
    let (mut length, mut place) = (0, 0);
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                ordered[place] = symbol as u16;
                place += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    ordered
}

const fn first() -> [(u32, usize); LONGEST + 1] {
    let mut first = [(0, 0); LONGEST + 1];
    let (mut length, mut code, mut place) = (0, 0, 0);
    while length <= LONGEST {
        first[length] = (code, place);
        while place < SYMBOLS && LENGTHS[ORDERED[place] as usize] as usize == length {
            code += 1;
            place += 1;
        }
        code <<= 1;
        length += 1;
    }
    first
}

const fn short_codes() -> [ShortCode; 1 << SHORT] {
    let longer = ShortCode {
        symbol: 0,
        length: 0,
    };
    let mut codes = [longer; 1 << SHORT];
    let mut beginning = 0;
    while beginning < codes.len() {
        let (symbol, length) = search((beginning as u32) << (32 - SHORT));
        if length <= SHORT {
            codes[beginning] = ShortCode {
                symbol: symbol as u8,
                length: length as u8,
            };
        }
        beginning += 1;
    }
    codes
}

/// The symbol whose code `bits` start with, and its code length.
const fn search(bits: u32) -> (u16, u32) {
    let mut length = 1;
    while length < LONGEST {
        let (code, place) = FIRST[length];
        let count = FIRST[length + 1].1 - place;
        let number = (bits >> (32 - length)).wrapping_sub(code) as usize;
        if number < count {
            return (ORDERED[place + number], length as u32);
        }
        length += 1;
    }
    // The code is complete: anything else is one of the longest codes.
    let (code, place) = FIRST[LONGEST];
    let number = (bits >> (32 - LONGEST)) - code;
    (ORDERED[place + number as usize], LONGEST as u32)
}

fn symbol(bits: u32) -> (u16, u32) {
    match SHORT_CODES[(bits >> (32 - SHORT)) as usize] {
        ShortCode { length: 0, .. } => search(bits),
        ShortCode { symbol, length } => (symbol.into(), length.into()),
    }
}

/// Appends the text of `coded` to `into`.
pub(super) fn decode(coded: &[u8], into: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut coded = coded.iter();
    // The bits to decode, from the highest one on; those below are ones, like the padding.
    let mut bits = u64::MAX;
    let mut count = 0;
    loop {
        while count <= 56 {
            let Some(&byte) = coded.next() else { break };
            // Clears the zero bits of the byte.
            bits &= !(u64::from(!byte) << (56 - count));
            count += 8;
        }
        let (symbol, length) = symbol((bits >> 32) as u32);
        if length > count {
            // The rest is less than a code: it must be padding of less than a byte.
            let padded = count < 8 && bits == u64::MAX;
            return padded.then_some(()).ok_or(HpackError::Huffman);
        }
        if symbol == END {
            return Err(HpackError::Huffman);
        }
        into.push(symbol as u8);
        // Shifts in ones.
        bits = !(!bits << length);
        count -= length;
    }
}

/// A code and its length in bits.
#[cfg(test)]
fn code(symbol: u16) -> (u32, u8) {
    let length = LENGTHS[usize::from(symbol)];
    let (code, place) = FIRST[usize::from(length)];
    let number = ORDERED[place..].iter().position(|&other| other == symbol);
    (code + number.unwrap() as u32, length)
}

/// Encodes, for tests: requests are sent uncoded.
#[cfg(test)]
pub(super) fn encode(text: &[u8]) -> Vec<u8> {
    let (mut coded, mut bits, mut count) = (Vec::new(), 0u64, 0);
    for &byte in text {
        let (code, length) = code(byte.into());
        bits = bits << length | u64::from(code);
        count += length;
        while count >= 8 {
            count -= 8;
            coded.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        coded.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
    coded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut text = Vec::new();
        decode(coded, &mut text).map(|()| text)
    }

    #[test]
    fn the_codes_are_those_of_appendix_b() {
        assert_eq!(code(b'0'.into()), (0x0, 5));
        assert_eq!(code(b'z'.into()), (0x7b, 7));
        assert_eq!(code(b'~'.into()), (0x1ffd, 13));
        assert_eq!(code(0xff), (0x3ff_ffee, 26));
        assert_eq!(code(0xfe), (0x7ff_fff0, 27));
        assert_eq!(code(b'\n'.into()), (0x3fff_fffc, 30));
        assert_eq!(code(END), (0x3fff_ffff, 30));
    }

    #[test]
    fn padding_is_less_than_a_byte_of_ones() {
        // `0` is five zeros.
        assert_eq!(decoded(&[0b0000_0111]).unwrap(), b"0");
        assert_eq!(decoded(&[0b0000_0110]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[0xff]), Err(HpackError::Huffman));
        // The end-of-string symbol, even with padding after it.
        assert_eq!(decoded(&[0xff; 4]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    proptest! {
        #[test]
        fn encoded_text_is_decoded(text in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decoded(&encode(&text)).unwrap(), text);
        }

        #[test]
        fn decoded_text_encodes_to_the_same_bytes(coded in prop::collection::vec(any::<u8>(), 0..20)) {
            if let Ok(text) = decoded(&coded) {
                prop_assert_eq!(encode(&text), coded);
            }
        }
    }
}
