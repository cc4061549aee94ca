//! Queries.

use super::combine::{Parsed, Refusal, fatal, optional, soft};
use super::primitive::{keyword, literal, skip_spaces, spaces, try_literal};
use super::{regex, text};
use crate::ast::{
    CookieAttribute, CookiePath, JsonPath, PlainQuery, Query, QueryValue, Template, named,
};
use crate::reader::Reader;

pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Query> {
    let position = reader.position();
    let value = value(reader)?;
    Ok(Query { value, position })
}

fn value(reader: &mut Reader<'_>) -> Parsed<QueryValue> {
    let start = reader.position();
    if let Some(query) = keyword(reader, PlainQuery::ALL) {
        return Ok(QueryValue::Plain(query));
    }
    if reader.skip("header") {
        quoted_argument(reader).map(QueryValue::Header)
    } else if reader.skip("cookie") {
        spaces(reader)?;
        cookie_path(reader).map(QueryValue::Cookie)
    } else if reader.skip("xpath") {
        quoted_argument(reader).map(QueryValue::XPath)
    } else if reader.skip("jsonpath") {
        quoted_argument(reader).map(|path| QueryValue::JsonPath(JsonPath::new(path)))
    } else if reader.skip("regex") {
        spaces(reader)?;
        regex::value(reader).map(QueryValue::Regex)
    } else if reader.skip("variable") {
        quoted_argument(reader).map(QueryValue::Variable)
    } else if reader.skip("certificate") {
        spaces(reader)?;
        certificate_field(reader)
    } else {
        soft(start, "expecting a query")
    }
}

/// Spaces and a text between quotes.
pub(super) fn quoted_argument(reader: &mut Reader<'_>) -> Parsed<Template> {
    spaces(reader)?;
    text::quoted(reader).map_err(Refusal::into_fatal)
}

fn cookie_path(reader: &mut Reader<'_>) -> Parsed<CookiePath> {
    let start = reader.position();
    let path = text::quoted_verbatim(reader)?;
    let mut reader = Reader::starting_at(path, start.right(1));
    let name_start = reader.position();
    let name = reader.read_while(|character| character != '[');
    let name = text::unquoted(&mut Reader::starting_at(name, name_start))?;
    let attribute = optional(&mut reader, cookie_attribute)?;
    Ok(CookiePath {
        name,
        attribute: attribute.unwrap_or(CookieAttribute::Value),
    })
}

fn cookie_attribute(reader: &mut Reader<'_>) -> Parsed<CookieAttribute> {
    try_literal(reader, "[")?;
    skip_spaces(reader);
    let start = reader.position();
    let name = reader.read_while(|character| character.is_alphabetic() || character == '-');
    let Some(attribute) = named(&name.to_lowercase(), CookieAttribute::ALL) else {
        return fatal(start, "the cookie attribute is not valid");
    };
    skip_spaces(reader);
    literal(reader, "]")?;
    Ok(attribute)
}

fn certificate_field(reader: &mut Reader<'_>) -> Parsed<QueryValue> {
    literal(reader, "\"")?;
    let fields = "Subject Issuer Start-Date Expire-Date Serial-Number Subject-Alt-Name Value";
    let mut fields = fields.split(' ');
    if fields.any(|field| reader.skip(&format!("{field}\""))) {
        return Ok(QueryValue::Certificate);
    }
    let expecting = "expecting <Subject>, <Issuer>, <Start-Date>, <Expire-Date>, <Serial-Number>, <Subject-Alt-Name> or \
                     <Value>";
    fatal(reader.position(), expecting)
}
