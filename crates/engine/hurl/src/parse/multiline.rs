//! Texts between lines of three backticks.

use super::combine::{Parsed, fatal, optional};
use super::json;
use super::primitive::{is_white_space, literal, newline, skip_spaces, try_literal};
use super::template::{self, Encoded};
use crate::ast::{Json, Multiline, Template};
use crate::reader::Reader;

const FENCE: &str = "```";

pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Multiline> {
    try_literal(reader, FENCE)?;
    if reader.skip("graphql") {
        return graphql(reader);
    }
    if reader.skip("raw") {
        first_line(reader)?;
        let characters = to_fence(reader);
        let text = characters.iter().map(|character| character.value);
        let text = text.collect();
        literal(reader, FENCE)?;
        return Ok(Multiline::Raw(text));
    }
    let kind = if reader.skip("json") {
        Multiline::Json
    } else if reader.skip("xml") {
        Multiline::Xml
    } else {
        Multiline::Text
    };
    first_line(reader)?;
    template_to_fence(reader).map(kind)
}

/// The rest of the first line, which has no other hint.
fn first_line(reader: &mut Reader<'_>) -> Parsed<()> {
    skip_spaces(reader);
    let start = reader.position();
    let hint = reader.read_while(|character| !matches!(character, '\n' | '\r' | '`'));
    if !hint.is_empty() {
        return fatal(start, format!("invalid language hint {hint}"));
    }
    newline(reader)
}

fn template_to_fence(reader: &mut Reader<'_>) -> Parsed<Template> {
    let position = reader.position();
    let characters = to_fence(reader);
    let end = reader.position();
    literal(reader, FENCE)?;
    Ok(Template {
        elements: template::elements(&characters, end)?,
        position,
    })
}

fn to_fence<'a>(reader: &mut Reader<'a>) -> Vec<Encoded<'a>> {
    let mut characters = Vec::new();
    while !reader.rest().starts_with(FENCE) {
        match verbatim(reader) {
            Some(character) => characters.push(character),
            None => break,
        }
    }
    characters
}

/// The next character, for which a backslash is nothing special.
fn verbatim<'a>(reader: &mut Reader<'a>) -> Option<Encoded<'a>> {
    let start = reader.cursor();
    let value = reader.read()?;
    Some(Encoded {
        value,
        source: reader.since(start),
        position: start.position,
    })
}

/// A query, then `variables` at the start of a line and a JSON object.
fn graphql(reader: &mut Reader<'_>) -> Parsed<Multiline> {
    reader.skip(",");
    skip_spaces(reader);
    newline(reader)?;
    let position = reader.position();
    let mut characters = Vec::new();
    let mut variables = None;
    while variables.is_none() && !reader.rest().starts_with(FENCE) {
        let Some(character) = verbatim(reader) else {
            break;
        };
        let ends_line = character.value == '\n';
        characters.push(character);
        if ends_line {
            variables = optional(reader, graphql_variables)?;
        }
    }
    let end = characters
        .last()
        .map_or(position, |last| last.position.after(last.value));
    literal(reader, FENCE)?;
    let query = Template {
        elements: template::elements(&characters, end)?,
        position,
    };
    Ok(Multiline::GraphQl { query, variables })
}

fn graphql_variables(reader: &mut Reader<'_>) -> Parsed<Json> {
    try_literal(reader, "variables")?;
    skip_spaces(reader);
    let start = reader.position();
    let Ok(object) = json::compact_object(reader) else {
        return fatal(start, "the GraphQL variables are not a valid JSON object");
    };
    reader.read_while(is_white_space);
    Ok(object)
}
