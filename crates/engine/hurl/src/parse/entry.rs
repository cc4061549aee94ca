//! Files, entries, requests and responses.

use super::combine::{Parsed, Parser, choice, fatal, optional, soft, zero_or_more};
use super::key_value::key_value;
use super::primitive::{keyword, line_end, skip_empty_lines, skip_to_item, spaces, try_literal};
use super::section::{self, Sections};
use super::{bytes, json, multiline, text, xml};
use crate::ast::{
    Body, BodyValue, Entry, HttpVersion, HurlFile, Request, Response, Status, StatusValue,
};
use crate::error::suggest;
use crate::reader::Reader;

const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];
const VERSIONS: &str = "HTTP version must be HTTP, HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3";

pub(super) fn file(reader: &mut Reader<'_>) -> Parsed<HurlFile> {
    let entries = zero_or_more(reader, entry)?;
    skip_empty_lines(reader);
    if !reader.is_at_end() {
        return fatal(
            reader.position(),
            "expecting a request or the end of the file",
        );
    }
    Ok(HurlFile { entries })
}

fn entry(reader: &mut Reader<'_>) -> Parsed<Entry> {
    Ok(Entry {
        request: request(reader)?,
        response: optional(reader, response)?,
    })
}

fn request(reader: &mut Reader<'_>) -> Parsed<Request> {
    skip_to_item(reader);
    let position = reader.position();
    let method = method(reader)?;
    spaces(reader)?;
    let url = text::unquoted(reader)?;
    line_end(reader)?;
    let mut request = Request {
        position,
        method,
        url,
        headers: zero_or_more(reader, key_value)?,
        query: Vec::new(),
        form: Vec::new(),
        multipart: Vec::new(),
        cookies: Vec::new(),
        basic_auth: None,
        options: Vec::new(),
        body: None,
    };
    let mut sections = Sections::default();
    section::of_request(reader, &mut sections, &mut request)?;
    request.body = optional(reader, body)?;
    sections.refuse_duplicates()?;
    Ok(request)
}

fn response(reader: &mut Reader<'_>) -> Parsed<Response> {
    skip_to_item(reader);
    let position = reader.position();
    let version = version(reader)?;
    spaces(reader)?;
    let status = status(reader)?;
    line_end(reader)?;
    let mut response = Response {
        position,
        version,
        status,
        headers: zero_or_more(reader, key_value)?,
        captures: Vec::new(),
        asserts: Vec::new(),
        body: None,
    };
    let mut sections = Sections::default();
    section::of_response(reader, &mut sections, &mut response)?;
    response.body = optional(reader, body)?;
    sections.refuse_duplicates()?;
    Ok(response)
}

fn method(reader: &mut Reader<'_>) -> Parsed<String> {
    let start = reader.position();
    if reader.is_at_end() {
        return soft(start, "expecting a method");
    }
    let name = reader
        .read_while(|character| character.is_ascii_alphabetic())
        .to_owned();
    if name.is_empty() || name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        let methods = suggest(&name, METHODS);
        return fatal(
            start,
            format!("the HTTP method <{name}> is not valid. {methods}"),
        );
    }
    Ok(name)
}

fn version(reader: &mut Reader<'_>) -> Parsed<Option<HttpVersion>> {
    let position = reader.position();
    try_literal(reader, "HTTP")?;
    if matches!(reader.peek(), Some(' ' | '\t')) {
        return Ok(None);
    }
    if reader.skip("/")
        && let Some(version) = keyword(reader, HttpVersion::ALL)
    {
        return Ok(Some(version));
    }
    fatal(position, VERSIONS)
}

fn status(reader: &mut Reader<'_>) -> Parsed<Status> {
    let position = reader.position();
    let is_digit = |character: char| character.is_ascii_digit();
    let value = if reader.skip("*") {
        StatusValue::Any
    } else if let Ok(status) = reader.read_while(is_digit).parse() {
        StatusValue::Exactly(status)
    } else {
        return fatal(position, "HTTP status code is not valid");
    };
    Ok(Status { value, position })
}

fn body(reader: &mut Reader<'_>) -> Parsed<Body> {
    skip_to_item(reader);
    let position = reader.position();
    let kinds: &[Parser<BodyValue>] = &[
        |reader| multiline::parse(reader).map(BodyValue::Multiline),
        |reader| text::backtick(reader).map(BodyValue::Oneline),
        |reader| json::parse(reader).map(BodyValue::Json),
        |reader| xml::parse(reader).map(BodyValue::Xml),
        |reader| bytes::base64(reader).map(BodyValue::Bytes),
        |reader| bytes::hex(reader).map(BodyValue::Bytes),
        |reader| bytes::file(reader).map(BodyValue::File),
    ];
    let value = choice(reader, kinds)?;
    line_end(reader)?;
    Ok(Body { value, position })
}
