//! Keys with a colon, and their values.

use super::combine::{Parsed, Refusal};
use super::primitive::{line_end, skip_spaces, skip_to_item, try_literal};
use super::{key, text};
use crate::ast::{KeyValue, Template};
use crate::reader::Reader;

/// `key:` and the spaces behind it. Refuses softly: the line may be something else.
pub(super) fn key_colon(reader: &mut Reader<'_>) -> Parsed<Template> {
    skip_to_item(reader);
    let key = key::parse(reader).map_err(Refusal::into_soft)?;
    skip_spaces(reader);
    try_literal(reader, ":")?;
    skip_spaces(reader);
    Ok(key)
}

pub(super) fn key_value(reader: &mut Reader<'_>) -> Parsed<KeyValue> {
    let key = key_colon(reader)?;
    let value = text::unquoted(reader)?;
    line_end(reader)?;
    Ok(KeyValue { key, value })
}
