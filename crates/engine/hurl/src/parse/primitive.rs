//! Spaces, line ends, comments and literals.

use super::combine::{Parsed, Refusal, fatal, optional, soft};
use crate::reader::Reader;

pub(super) fn skip_spaces(reader: &mut Reader<'_>) -> bool {
    !reader.read_while(is_space).is_empty()
}

pub(super) fn spaces(reader: &mut Reader<'_>) -> Parsed<()> {
    let start = reader.position();
    if skip_spaces(reader) {
        Ok(())
    } else {
        fatal(start, "expecting a space")
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// White space of JSON and XML.
pub(super) fn is_white_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Reads `expected`, or refuses at its start. The cursor is then anywhere.
pub(super) fn literal(reader: &mut Reader<'_>, expected: &str) -> Parsed<()> {
    try_literal(reader, expected).map_err(Refusal::into_fatal)
}

pub(super) fn try_literal(reader: &mut Reader<'_>, expected: &str) -> Parsed<()> {
    let start = reader.position();
    if reader.skip(expected) {
        Ok(())
    } else {
        soft(start, format!("expecting '{expected}'"))
    }
}

/// Reads the first keyword of `table` that the text begins with; its meaning.
pub(super) fn keyword<T: Copy>(reader: &mut Reader<'_>, table: &[(&str, T)]) -> Option<T> {
    let mut table = table.iter();
    table.find_map(|(keyword, meaning)| reader.skip(keyword).then_some(*meaning))
}

pub(super) fn newline(reader: &mut Reader<'_>) -> Parsed<()> {
    let start = reader.position();
    if reader.skip("\r\n") || reader.skip("\n") {
        Ok(())
    } else {
        fatal(start, "expecting a new line")
    }
}

/// Spaces, a comment and the end of the line, or of the file.
pub(super) fn line_end(reader: &mut Reader<'_>) -> Parsed<()> {
    skip_spaces(reader);
    if reader.skip("#") {
        skip_comment(reader);
    }
    let start = reader.position();
    if reader.is_at_end() || newline(reader).is_ok() {
        Ok(())
    } else {
        fatal(start, "expecting the end of the line")
    }
}

fn skip_comment(reader: &mut Reader<'_>) {
    while !reader.is_at_end()
        && !reader.rest().starts_with('\n')
        && !reader.rest().starts_with("\r\n")
    {
        reader.read();
    }
}

/// Empty lines and comments, then the spaces before what follows them.
pub(super) fn skip_to_item(reader: &mut Reader<'_>) {
    skip_empty_lines(reader);
    skip_spaces(reader);
}

pub(super) fn skip_empty_lines(reader: &mut Reader<'_>) {
    while !reader.is_at_end() {
        let start = reader.cursor();
        if line_end(reader).is_err() {
            reader.seek(start);
            return;
        }
    }
}

pub(super) fn boolean(reader: &mut Reader<'_>) -> Parsed<bool> {
    let start = reader.position();
    if reader.skip("true") {
        Ok(true)
    } else if reader.skip("false") {
        Ok(false)
    } else {
        soft(start, "expecting 'true|false'")
    }
}

pub(super) fn hex_digit(reader: &mut Reader<'_>) -> Parsed<u32> {
    let start = reader.position();
    match reader.read().and_then(|character| character.to_digit(16)) {
        Some(digit) => Ok(digit),
        None => soft(start, "expecting a valid hexadecimal number"),
    }
}

/// Reads a number of any length. The value stops growing once it is above every Unicode character.
pub(super) fn hex_number(reader: &mut Reader<'_>) -> Parsed<u32> {
    let mut value = hex_digit(reader).map_err(Refusal::into_fatal)?;
    while let Some(digit) = optional(reader, hex_digit)? {
        value = value.saturating_mul(16).saturating_add(digit);
    }
    Ok(value)
}
