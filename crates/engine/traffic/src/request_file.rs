//! Requests from a file: one JSON object per line.
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

use crate::parts::{RequestError, RequestParts};
use crate::url::HttpUrl;

/// The longest file of requests, in bytes: all of them are held in memory.
const LONGEST_REQUEST_FILE: u64 = 256 * 1024 * 1024;

const FIELDS: [&str; 6] = ["method", "path", "url", "headers", "body", "body_base64"];

/// Why requests could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RequestFileError {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("holds no request: write one JSON object per line, for instance {{\"path\": \"/\"}}")]
    Empty,
    #[error("is longer than {limit} bytes: requests are held in memory, so split the file")]
    TooLong { limit: u64 },
    #[error("line {line}: {fault}")]
    Line { line: usize, fault: String },
}

/// The requests of a file, and the server that they all go to.
#[derive(Clone, Debug)]
pub struct RequestFile {
    /// The server: the one given, or else that of the first line's `url`.
    pub server: HttpUrl,
    /// The requests in the order of their lines; at least one.
    pub requests: Vec<RequestParts>,
}

impl RequestFile {
    /// Reads requests, one JSON object per line, and skips blank lines. A `path` is on `server`; without a server, the
    /// first line needs a `url`. `headers` (`Name: value` lines) are added to every request that does not set them
    /// itself.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is longer than 256 MiB, or has a line that is not a valid request
    /// to the one server; the error names the line and the field.
    pub fn read(
        file: impl BufRead,
        server: Option<&HttpUrl>,
        headers: &[String],
    ) -> Result<Self, RequestFileError> {
        read_within(LONGEST_REQUEST_FILE, file, server, headers)
    }
}

fn read_within(
    limit: u64,
    file: impl BufRead,
    server: Option<&HttpUrl>,
    headers: &[String],
) -> Result<RequestFile, RequestFileError> {
    // One more byte shows that the file is too long, and no line can fill the memory.
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

/// The request of a line. Sets `server` if it is not known yet.
fn request(
    line: &[u8],
    server: &mut Option<HttpUrl>,
    headers: &[String],
) -> Result<RequestParts, String> {
    let fields = object(line)?;
    let url = url(&fields, server.as_ref())?;
    let headers = merged(own_headers(&fields)?, headers);
    let body = body(&fields)?;
    let default = if body.is_empty() { "GET" } else { "POST" };
    let method = text(&fields, "method")?.unwrap_or(default);
    let request =
        RequestParts::new(method, &url, &headers, &body).map_err(|error| wrong(&error))?;
    server.get_or_insert(url);
    Ok(request)
}

fn object(line: &[u8]) -> Result<Map<String, Value>, String> {
    let no_object =
        |what: &str| format!("not a JSON object ({what}); write for instance {{\"path\": \"/\"}}");
    let value: Value = prony_model::from_json(line).map_err(|error| {
        if error.is_data() {
            format!("{}; give it once", without_line(error))
        } else {
            no_object(&without_line(error))
        }
    })?;
    let Value::Object(fields) = value else {
        return Err(no_object(kind(&value)));
    };
    match fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        Some(unknown) => Err(format!(
            "there is no field `{unknown}`; the fields are {}",
            FIELDS.map(|field| format!("`{field}`")).join(", ")
        )),
        None => Ok(fields),
    }
}

/// serde's message without its line number, which is always 1.
fn without_line(error: serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}

fn url(fields: &Map<String, Value>, server: Option<&HttpUrl>) -> Result<HttpUrl, String> {
    match at_most_one(fields, ["path", "url"])? {
        [None, None] => Err("field `path` or `url` is missing".into()),
        [Some(path), _] if !path.starts_with('/') => {
            Err(format!("field `path`: `{path}` does not start with `/`"))
        }
        [Some(path), _] => server
            .ok_or("field `path`: no server is known; give the server's URL, or use `url` instead of `path`")?
            .with_path(path)
            .map_err(|error| format!("field `path`: {error}")),
        [None, Some(url)] => {
            let url: HttpUrl = url
                .parse()
                .map_err(|error| format!("field `url`: {error}"))?;
            match server.filter(|server| !server.is_same_server(&url)) {
                Some(server) => Err(format!(
                    "field `url`: `{}` is on another server than {}:{}; a load has only one",
                    url.as_str(),
                    server.host(),
                    server.port()
                )),
                None => Ok(url),
            }
        }
    }
}

fn own_headers(fields: &Map<String, Value>) -> Result<Vec<String>, String> {
    let headers = match fields.get("headers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(headers)) => headers,
        Some(other) => {
            return Err(wrong_type(
                "headers",
                "an object of names and strings",
                other,
            ));
        }
    };
    let line = |(name, value): (&String, &Value)| match value {
        // A colon would end the name early.
        Value::String(_) if name.contains(':') => {
            Err(wrong(&RequestError::HeaderName(name.clone())))
        }
        Value::String(value) => Ok(format!("{name}: {value}")),
        other => Err(wrong_type(&format!("headers.{name}"), "a string", other)),
    };
    headers.iter().map(line).collect()
}

/// A request's own headers, and the common ones that it does not set.
fn merged(own: Vec<String>, common: &[String]) -> Vec<String> {
    let name = |line: &str| {
        let name = line.split(':').next().unwrap_or_default();
        name.trim().to_ascii_lowercase()
    };
    let names: Vec<String> = own.iter().map(|line| name(line)).collect();
    let others = common.iter().filter(|line| !names.contains(&name(line)));
    own.iter().chain(others).cloned().collect()
}

fn body(fields: &Map<String, Value>) -> Result<Vec<u8>, String> {
    match at_most_one(fields, ["body", "body_base64"])? {
        [Some(text), _] => Ok(text.as_bytes().to_vec()),
        [None, Some(encoded)] => STANDARD
            .decode(encoded)
            .map_err(|error| format!("field `body_base64`: {error}")),
        [None, None] => Ok(Vec::new()),
    }
}

/// Of two fields, in the order of their names.
fn at_most_one<'a>(
    fields: &'a Map<String, Value>,
    [one, other]: [&str; 2],
) -> Result<[Option<&'a str>; 2], String> {
    match [text(fields, one)?, text(fields, other)?] {
        [Some(_), Some(_)] => Err(format!(
            "fields `{one}` and `{other}`: give only one of them"
        )),
        texts => Ok(texts),
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(name, "a string", other)),
    }
}

fn wrong_type(field: &str, expected: &str, actual: &Value) -> String {
    format!("field `{field}`: expected {expected}, got {}", kind(actual))
}

/// Names the field at fault in an invalid request.
fn wrong(error: &RequestError) -> String {
    let field = match error {
        RequestError::Method(_) => "method",
        _ => "headers",
    };
    format!("field `{field}`: {error}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
