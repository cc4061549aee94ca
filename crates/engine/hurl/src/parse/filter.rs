//! Filters.

use super::combine::{Parsed, optional, soft};
use super::primitive::{keyword, skip_spaces, spaces};
use super::query::quoted_argument;
use super::{number, regex, template, text};
use crate::ast::{Filter, FilterValue, JsonPath, PlainFilter, Setting, Template, TextFilter};
use crate::reader::Reader;

/// Filters, each behind spaces, up to what is no filter.
pub(super) fn list(reader: &mut Reader<'_>) -> Parsed<Vec<Filter>> {
    let mut filters = Vec::new();
    while let Some(filter) = optional(reader, next)? {
        filters.push(filter);
    }
    Ok(filters)
}

fn next(reader: &mut Reader<'_>) -> Parsed<Filter> {
    if !skip_spaces(reader) {
        return soft(reader.position(), "expecting 'filter'");
    }
    let position = reader.position();
    let value = value(reader)?;
    Ok(Filter { value, position })
}

fn value(reader: &mut Reader<'_>) -> Parsed<FilterValue> {
    let start = reader.position();
    if let Some(filter) = keyword(reader, PlainFilter::ALL) {
        return Ok(FilterValue::Plain(filter));
    }
    if let Some(filter) = keyword(reader, TextFilter::ALL) {
        return argument(reader, filter).map(|text| FilterValue::Text(filter, text));
    }
    if reader.skip("jsonpath") {
        quoted_argument(reader).map(|path| FilterValue::JsonPath(JsonPath::new(path)))
    } else if reader.skip("nth") {
        spaces(reader)?;
        index(reader).map(FilterValue::Nth)
    } else if reader.skip("regex") {
        spaces(reader)?;
        regex::value(reader).map(FilterValue::Regex)
    } else if reader.skip("replaceRegex") {
        spaces(reader)?;
        let pattern = regex::value(reader)?;
        let new = quoted_argument(reader)?;
        Ok(FilterValue::ReplaceRegex { pattern, new })
    } else if reader.skip("replace") {
        let old = quoted_argument(reader)?;
        let new = quoted_argument(reader)?;
        Ok(FilterValue::Replace { old, new })
    } else {
        soft(start, "expecting 'filter'")
    }
}

fn argument(reader: &mut Reader<'_>, filter: TextFilter) -> Parsed<Template> {
    match filter {
        TextFilter::XPath | TextFilter::Split | TextFilter::UrlQueryParam => {
            quoted_argument(reader)
        }
        // Without quotes, Hurl tries what may follow filters.
        _ => {
            spaces(reader)?;
            text::quoted(reader)
        }
    }
}

fn index(reader: &mut Reader<'_>) -> Parsed<Setting<i64>> {
    let start = reader.cursor();
    if let Ok(value) = number::integer(reader) {
        return Ok(Setting::Literal(value));
    }
    reader.seek(start);
    template::placeholder(reader)
        .map(Setting::Placeholder)
        .map_err(|refusal| refusal.because("expecting 'integer'"))
}
