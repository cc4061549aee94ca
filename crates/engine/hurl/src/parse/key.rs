//! Keys before a colon, and names of files: texts of which some characters must be escaped.

use super::combine::{Parsed, fatal, optional};
use super::template;
use super::text::{escaped, unicode};
use crate::ast::{Template, TemplateElement};
use crate::reader::Reader;

struct Alphabet {
    /// Characters that need no escape.
    is_plain: fn(char) -> bool,
    /// Characters that a backslash escapes.
    escapable: &'static [char],
    /// The one of them that keeps its backslash.
    keeps_backslash: Option<char>,
    /// Why a text is refused that is empty, or begins with the bracket of a section.
    refusal: &'static str,
}

/// What is before the colon of a header field, a parameter or a capture.
pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Template> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.[]@$".contains(c);
    let alphabet = Alphabet {
        is_plain,
        escapable: &['#', ':', '\\', '/'],
        keeps_backslash: None,
        refusal: "expecting a key",
    };
    escaped_text(reader, &alphabet)
}

const FILE: Alphabet = Alphabet {
    is_plain: |character| !"#;{} \n\r\\".contains(character),
    escapable: &['\\', '#', ';', ' ', '{', '}'],
    keeps_backslash: None,
    refusal: "expecting a filename",
};

pub(super) fn file(reader: &mut Reader<'_>) -> Parsed<Template> {
    escaped_text(reader, &FILE)
}

/// The name of a file, which a colon and a password may follow. A colon of the name is escaped here and for who splits
/// the two.
pub(super) fn file_with_password(reader: &mut Reader<'_>) -> Parsed<Template> {
    let alphabet = Alphabet {
        escapable: &['\\', '#', ';', ' ', '{', '}', ':'],
        keeps_backslash: Some(':'),
        ..FILE
    };
    escaped_text(reader, &alphabet)
}

fn escaped_text(reader: &mut Reader<'_>, alphabet: &Alphabet) -> Parsed<Template> {
    let position = reader.position();
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
    if elements.is_empty() || begins_with_bracket {
        return fatal(position, alphabet.refusal);
    }
    Ok(Template { elements, position })
}

fn plain_text(reader: &mut Reader<'_>, alphabet: &Alphabet) -> Parsed<String> {
    let mut text = String::new();
    loop {
        if reader.skip("\\") {
            let character = escaped(reader, alphabet.escapable, unicode)?;
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
