//! Bytes as base64 and hexadecimal digits, and names of files.

use super::combine::{Parsed, fatal, optional};
use super::key;
use super::primitive::{hex_digit, literal, skip_spaces, try_literal};
use crate::ast::{Bytes, Template};
use crate::reader::Reader;

/// `file,name;`
pub(super) fn file(reader: &mut Reader<'_>) -> Parsed<Template> {
    open(reader, "file")?;
    let name = key::file(reader)?;
    close(reader)?;
    Ok(name)
}

/// `hex,00ff;`
pub(super) fn hex(reader: &mut Reader<'_>) -> Parsed<Bytes> {
    open(reader, "hex")?;
    let position = reader.position();
    let mut digits = Vec::new();
    while let Some(digit) = optional(reader, hex_digit)? {
        digits.push(digit as u8);
    }
    let (pairs, []) = digits.as_chunks::<2>() else {
        return fatal(reader.position(), "expecting an even number of hex digits");
    };
    let value = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    close(reader)?;
    Ok(Bytes { value, position })
}

/// `base64,AA==;`
pub(super) fn base64(reader: &mut Reader<'_>) -> Parsed<Bytes> {
    open(reader, "base64")?;
    let position = reader.position();
    let mut digits = Vec::new();
    while let Some(character) = reader.peek() {
        match sextet(character) {
            Some(value) => digits.push(value),
            None if matches!(character, ' ' | '\n' | '\t') => {}
            None => break,
        }
        reader.read();
    }
    // Padding ends the digits, whether it is needed or not.
    reader.read_while(|character| character == '=');
    close(reader)?;
    Ok(Bytes {
        value: digits.chunks(4).flat_map(decoded).collect(),
        position,
    })
}

fn open(reader: &mut Reader<'_>, keyword: &str) -> Parsed<()> {
    try_literal(reader, keyword)?;
    literal(reader, ",")?;
    skip_spaces(reader);
    Ok(())
}

fn close(reader: &mut Reader<'_>) -> Parsed<()> {
    skip_spaces(reader);
    literal(reader, ";")
}

/// The six bits of a digit of base64.
fn sextet(character: char) -> Option<u8> {
    let byte = u8::try_from(character).ok()?;
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// The bytes of up to four digits. A single digit has no byte.
fn decoded(digits: &[u8]) -> impl Iterator<Item = u8> {
    let bits = digits
        .iter()
        .chain(&[0; 3])
        .take(4)
        .fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit));
    let [_, bytes @ ..] = bits.to_be_bytes();
    bytes.into_iter().take(digits.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_may_lack_padding_and_hexadecimal_digits_come_in_pairs() {
        for (text, expected) in [
            (
                "base64,YW55IGNhcm5hbCBwbGVhcw==;",
                Some(&b"any carnal pleas"[..]),
            ),
            (
                "base64, YW55\n IGNhcm5hbCBwbGVhcw ;",
                Some(b"any carnal pleas"),
            ),
            ("base64,YWI;", Some(b"ab")),
            ("base64,Y;", Some(b"")),
            ("base64,Y*;", None),
            ("hex, 00fF ;", Some(&[0, 255])),
            ("hex,;", Some(b"")),
            ("hex,0;", None),
        ] {
            let parser = if text.starts_with("hex") { hex } else { base64 };
            let bytes = parser(&mut Reader::new(text)).ok();
            assert_eq!(
                bytes.as_ref().map(|bytes| &bytes.value[..]),
                expected,
                "{text}"
            );
        }
    }
}
