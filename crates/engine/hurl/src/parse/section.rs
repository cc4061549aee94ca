//! Sections of requests and responses.

use super::combine::{Parsed, fatal, optional, soft, zero_or_more};
use super::key_value::{key_colon, key_value};
use super::primitive::{line_end, literal, skip_spaces, skip_to_item, spaces, try_literal};
use super::{filter, key, option, predicate, query, text};
use crate::ast::{Assert, Capture, FilenameParam, MultipartParam, Request, Response, Template};
use crate::error::suggest;
use crate::position::Position;
use crate::reader::Reader;

/// The names of sections so far. Duplicates are refused by name.
#[derive(Default)]
pub(super) struct Sections {
    names: Vec<String>,
    duplicate: Option<Position>,
}

impl Sections {
    /// The name of the next section, if there is one, and its place.
    fn next(&mut self, reader: &mut Reader<'_>) -> Parsed<Option<(String, Position)>> {
        if reader.is_at_end() {
            return Ok(None);
        }
        let Some((name, position)) = optional(reader, header)? else {
            return Ok(None);
        };
        if self.names.contains(&name) {
            self.duplicate.get_or_insert(position);
        }
        self.names.push(name.clone());
        Ok(Some((name, position)))
    }

    pub(super) fn refuse_duplicates(&self) -> Parsed<()> {
        match self.duplicate {
            Some(position) => fatal(position, "the section is already defined"),
            None => Ok(()),
        }
    }
}

pub(super) fn of_request(
    reader: &mut Reader<'_>,
    sections: &mut Sections,
    request: &mut Request,
) -> Parsed<()> {
    while let Some((name, position)) = sections.next(reader)? {
        match name.as_str() {
            "Query" | "QueryStringParams" => {
                keep_first(&mut request.query, zero_or_more(reader, key_value)?);
            }
            "Form" | "FormParams" => {
                keep_first(&mut request.form, zero_or_more(reader, key_value)?);
            }
            "Multipart" | "MultipartFormData" => {
                keep_first(&mut request.multipart, zero_or_more(reader, part)?);
            }
            "BasicAuth" => request.basic_auth = optional(reader, key_value)?,
            "Cookies" => request.cookies = zero_or_more(reader, key_value)?,
            "Options" => request.options = zero_or_more(reader, option::parse)?,
            _ => return unknown(&name, position, REQUEST_SECTIONS),
        }
    }
    Ok(())
}

/// Hurl takes the first section of a kind: a section may occur under both of its names.
fn keep_first<T>(values: &mut Vec<T>, more: Vec<T>) {
    if values.is_empty() {
        *values = more;
    }
}

pub(super) fn of_response(
    reader: &mut Reader<'_>,
    sections: &mut Sections,
    response: &mut Response,
) -> Parsed<()> {
    while let Some((name, position)) = sections.next(reader)? {
        match name.as_str() {
            "Captures" => response.captures = zero_or_more(reader, capture)?,
            "Asserts" => response.asserts = zero_or_more(reader, assert)?,
            _ => return unknown(&name, position, RESPONSE_SECTIONS),
        }
    }
    Ok(())
}

const REQUEST_SECTIONS: &[&str] = &["Query", "Form", "Multipart", "Cookies", "Options"];
const RESPONSE_SECTIONS: &[&str] = &["Captures", "Asserts"];

fn unknown<T>(name: &str, position: Position, sections: &[&str]) -> Parsed<T> {
    let sections = suggest(name, sections);
    fatal(
        position.right(1),
        format!("the section is not valid. {sections}"),
    )
}

/// `[Name]`. Anything else may be a body: `[1, 2]`.
fn header(reader: &mut Reader<'_>) -> Parsed<(String, Position)> {
    skip_to_item(reader);
    let position = reader.position();
    try_literal(reader, "[")?;
    let name = reader.read_while(char::is_alphanumeric).to_owned();
    if name.is_empty() {
        return soft(position, "expecting a valid section name");
    }
    try_literal(reader, "]")?;
    line_end(reader)?;
    Ok((name, position))
}

fn part(reader: &mut Reader<'_>) -> Parsed<MultipartParam> {
    match optional(reader, file_part)? {
        Some(part) => Ok(MultipartParam::File(part)),
        None => key_value(reader).map(MultipartParam::Value),
    }
}

fn file_part(reader: &mut Reader<'_>) -> Parsed<FilenameParam> {
    let key = key_colon(reader)?;
    try_literal(reader, "file,")?;
    skip_spaces(reader);
    let file = key::file(reader)?;
    skip_spaces(reader);
    literal(reader, ";")?;
    let content_type = content_type(reader)?;
    line_end(reader)?;
    Ok(FilenameParam {
        key,
        file,
        content_type,
    })
}

fn content_type(reader: &mut Reader<'_>) -> Parsed<Option<Template>> {
    let start = reader.cursor();
    let is_line_end = line_end(reader).is_ok();
    reader.seek(start);
    if is_line_end {
        return Ok(None);
    }
    skip_spaces(reader);
    let start = reader.position();
    match text::unquoted(reader) {
        Ok(content_type) => Ok(Some(content_type)),
        Err(_) => fatal(start, "expecting a content type"),
    }
}

fn capture(reader: &mut Reader<'_>) -> Parsed<Capture> {
    let name = key_colon(reader)?;
    let query = query::parse(reader)?;
    let filters = filter::list(reader)?;
    let is_redacted = optional(reader, redact)?.is_some();
    line_end(reader)?;
    Ok(Capture {
        name,
        query,
        filters,
        is_redacted,
    })
}

fn redact(reader: &mut Reader<'_>) -> Parsed<()> {
    skip_spaces(reader);
    try_literal(reader, "redact")
}

fn assert(reader: &mut Reader<'_>) -> Parsed<Assert> {
    skip_to_item(reader);
    let query = query::parse(reader)?;
    let filters = filter::list(reader)?;
    spaces(reader)?;
    let predicate = predicate::parse(reader)?;
    line_end(reader)?;
    Ok(Assert {
        query,
        filters,
        predicate,
    })
}
