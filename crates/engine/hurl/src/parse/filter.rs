//! Filters.

use super::combine::{Parsed, optional, soft};
use super::primitive::{keyword, skip_spaces, spaces};
use super::query::quoted_argument;
use super::{number, regex, template, text};
use crate::ast::{Filter, FilterValue, JsonPath, Setting, Template};
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
    let plain = [
        ("base64Decode", FilterValue::Base64Decode),
        ("base64Encode", FilterValue::Base64Encode),
        ("base64UrlSafeDecode", FilterValue::Base64UrlSafeDecode),
        ("base64UrlSafeEncode", FilterValue::Base64UrlSafeEncode),
        ("count", FilterValue::Count),
        ("daysAfterNow", FilterValue::DaysAfterNow),
        ("daysBeforeNow", FilterValue::DaysBeforeNow),
        ("first", FilterValue::First),
        ("htmlEscape", FilterValue::HtmlEscape),
        ("htmlUnescape", FilterValue::HtmlUnescape),
        ("last", FilterValue::Last),
        ("location", FilterValue::Location),
        ("toFloat", FilterValue::ToFloat),
        ("toHex", FilterValue::ToHex),
        ("toInt", FilterValue::ToInt),
        ("toString", FilterValue::ToString),
        ("urlDecode", FilterValue::UrlDecode),
        ("urlEncode", FilterValue::UrlEncode),
        ("utf8Decode", FilterValue::Utf8Decode),
        ("utf8Encode", FilterValue::Utf8Encode),
    ];
    if let Some(value) = keyword(reader, plain) {
        return Ok(value);
    }
    if reader.skip("charsetDecode") {
        lenient_argument(reader).map(FilterValue::CharsetDecode)
    } else if reader.skip("decode") {
        lenient_argument(reader).map(FilterValue::Decode)
    } else if reader.skip("format") {
        lenient_argument(reader).map(FilterValue::Format)
    } else if reader.skip("dateFormat") {
        lenient_argument(reader).map(FilterValue::DateFormat)
    } else if reader.skip("toDate") {
        lenient_argument(reader).map(FilterValue::ToDate)
    } else if reader.skip("jsonpath") {
        quoted_argument(reader).map(|path| FilterValue::JsonPath(JsonPath::new(path)))
    } else if reader.skip("xpath") {
        quoted_argument(reader).map(FilterValue::XPath)
    } else if reader.skip("split") {
        quoted_argument(reader).map(FilterValue::Split)
    } else if reader.skip("urlQueryParam") {
        quoted_argument(reader).map(FilterValue::UrlQueryParam)
    } else if reader.skip("nth") {
        spaces(reader)?;
        index(reader).map(FilterValue::Nth)
    } else if reader.skip("regex") {
        spaces(reader)?;
        regex::value(reader).map(FilterValue::Regex)
    } else if reader.skip("replaceRegex") {
        spaces(reader)?;
        let pattern = regex::value(reader)?;
        Ok(FilterValue::ReplaceRegex {
            pattern,
            new: quoted_argument(reader)?,
        })
    } else if reader.skip("replace") {
        let old = quoted_argument(reader)?;
        Ok(FilterValue::Replace {
            old,
            new: quoted_argument(reader)?,
        })
    } else {
        soft(start, "expecting 'filter'")
    }
}

/// A text between quotes; without them, Hurl tries what may follow filters.
fn lenient_argument(reader: &mut Reader<'_>) -> Parsed<Template> {
    spaces(reader)?;
    text::quoted(reader)
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
