//! Texts with escapes: up to the end of the line, between quotes and between backticks.

use super::combine::{Parsed, Parser, fatal};
use super::primitive::{hex_number, literal, try_literal};
use super::template::{self, Encoded};
use crate::ast::Template;
use crate::reader::Reader;

/// A text up to the end of the line or a comment, without the spaces at its end.
pub(super) fn unquoted(reader: &mut Reader<'_>) -> Parsed<Template> {
    let position = reader.position();
    let mut characters = Vec::new();
    let mut length = 0;
    let mut end = reader.cursor();
    while let Some(character) = character_except(reader, '#')? {
        let is_space = character.source == " ";
        characters.push(character);
        if !is_space {
            length = characters.len();
            end = reader.cursor();
        }
    }
    characters.truncate(length);
    reader.seek(end);
    Ok(Template {
        elements: template::elements(&characters, end.position)?,
        position,
    })
}

pub(super) fn quoted(reader: &mut Reader<'_>) -> Parsed<Template> {
    enclosed(reader, '"')
}

/// A text between backticks, on one line.
pub(super) fn backtick(reader: &mut Reader<'_>) -> Parsed<Template> {
    enclosed(reader, '`')
}

fn enclosed(reader: &mut Reader<'_>, quote: char) -> Parsed<Template> {
    let mut buffer = [0; 4];
    let quote_text = &*quote.encode_utf8(&mut buffer);
    let position = reader.position();
    try_literal(reader, quote_text)?;
    let mut characters = Vec::new();
    let mut end = position;
    while let Some(character) = character_except(reader, quote)? {
        characters.push(character);
        end = reader.position();
    }
    literal(reader, quote_text)?;
    Ok(Template {
        elements: template::elements(&characters, end)?,
        position,
    })
}

/// A text between quotes whose escapes mean nothing yet.
pub(super) fn quoted_verbatim<'a>(reader: &mut Reader<'a>) -> Parsed<&'a str> {
    literal(reader, "\"")?;
    let text = reader.read_while(|character| character != '"' && character != '\n');
    literal(reader, "\"")?;
    Ok(text)
}

/// The next character or escape, if it may be in a text and is not `except`.
fn character_except<'a>(reader: &mut Reader<'a>, except: char) -> Parsed<Option<Encoded<'a>>> {
    let start = reader.cursor();
    let value = match reader.peek() {
        Some(value) if value != except && !is_control(value) => value,
        _ => return Ok(None),
    };
    reader.read();
    let value = if value == '\\' {
        escaped(reader, &['#', '"', '`', '\\', '/'], unicode)?
    } else {
        value
    };
    Ok(Some(Encoded {
        value,
        source: reader.since(start),
        position: start.position,
    }))
}

/// Characters that are only in texts as escapes.
pub(super) fn is_control(character: char) -> bool {
    matches!(character, '\x08' | '\n' | '\x0c' | '\r' | '\t')
}

/// Reads the rest of an escape, after its backslash: one of `escapable`, the letter of a control character, or `u` and
/// what `unicode` reads.
pub(super) fn escaped(
    reader: &mut Reader<'_>,
    escapable: &[char],
    unicode: Parser<char>,
) -> Parsed<char> {
    let start = reader.position();
    Ok(match reader.read() {
        Some(character) if escapable.contains(&character) => character,
        Some('u') => return unicode(reader),
        Some('b') => '\x08',
        Some('f') => '\x0c',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        _ => return fatal(start, "the escaping sequence is not valid"),
    })
}

/// `{1F600}`, behind `\u`.
pub(super) fn unicode(reader: &mut Reader<'_>) -> Parsed<char> {
    literal(reader, "{")?;
    let Some(character) = char::from_u32(hex_number(reader)?) else {
        return fatal(reader.position(), "invalid unicode literal");
    };
    literal(reader, "}")?;
    Ok(character)
}
