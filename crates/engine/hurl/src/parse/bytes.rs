//! Bytes as base64 and hexadecimal digits, and names of files.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

use super::combine::{Parsed, fatal, optional};
use super::key;
use super::primitive::{hex_digit, literal, skip_spaces, try_literal};
use crate::ast::Template;
use crate::reader::Reader;

/// `file,name;`
pub(super) fn file(reader: &mut Reader<'_>) -> Parsed<Template> {
    open(reader, "file")?;
    let name = key::file(reader)?;
    close(reader)?;
    Ok(name)
}

/// `hex,00ff;`
pub(super) fn hex(reader: &mut Reader<'_>) -> Parsed<Vec<u8>> {
    open(reader, "hex")?;
    let mut digits = Vec::new();
    while let Some(digit) = optional(reader, hex_digit)? {
        digits.push(digit as u8);
    }
    let (pairs, []) = digits.as_chunks::<2>() else {
        return fatal(reader.position(), "expecting an even number of hex digits");
    };
    close(reader)?;
    Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Base64 whose last digit may have bits that no byte needs.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// `base64,AA==;`
pub(super) fn base64(reader: &mut Reader<'_>) -> Parsed<Vec<u8>> {
    open(reader, "base64")?;
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let digits = reader.read_while(|c| is_digit(c) || matches!(c, ' ' | '\n' | '\t'));
    let mut digits: String = digits.chars().filter(|c| is_digit(*c)).collect();
    // A single digit has no byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    // Padding ends the digits, whether it is needed or not.
    reader.read_while(|character| character == '=');
    close(reader)?;
    Ok(BASE64.decode(digits).unwrap_or_default())
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
            assert_eq!(bytes.as_deref(), expected, "{text}");
        }
    }
}
