//! Files, entries, requests and responses.

use super::combine::{Parsed, Parser, choice, fatal, optional, soft, zero_or_more};
use super::primitive::{key_value, line_end, skip_empty_lines, skip_to_item, spaces, try_literal};
use super::section::{self, RequestSection, ResponseSection, Section};
use super::{bytes, json, multiline, text, xml};
use crate::ast::{
    Body, BodyValue, Entry, HurlFile, Request, Response, Status, StatusValue, Version, VersionValue,
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
    let headers = zero_or_more(reader, key_value)?;
    let sections = zero_or_more(reader, section::request)?;
    let body = optional(reader, body)?;
    refuse_duplicates(&sections)?;
    let mut request = Request {
        position,
        method,
        url,
        headers,
        query: Vec::new(),
        form: Vec::new(),
        multipart: Vec::new(),
        cookies: Vec::new(),
        basic_auth: None,
        options: Vec::new(),
        body,
    };
    // Hurl takes the first section of a kind: a section may occur under both of its names.
    for section in sections.into_iter().rev() {
        match section.content {
            RequestSection::Query(query) => request.query = query,
            RequestSection::BasicAuth(basic_auth) => request.basic_auth = basic_auth,
            RequestSection::Form(form) => request.form = form,
            RequestSection::Multipart(multipart) => request.multipart = multipart,
            RequestSection::Cookies(cookies) => request.cookies = cookies,
            RequestSection::Options(options) => request.options = options,
        }
    }
    Ok(request)
}

fn response(reader: &mut Reader<'_>) -> Parsed<Response> {
    skip_to_item(reader);
    let position = reader.position();
    let version = version(reader)?;
    spaces(reader)?;
    let status = status(reader)?;
    line_end(reader)?;
    let headers = zero_or_more(reader, key_value)?;
    let sections = zero_or_more(reader, section::response)?;
    let body = optional(reader, body)?;
    refuse_duplicates(&sections)?;
    let mut response = Response {
        position,
        version,
        status,
        headers,
        captures: Vec::new(),
        asserts: Vec::new(),
        body,
    };
    for section in sections {
        match section.content {
            ResponseSection::Captures(captures) => response.captures = captures,
            ResponseSection::Asserts(asserts) => response.asserts = asserts,
        }
    }
    Ok(response)
}

fn refuse_duplicates<T>(sections: &[Section<T>]) -> Parsed<()> {
    for (number, section) in sections.iter().enumerate() {
        if sections[..number]
            .iter()
            .any(|earlier| earlier.name == section.name)
        {
            return fatal(section.position, "the section is already defined");
        }
    }
    Ok(())
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

fn version(reader: &mut Reader<'_>) -> Parsed<Version> {
    let position = reader.position();
    try_literal(reader, "HTTP")?;
    let versions = [
        ("/1.0", VersionValue::Http10),
        ("/1.1", VersionValue::Http11),
        ("/2", VersionValue::Http2),
        ("/3", VersionValue::Http3),
    ];
    let value = match versions.into_iter().find(|(text, _)| reader.skip(text)) {
        Some((_, value)) => value,
        None if matches!(reader.peek(), Some(' ' | '\t')) => VersionValue::Any,
        None => return fatal(position, VERSIONS),
    };
    Ok(Version { value, position })
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
