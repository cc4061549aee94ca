//! JSON with placeholders.

use super::combine::{Parsed, Refusal, fatal, optional, soft};
use super::primitive::{hex_digit, is_white_space, literal, try_literal};
use super::template::{self, Encoded};
use super::text::{escaped, is_control};
use crate::MAX_JSON_DEPTH;
use crate::ast::{Json, JsonPiece, TemplateElement};
use crate::reader::Reader;

const EXPECTING_ELEMENT: &str = "expecting a boolean, number, string, array, object or null";
const EMPTY_ELEMENT: &str = "expecting an element; found empty element instead";

/// JSON as it is in the file, with its white space.
pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Json> {
    let mut writer = Writer {
        json: Json::default(),
        keeps_white_space: true,
    };
    writer.value(reader, 0)?;
    Ok(writer.json)
}

/// A JSON object without its white space.
pub(super) fn compact_object(reader: &mut Reader<'_>) -> Parsed<Json> {
    let mut writer = Writer {
        json: Json::default(),
        keeps_white_space: false,
    };
    writer.object(reader, 0)?;
    Ok(writer.json)
}

/// Collects the pieces of the values that it parses.
struct Writer {
    json: Json,
    keeps_white_space: bool,
}

impl Writer {
    fn text(&mut self, text: &str) {
        if let Some(JsonPiece::Text(last)) = self.json.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.json.pieces.push(JsonPiece::Text(text.to_owned()));
        }
    }

    fn white_space(&mut self, reader: &mut Reader<'_>) {
        let space = reader.read_while(is_white_space);
        if self.keeps_white_space && !space.is_empty() {
            self.text(space);
        }
    }

    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Parsed<()> {
        let start = reader.position();
        let mut words = ["null", "true", "false"].into_iter();
        if let Some(word) = words.find(|word| reader.skip(word)) {
            self.text(word);
        } else if let Some(string) = optional(reader, string)? {
            self.string(string);
        } else if let Some(number) = optional(reader, number_text)? {
            self.text(&number);
        } else if let Some(placeholder) = optional(reader, template::placeholder)? {
            self.json.pieces.push(JsonPiece::Value(placeholder));
        } else if reader.peek() == Some('[') {
            self.elements(reader, depth, "[", "]", Self::list_element)?;
        } else if reader.peek() == Some('{') {
            self.object(reader, depth)?;
        } else {
            return soft(start, "expecting '{'");
        }
        Ok(())
    }

    /// The only value that may be here.
    fn inner_value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Parsed<()> {
        if reader.peek() == Some(',') {
            return fatal(reader.position(), EMPTY_ELEMENT);
        }
        self.value(reader, depth)
            .map_err(|refusal| refusal.because(EXPECTING_ELEMENT))
    }

    fn string(&mut self, elements: Vec<TemplateElement>) {
        self.text("\"");
        for element in elements {
            match element {
                TemplateElement::Text(source) => self.text(&source),
                TemplateElement::Placeholder(placeholder) => {
                    self.json.pieces.push(JsonPiece::InString(placeholder))
                }
            }
        }
        self.text("\"");
    }

    fn object(&mut self, reader: &mut Reader<'_>, depth: usize) -> Parsed<()> {
        self.elements(reader, depth, "{", "}", Self::member)
    }

    fn elements(
        &mut self,
        reader: &mut Reader<'_>,
        depth: usize,
        open: &str,
        close: &str,
        element: fn(&mut Self, &mut Reader<'_>, usize) -> Parsed<()>,
    ) -> Parsed<()> {
        let start = reader.position();
        try_literal(reader, open)?;
        if depth >= MAX_JSON_DEPTH {
            let reason = format!("maximum nesting depth of {MAX_JSON_DEPTH} exceeded");
            return fatal(start, reason);
        }
        self.text(open);
        self.white_space(reader);
        if !reader.rest().starts_with(close) {
            element(self, reader, depth + 1)?;
            while reader.peek() == Some(',') {
                let comma = reader.position();
                reader.read();
                if reader
                    .rest()
                    .trim_start_matches(is_white_space)
                    .starts_with(close)
                {
                    return fatal(comma, "trailing comma is not allowed");
                }
                self.text(",");
                element(self, reader, depth + 1)?;
            }
        }
        literal(reader, close)?;
        self.text(close);
        Ok(())
    }

    fn list_element(&mut self, reader: &mut Reader<'_>, depth: usize) -> Parsed<()> {
        self.white_space(reader);
        self.inner_value(reader, depth)?;
        self.white_space(reader);
        Ok(())
    }

    fn member(&mut self, reader: &mut Reader<'_>, depth: usize) -> Parsed<()> {
        self.white_space(reader);
        let name = string(reader).map_err(Refusal::into_fatal)?;
        self.string(name);
        self.white_space(reader);
        literal(reader, ":")?;
        self.text(":");
        let colon = reader.position();
        self.white_space(reader);
        if matches!(reader.peek(), None | Some('}')) {
            return fatal(colon, EMPTY_ELEMENT);
        }
        self.inner_value(reader, depth)?;
        self.white_space(reader);
        Ok(())
    }
}

/// The text of a number, which may end in an exponent without digits.
pub(super) fn number_text(reader: &mut Reader<'_>) -> Parsed<String> {
    let start = reader.cursor();
    reader.skip("-");
    let integer_start = reader.position();
    let is_digit = |character: char| character.is_ascii_digit();
    if !reader.skip("0") && reader.read_while(is_digit).is_empty() {
        return soft(integer_start, "expecting 'number'");
    }
    if reader.skip(".") && reader.read_while(is_digit).is_empty() {
        return fatal(reader.position(), "expecting 'digits'");
    }
    if reader.skip("e") || reader.skip("E") {
        let _ = reader.skip("-") || reader.skip("+");
        reader.read_while(is_digit);
    }
    Ok(reader.since(start).to_owned())
}

/// The elements of a string, in which escapes stay as they are.
fn string(reader: &mut Reader<'_>) -> Parsed<Vec<TemplateElement>> {
    try_literal(reader, "\"")?;
    let mut characters = Vec::new();
    while !matches!(reader.peek(), None | Some('"')) {
        characters.push(character(reader)?);
    }
    let end = reader.position();
    literal(reader, "\"")?;
    template::elements_as(&characters, end, |character, text| {
        text.push_str(character.source)
    })
}

fn character<'a>(reader: &mut Reader<'a>) -> Parsed<Encoded<'a>> {
    let start = reader.cursor();
    let value = match reader.read() {
        Some('\\') => escaped(reader, &['"', '\\', '/'], unicode)?,
        Some(value) if !is_control(value) => value,
        _ => return soft(start.position, "expecting 'char'"),
    };
    Ok(Encoded {
        value,
        source: reader.since(start),
        position: start.position,
    })
}

/// Four digits, or two surrogates of four digits each.
fn unicode(reader: &mut Reader<'_>) -> Parsed<char> {
    let mut start = reader.position();
    let mut units = vec![utf16_unit(reader)?];
    if (0xd800..0xe000).contains(&units[0]) {
        literal(reader, "\\u")?;
        start = reader.position();
        units.push(utf16_unit(reader)?);
    }
    match char::decode_utf16(units).next() {
        Some(Ok(character)) => Ok(character),
        _ => fatal(start, "invalid unicode literal"),
    }
}

fn utf16_unit(reader: &mut Reader<'_>) -> Parsed<u16> {
    let mut unit = 0;
    for _ in 0..4 {
        let digit = hex_digit(reader).map_err(Refusal::into_fatal)?;
        unit = unit << 4 | digit as u16;
    }
    Ok(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &Json) -> String {
        let piece = |piece: &JsonPiece| match piece {
            JsonPiece::Text(text) => text.clone(),
            JsonPiece::InString(_) => "<in string>".into(),
            JsonPiece::Value(_) => "<value>".into(),
        };
        json.pieces.iter().map(piece).collect()
    }

    #[test]
    fn json_keeps_its_text_but_for_placeholders() {
        let source = "{ \"a\\u0041{{x}}\" : [ 1.50, -0e+1 , {{y}} ,null],\n\"\": {} }";
        let json = parse(&mut Reader::new(source)).expect("JSON");
        let expected = "{ \"a\\u0041<in string>\" : [ 1.50, -0e+1 , <value> ,null],\n\"\": {} }";
        assert_eq!(text(&json), expected);
    }

    #[test]
    fn a_compact_object_has_no_white_space_outside_of_strings() {
        let json = compact_object(&mut Reader::new("{ \"a b\" : [ 1 , true ] }")).expect("JSON");
        assert_eq!(text(&json), "{\"a b\":[1,true]}");
    }

    #[test]
    fn nesting_is_limited() {
        let refusal = parse(&mut Reader::new(&"[".repeat(1_000_000))).expect_err("too deep");
        assert_eq!(
            refusal.error.reason,
            "maximum nesting depth of 128 exceeded"
        );
        assert_eq!(refusal.error.position.column, MAX_JSON_DEPTH + 1);
    }
}
