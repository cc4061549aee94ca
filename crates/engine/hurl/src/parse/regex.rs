//! Regular expressions.

use regex::Regex;

use super::combine::{Parsed, choice, fatal};
use super::primitive::try_literal;
use super::text;
use crate::ast::{RegexTemplate, RegexValue};
use crate::reader::Reader;

/// `/…/`, in which `\/` is a slash.
pub(super) fn literal(reader: &mut Reader<'_>) -> Parsed<Regex> {
    try_literal(reader, "/")?;
    let start = reader.position();
    let mut pattern = String::new();
    loop {
        match reader.read() {
            Some('/') => break,
            Some('\\') if reader.skip("/") => pattern.push('/'),
            Some(character) => pattern.push(character),
            None => {
                return fatal(reader.position(), "expecting '/'");
            }
        }
    }
    Regex::new(&pattern)
        .or_else(|error| fatal(start, format!("invalid regex: {}", message(&error))))
}

/// The last line of a message, which has the reason.
fn message(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.rsplit('\n').next().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// `"…"` or `/…/`.
pub(super) fn value(reader: &mut Reader<'_>) -> Parsed<RegexValue> {
    let template = |reader: &mut Reader<'_>| {
        text::quoted(reader).map(|template| RegexValue::Template(RegexTemplate::new(template)))
    };
    let regex = |reader: &mut Reader<'_>| literal(reader).map(RegexValue::Literal);
    choice(reader, &[template, regex]).map_err(|refusal| refusal.because("expecting '\" or /'"))
}
