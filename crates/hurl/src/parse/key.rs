//! Keys before a colon, and names of files: texts of which some characters must be escaped.

use super::combine::{Parsed, fatal, optional};
use super::template;
use super::text::{control_escape, unicode};
use crate::ast::{Template, TemplateElement};
use crate::error::ParseErrorKind;
use crate::reader::Reader;

/// Which characters a text has.
struct Alphabet {
    /// Characters that need no escape.
    is_plain: fn(char) -> bool,
    /// Characters that a backslash escapes.
    escapable: &'static [char],
    /// The one of them that keeps its backslash.
    keeps_backslash: Option<char>,
    /// What is refused if the text is empty.
    empty: fn() -> ParseErrorKind,
    /// What is refused if the text begins with a bracket, which begins a section.
    bracket: &'static str,
}

const KEY: Alphabet = Alphabet {
    is_plain: |character| {
        character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '[' | ']' | '@' | '$')
    },
    escapable: &['#', ':', '\\', '/'],
    keeps_backslash: None,
    empty: || ParseErrorKind::expecting("key-string"),
    bracket: "key-string",
};

const FILE: Alphabet = Alphabet {
    is_plain: |character| !matches!(character, '#' | ';' | '{' | '}' | ' ' | '\n' | '\r' | '\\'),
    escapable: &['\\', '#', ';', ' ', '{', '}'],
    keeps_backslash: None,
    empty: || ParseErrorKind::Filename,
    bracket: "filename",
};

/// The colon is between a file and its password, so one of the name is escaped here and for who splits the two.
const FILE_WITH_PASSWORD: Alphabet = Alphabet {
    escapable: &['\\', '#', ';', ' ', '{', '}', ':'],
    keeps_backslash: Some(':'),
    ..FILE
};

/// What is before the colon of a header field, a parameter or a capture.
pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Template> {
    escaped_text(reader, &KEY)
}

/// The name of a file.
pub(super) fn file(reader: &mut Reader<'_>) -> Parsed<Template> {
    escaped_text(reader, &FILE)
}

/// The name of a file, which a colon and a password may follow.
pub(super) fn file_with_password(reader: &mut Reader<'_>) -> Parsed<Template> {
    escaped_text(reader, &FILE_WITH_PASSWORD)
}

fn escaped_text(reader: &mut Reader<'_>, alphabet: &Alphabet) -> Parsed<Template> {
    let start = reader.cursor();
    let begins_with_bracket = reader.peek() == Some('[');
    let mut elements = Vec::new();
    loop {
        if let Some(placeholder) = optional(reader, template::placeholder)? {
            elements.push(TemplateElement::Placeholder(placeholder));
            continue;
        }
        let text = plain_text(reader, alphabet)?;
        if text.is_empty() {
            break;
        }
        elements.push(TemplateElement::Text(text));
    }
    if elements.is_empty() {
        return fatal(start.position, (alphabet.empty)());
    }
    if begins_with_bracket {
        return fatal(start.position, ParseErrorKind::expecting(alphabet.bracket));
    }
    Ok(Template {
        elements,
        span: reader.span_since(start),
    })
}

fn plain_text(reader: &mut Reader<'_>, alphabet: &Alphabet) -> Parsed<String> {
    let mut text = String::new();
    loop {
        if reader.skip("\\") {
            let character = escaped(reader, alphabet)?;
            if alphabet.keeps_backslash == Some(character) {
                text.push('\\');
            }
            text.push(character);
            continue;
        }
        let plain = reader.read_while(alphabet.is_plain);
        if plain.is_empty() {
            return Ok(text);
        }
        text.push_str(plain);
    }
}

fn escaped(reader: &mut Reader<'_>, alphabet: &Alphabet) -> Parsed<char> {
    let start = reader.position();
    match reader.read() {
        Some('u') => unicode(reader),
        Some(character) if alphabet.escapable.contains(&character) => Ok(character),
        Some(character) => match control_escape(character) {
            Some(control) => Ok(control),
            None => fatal(start, ParseErrorKind::EscapeChar),
        },
        None => fatal(start, ParseErrorKind::EscapeChar),
    }
}
