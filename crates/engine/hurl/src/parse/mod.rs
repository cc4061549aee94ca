//! The parser, after Hurl's grammar and the behaviour of Hurl 8.1.

mod bytes;
mod combine;
mod entry;
mod filter;
mod json;
mod key;
mod key_value;
mod multiline;
mod number;
mod option;
mod predicate;
mod primitive;
mod query;
mod regex;
mod section;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod xml;

use crate::MAX_FILE_BYTES;
use crate::ast::HurlFile;
use crate::error::Fault;
use crate::position::Position;
use crate::reader::Reader;

/// Parses a Hurl file. A byte order mark at its start is ignored.
pub fn parse(text: &str) -> Result<HurlFile, Fault> {
    if text.len() > MAX_FILE_BYTES {
        let reason = format!("the file is longer than {MAX_FILE_BYTES} bytes");
        return Err(Fault::invalid(Position::START, reason));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    entry::file(&mut Reader::new(text)).map_err(|refusal| refusal.error)
}

/// Whether `{{NAME}}` is the value of a variable of that name.
pub fn is_variable_name(name: &str) -> bool {
    let is_expression = matches!(name, "newDate" | "newUuid");
    !name.is_empty() && name.chars().all(template::is_name) && !is_expression
}

/// Whether a text begins with a number, a boolean or null of JSON.
pub(crate) fn begins_with_json_scalar(text: &str) -> bool {
    let is_word = ["true", "false", "null"]
        .iter()
        .any(|word| text.starts_with(word));
    is_word || json::number_text(&mut Reader::new(text)).is_ok()
}

/// The time of a text, if it is one.
pub(crate) fn duration(text: &str) -> Option<std::time::Duration> {
    let mut reader = Reader::new(text);
    let duration = number::duration(&mut reader).ok()?;
    reader.is_at_end().then_some(duration)
}
