//! XML documents, of which Hurl only needs to know where they end.

use std::collections::HashSet;
use std::sync::LazyLock;

use quick_xml::escape::unescape;
use quick_xml::events::Event;
use regex::Regex;

use super::combine::{Parsed, fatal, soft};
use super::primitive::is_white_space;
use crate::reader::Reader;

/// A well-formed document: its declaration, comments and its root element.
pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<String> {
    let text = reader.rest();
    if !text.starts_with('<') {
        return soft(reader.position(), "invalid XML");
    }
    match document_end(text) {
        Ok(end) => {
            reader.skip(&text[..end]);
            Ok(text[..end].to_owned())
        }
        Err(wrong) => {
            reader.skip(&text[..wrong]);
            fatal(reader.position(), "invalid XML")
        }
    }
}

/// Finds the end of the document at the start of a text. The error is the position at which it is not well-formed.
fn document_end(text: &str) -> Result<usize, usize> {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut depth = 0_usize;
    let mut start = 0;
    loop {
        let event = reader.read_event();
        let end = reader.buffer_position() as usize;
        let piece = &text[start..end];
        let ends_element = matches!(event, Ok(Event::Empty(_) | Event::End(_)));
        // The reader divides the document and compares the names of tags; it does not check what a piece consists of.
        let is_right = match event {
            Ok(Event::Start(_)) => {
                depth += 1;
                is_tag(piece)
            }
            Ok(Event::Empty(_)) => is_tag(piece),
            Ok(Event::End(_)) => {
                depth -= 1;
                true
            }
            Ok(Event::Text(_)) => match wrong_character(piece, depth > 0) {
                Some(at) => return Err(start + at),
                None => true,
            },
            Ok(Event::GeneralRef(_)) => depth > 0 && is_text(piece),
            Ok(Event::CData(_)) => depth > 0,
            Ok(Event::Comment(_)) => true,
            Ok(Event::DocType(_)) => depth == 0 && piece.starts_with("<!DOCTYPE"),
            Ok(Event::Decl(_)) => start == 0 && is_declaration(piece),
            Ok(Event::PI(_)) => is_instruction(piece),
            Ok(Event::Eof) | Err(_) => false,
        };
        if !is_right {
            // The reader may have stopped at the first character, or at the end of the text.
            let last = end.max(start + 1).min(text.len()) - 1;
            return Err(text.floor_char_boundary(last));
        }
        if ends_element && depth == 0 {
            return Ok(end);
        }
        start = end;
    }
}

/// The first character that may not be in a text between tags, or outside of the root element.
fn wrong_character(text: &str, is_inside: bool) -> Option<usize> {
    let is_wrong = |character| !is_character(character) || !is_inside && !is_white_space(character);
    let end_of_cdata = text.find("]]>").map(|at| at + 2);
    text.find(is_wrong).into_iter().chain(end_of_cdata).min()
}

/// Whether a piece has a name and different attributes.
fn is_tag(piece: &str) -> bool {
    let tag = &piece[1..piece.len() - 1];
    let tag = tag.strip_suffix('/').unwrap_or(tag);
    let (name, rest) = tag.split_at(tag.find(is_white_space).unwrap_or(tag.len()));
    let are_different = |attributes: Vec<(&str, &str)>| {
        let names: HashSet<&str> = attributes.iter().map(|(name, _)| *name).collect();
        names.len() == attributes.len()
    };
    is_name(name) && attributes(rest).is_some_and(are_different)
}

/// The names and values of attributes, each behind white space.
fn attributes(mut text: &str) -> Option<Vec<(&str, &str)>> {
    let mut attributes = Vec::new();
    loop {
        let trimmed = text.trim_start_matches(is_white_space);
        if trimmed.is_empty() {
            return Some(attributes);
        }
        let (name, rest) = trimmed.split_once('=')?;
        let name = name.trim_end_matches(is_white_space);
        let rest = rest.trim_start_matches(is_white_space);
        let quote = rest.chars().next()?;
        (trimmed.len() < text.len() && matches!(quote, '"' | '\'')).then_some(())?;
        let (value, rest) = rest[1..].split_once(quote)?;
        (is_name(name) && !value.contains('<') && is_text(value)).then_some(())?;
        attributes.push((name, value));
        text = rest;
    }
}

/// Whether a piece is `<?target …?>`.
fn is_instruction(piece: &str) -> bool {
    let content = &piece[2..piece.len() - 2];
    let target = content.split(is_white_space).next().unwrap_or_default();
    is_name(target) && !target.eq_ignore_ascii_case("xml")
}

/// `<?xml …?>` with a version, then maybe the name of an encoding that a document in UTF-8 may claim to have, then maybe
/// `standalone`.
static DECLARATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let encodings = "(?i:utf-?8|(?:us-)?ascii|iso-8859-15?|iso-latin-1|latin1|windows-1252)";
    let attribute = |name: &str, value: &str| {
        format!(r#"[ \t\r\n]+{name}[ \t\r\n]*=[ \t\r\n]*(?:"{value}"|'{value}')"#)
    };
    let version = attribute("version", "1\\.[0-9]*");
    let encoding = attribute("encoding", encodings);
    let standalone = attribute("standalone", "(?:yes|no)");
    let all = format!(r"^<\?xml{version}(?:{encoding})?(?:{standalone})?[ \t\r\n]*\?>$");
    Regex::new(&all).ok()
});

fn is_declaration(piece: &str) -> bool {
    let declaration = DECLARATION.as_ref();
    declaration.is_some_and(|declaration| declaration.is_match(piece))
}

/// Whether a text has only characters and references that may be in a document, which declares no entities of its own.
fn is_text(text: &str) -> bool {
    unescape(text).is_ok_and(|text| text.chars().all(is_character))
}

/// Whether a character may be in a document.
fn is_character(character: char) -> bool {
    is_white_space(character) || character >= ' ' && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

fn is_name(text: &str) -> bool {
    let is_start = |character: char| character.is_alphabetic() || matches!(character, '_' | ':');
    let is_part = |character: char| {
        is_start(character)
            || character.is_numeric()
            || matches!(character, '-' | '.' | '·' | '\u{300}'..='\u{36f}')
    };
    text.starts_with(is_start) && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Option<String> {
        parse(&mut Reader::new(text)).ok()
    }

    #[test]
    fn a_document_ends_with_its_root_element() {
        let whole = [
            "<a/>",
            "<a b='>' c=\"'\"></a >",
            "<?xml version=\"1.0\" encoding='utf-8'?>\n<!-- c --><!DOCTYPE a [<!ENTITY e \"v\">]><a><b/>&lt;&#65;</a>",
            "<a><![CDATA[ <>& ]]> x > y<?pi ?></a>",
            "<!DOCTYPE a [<!-- it's ] --><?pi \"]> ?><!ENTITY e ']>'>]><a/>",
        ];
        for text in whole {
            assert_eq!(
                document(&format!("{text}\nHTTP 200")).as_deref(),
                Some(text)
            );
        }
    }

    #[test]
    fn many_attributes_and_elements_take_linear_time() {
        let attributes: String = (0..100_000)
            .map(|number| format!(" a{number}='{number}'"))
            .collect();
        let elements = "<b>".repeat(100_000) + &"</b>".repeat(100_000);
        let text = format!("<a{attributes}>{elements}</a>");
        assert_eq!(document(&text).as_deref(), Some(text.as_str()));
    }

    #[test]
    fn a_document_that_is_not_well_formed_is_refused() {
        let broken = [
            "<a>",
            "<a></b>",
            "<a",
            "<1/>",
            "<a b=1/>",
            "<a b/>",
            "<a b='1' b='2'/>",
            "<a b='1'c='2'/>",
            "<a>&x;</a>",
            "<a>& </a>",
            "<a>]]></a>",
            "<a><!-- -- --></a>",
            "</a>",
            "<!-- c -->x<a/>",
            "<?xml encoding='utf-8'?><a/>",
            "<a><?xml version='1.0'?></a>",
            "<a>\u{1}</a>",
            "<a>&#1;</a>",
            "<a b='&x;'/>",
            "<a b='<'/>",
            "<a/ >",
            "<!doctype a><a/>",
            "<a><!DOCTYPE a></a>",
            "<![CDATA[]]><a/>",
            "<?xml version='1.0' standalone='no' encoding='utf-8'?><a/>",
        ];
        for text in broken {
            assert_eq!(document(text), None, "{text}");
        }
    }

    #[test]
    fn a_refusal_names_the_last_character_of_what_is_wrong() {
        for (text, column) in [
            ("<a></b></a>", 7),
            ("<a><b c=1></b></a>", 10),
            ("<a>é\u{1} text</a>", 5),
            ("<a>x]]>y</a>", 7),
            ("<a>é", 4),
            ("<a><!x></a>", 4),
        ] {
            let refusal = parse(&mut Reader::new(text)).expect_err(text);
            assert_eq!(refusal.error.position.column, column, "{text}");
        }
    }
}
