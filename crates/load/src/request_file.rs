//! Requests from a file: one JSON object a line.
//!
//! ```json
//! {"path": "/items/7"}
//! {"method": "POST", "path": "/items", "headers": {"Content-Type": "application/json"}, "body": "{}"}
//! {"method": "PUT", "url": "http://localhost:8080/blob", "body_base64": "AAEC"}
//! ```

use std::io::{self, BufRead};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::request::{Request, RequestError};
use crate::target::{HttpUrl, TargetError};

/// How long a file of requests may be, in bytes: all of them are held in memory, encoded.
pub const LONGEST_REQUEST_FILE: u64 = 256 * 1024 * 1024;

const FIELDS: [&str; 6] = ["method", "path", "url", "headers", "body", "body_base64"];

/// Why requests could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RequestFileError {
    /// Not to be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// Nothing in it.
    #[error("holds no request: write one JSON object a line, for instance {{\"path\": \"/\"}}")]
    Empty,
    /// Too much for memory.
    #[error(
        "is longer than {limit} bytes: its requests are held in memory, so load a part of it at a time"
    )]
    TooLong {
        /// How long it may be, in bytes.
        limit: u64,
    },
    /// A line that is no request.
    #[error("line {line}: {fault}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: LineFault,
    },
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum LineFault {
    /// Not JSON, or not an object.
    #[error("not a JSON object ({0}); write for instance {{\"path\": \"/\"}}")]
    NotAnObject(String),
    /// A key with two values, of which only one can be meant.
    #[error("{0}; give it once")]
    Ambiguous(String),
    /// A field that means nothing.
    #[error("there is no field `{name}`; the fields are {}", list_of_fields())]
    UnknownField {
        /// Its name.
        name: String,
    },
    /// A field of another type.
    #[error("field `{field}`: expected {expected}, got {came}")]
    Type {
        /// The field; a header has its name after a dot.
        field: String,
        /// The type that it has.
        expected: &'static str,
        /// The type that came.
        came: &'static str,
    },
    /// Two fields that say the same.
    #[error("fields `{one}` and `{other}`: give one of them, not both")]
    Both {
        /// The one.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// Nothing to ask for.
    #[error("field `path` or `url` is missing: it says what to ask for")]
    NoPath,
    /// A path without a server.
    #[error(
        "field `path`: no server is known for it; give the server's URL, or `url` in place of `path`"
    )]
    NoServer,
    /// A path that is relative.
    #[error("field `path`: `{0}` does not begin with `/`")]
    RelativePath(String),
    /// Not an URL, or a path that no URL may have.
    #[error("field `{field}`: {source}")]
    Url {
        /// The field.
        field: &'static str,
        /// Why.
        source: TargetError,
    },
    /// A load has one server.
    #[error("field `url`: `{url}` is of another server than {server}, and a load has only one")]
    OtherServer {
        /// What was given.
        url: String,
        /// The host and port of the load's server.
        server: String,
    },
    /// Not base64.
    #[error("field `body_base64`: {0}")]
    Base64(base64::DecodeError),
    /// Not to be sent.
    #[error("field `{field}`: {source}", field = field_of(.source))]
    Request {
        /// Why.
        source: RequestError,
    },
}

/// The requests of a file, and the server that they all go to.
#[derive(Clone, Debug)]
pub struct RequestFile {
    /// The server: what was given, or else the `url` of the first line.
    pub server: HttpUrl,
    /// The requests in the order of their lines; at least one.
    pub requests: Vec<Request>,
}

impl RequestFile {
    /// Reads requests, one JSON object a line; blank lines are left out. A `path` is asked for of
    /// `server`; where there is none, every line needs a `url`. `headers` (`Name: value` lines) go
    /// with every request that has no header of that name itself.
    ///
    /// # Errors
    /// Where it cannot be read, is longer than [`LONGEST_REQUEST_FILE`], or a line is no request to
    /// the same server; the line and the field are named.
    pub fn read(
        file: impl BufRead,
        server: Option<&HttpUrl>,
        headers: &[String],
    ) -> Result<Self, RequestFileError> {
        read_within(LONGEST_REQUEST_FILE, file, server, headers)
    }
}

impl From<RequestError> for LineFault {
    fn from(source: RequestError) -> Self {
        Self::Request { source }
    }
}

fn read_within(
    limit: u64,
    file: impl BufRead,
    server: Option<&HttpUrl>,
    headers: &[String],
) -> Result<RequestFile, RequestFileError> {
    // One byte more shows that it is too long, and no line can fill the memory.
    let mut file = file.take(limit + 1);
    let mut server = server.cloned();
    let (mut requests, mut line, mut number) = (Vec::new(), Vec::new(), 0);
    while file.read_until(b'\n', &mut line)? > 0 {
        if file.limit() == 0 {
            return Err(RequestFileError::TooLong { limit });
        }
        number += 1;
        if !line.trim_ascii().is_empty() {
            let request =
                request(&line, &mut server, headers).map_err(|fault| RequestFileError::Line {
                    line: number,
                    fault,
                })?;
            requests.push(request);
        }
        line.clear();
    }
    match server {
        Some(server) if !requests.is_empty() => Ok(RequestFile { server, requests }),
        _ => Err(RequestFileError::Empty),
    }
}

/// The request of a line. Its server becomes the one of all where none is known yet.
fn request(
    line: &[u8],
    server: &mut Option<HttpUrl>,
    headers: &[String],
) -> Result<Request, LineFault> {
    let fields = object(line)?;
    let url = url(&fields, server.as_ref())?;
    let method = text(&fields, "method")?.unwrap_or("GET");
    let headers = merged(own_headers(&fields)?, headers);
    let body = body(&fields)?;
    let request = Request::new(method, &url, &headers, &body)?;
    server.get_or_insert(url);
    Ok(request)
}

fn object(line: &[u8]) -> Result<Map<String, Value>, LineFault> {
    let value: Value =
        prony_model::from_json_slice(line).map_err(|error| match error.is_data() {
            true => LineFault::Ambiguous(without_line(error)),
            false => LineFault::NotAnObject(without_line(error)),
        })?;
    let Value::Object(fields) = value else {
        return Err(LineFault::NotAnObject(kind(&value).into()));
    };
    match fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        Some(unknown) => Err(LineFault::UnknownField {
            name: unknown.clone(),
        }),
        None => Ok(fields),
    }
}

/// What serde says, without a line number that is always 1.
fn without_line(error: serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}

fn url(fields: &Map<String, Value>, server: Option<&HttpUrl>) -> Result<HttpUrl, LineFault> {
    let wrong = |field| move |source| LineFault::Url { field, source };
    match (text(fields, "path")?, text(fields, "url")?) {
        (None, None) => Err(LineFault::NoPath),
        (Some(_), Some(_)) => Err(LineFault::Both {
            one: "path",
            other: "url",
        }),
        (Some(path), None) if !path.starts_with('/') => Err(LineFault::RelativePath(path.into())),
        (Some(path), None) => server
            .ok_or(LineFault::NoServer)?
            .with_path(path)
            .map_err(wrong("path")),
        (None, Some(url)) => {
            let url: HttpUrl = url.parse().map_err(wrong("url"))?;
            match server {
                Some(server) if !server.is_same_server(&url) => Err(LineFault::OtherServer {
                    url: url.as_str().into(),
                    server: format!("{}:{}", server.host(), server.port()),
                }),
                _ => Ok(url),
            }
        }
    }
}

fn own_headers(fields: &Map<String, Value>) -> Result<Vec<String>, LineFault> {
    let headers = match fields.get("headers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(headers)) => headers,
        Some(other) => return Err(wrong_type("headers", "an object of names and texts", other)),
    };
    headers
        .iter()
        .map(|(name, value)| match value {
            // The name is all before the first colon of a header line.
            Value::String(_) if name.contains(':') => {
                Err(RequestError::HeaderName(name.clone()).into())
            }
            Value::String(value) => Ok(format!("{name}: {value}")),
            other => Err(wrong_type(&format!("headers.{name}"), "a text", other)),
        })
        .collect()
}

/// A request's own headers, and those of all whose names it does not have.
fn merged(own: Vec<String>, of_all: &[String]) -> Vec<String> {
    let name = |line: &str| {
        let name = line.split(':').next().unwrap_or_default();
        name.trim().to_ascii_lowercase()
    };
    let names: Vec<String> = own.iter().map(|line| name(line)).collect();
    let others = of_all.iter().filter(|line| !names.contains(&name(line)));
    own.iter().chain(others).cloned().collect()
}

fn body(fields: &Map<String, Value>) -> Result<Vec<u8>, LineFault> {
    match (text(fields, "body")?, text(fields, "body_base64")?) {
        (None, None) => Ok(Vec::new()),
        (Some(_), Some(_)) => Err(LineFault::Both {
            one: "body",
            other: "body_base64",
        }),
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(encoded)) => STANDARD.decode(encoded).map_err(LineFault::Base64),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, LineFault> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(name, "a text", other)),
    }
}

fn wrong_type(field: &str, expected: &'static str, came: &Value) -> LineFault {
    LineFault::Type {
        field: field.into(),
        expected,
        came: kind(came),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn field_of(error: &RequestError) -> &'static str {
    match error {
        RequestError::Method(_) => "method",
        _ => "headers",
    }
}

fn list_of_fields() -> String {
    FIELDS.map(|field| format!("`{field}`")).join(", ")
}

#[cfg(test)]
mod tests;
