//! Placeholders in texts.

use super::combine::{Parsed, fatal};
use super::primitive::{literal, skip_spaces, try_literal};
use crate::ast::{Expression, Placeholder, TemplateElement};
use crate::position::Position;
use crate::reader::Reader;

/// A character of a text, and how the file writes it.
pub(super) struct Encoded<'a> {
    pub(super) value: char,
    pub(super) source: &'a str,
    pub(super) position: Position,
}

/// The elements of a text that ends at `end`.
pub(super) fn elements(characters: &[Encoded<'_>], end: Position) -> Parsed<Vec<TemplateElement>> {
    elements_as(characters, end, |character, text| {
        text.push(character.value)
    })
}

/// The same, with texts to which `append` adds each character.
pub(super) fn elements_as(
    characters: &[Encoded<'_>],
    end: Position,
    append: fn(&Encoded<'_>, &mut String),
) -> Parsed<Vec<TemplateElement>> {
    let mut elements = Vec::new();
    let mut rest = characters;
    while !rest.is_empty() {
        let length = opening(rest).unwrap_or(rest.len());
        if length > 0 {
            let mut text = String::new();
            for character in &rest[..length] {
                append(character, &mut text);
            }
            elements.push(TemplateElement::Text(text));
        }
        rest = &rest[length..];
        if !rest.is_empty() {
            let Some(length) = closing(&rest[2..]) else {
                return fatal(end, "expecting '}}'");
            };
            let placeholder = inner_placeholder(&rest[2..2 + length])?;
            elements.push(TemplateElement::Placeholder(placeholder));
            rest = &rest[2 + length..];
        }
    }
    Ok(elements)
}

/// Where the first `{{` is. Escaped brackets do not count.
fn opening(characters: &[Encoded<'_>]) -> Option<usize> {
    characters
        .windows(2)
        .position(|pair| pair[0].source == "{" && pair[1].source == "{")
}

/// How long the text up to and with `}}` is. Hurl's quirk: anything may be between the two.
fn closing(characters: &[Encoded<'_>]) -> Option<usize> {
    let is_bracket = |character: &Encoded<'_>| character.source == "}";
    let first = characters.iter().position(is_bracket)?;
    let second = characters[first + 1..].iter().position(is_bracket)?;
    Some(first + second + 2)
}

/// The expression of a placeholder, from what is behind its opening. What follows the expression means nothing.
fn inner_placeholder(characters: &[Encoded<'_>]) -> Parsed<Placeholder> {
    let source: String = characters[..characters.len() - 1]
        .iter()
        .map(|character| character.source)
        .collect();
    let mut reader = Reader::starting_at(&source, characters[0].position);
    skip_spaces(&mut reader);
    // The first bracket of the closing ends the text of an expression, as it is part of no name.
    expression(&mut reader)
}

/// `{{name}}`
pub(super) fn placeholder(reader: &mut Reader<'_>) -> Parsed<Placeholder> {
    try_literal(reader, "{{")?;
    skip_spaces(reader);
    let placeholder = expression(reader)?;
    skip_spaces(reader);
    literal(reader, "}}")?;
    Ok(placeholder)
}

fn expression(reader: &mut Reader<'_>) -> Parsed<Placeholder> {
    let position = reader.position();
    let name = reader.read_while(is_name);
    let expression = match name {
        "" => return fatal(position, "expecting a variable"),
        "newDate" => Expression::NewDate,
        "newUuid" => Expression::NewUuid,
        name => Expression::Variable(name.to_owned()),
    };
    Ok(Placeholder {
        expression,
        position,
    })
}

/// Whether a character may be in the name of a variable.
pub(super) fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}
