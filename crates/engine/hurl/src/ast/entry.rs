//! Entries: a request and what its response is to be.

use super::{Body, EntryOption, Filter, Predicate, Query, Template};
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct HurlFile {
    pub entries: Vec<Entry>,
}

/// A request and what its response is to be.
#[derive(Clone, Debug)]
pub struct Entry {
    pub request: Request,
    pub response: Option<Response>,
}

/// A request. If a section occurs under both of its names (`[Form]` and `[FormParams]`), the first counts, as for Hurl.
#[derive(Clone, Debug)]
pub struct Request {
    pub position: Position,
    /// The method, in capitals.
    pub method: String,
    /// The URL, to which `query` is added.
    pub url: Template,
    pub headers: Vec<KeyValue>,
    pub query: Vec<KeyValue>,
    pub form: Vec<KeyValue>,
    pub multipart: Vec<MultipartParam>,
    pub cookies: Vec<KeyValue>,
    pub basic_auth: Option<KeyValue>,
    pub options: Vec<EntryOption>,
    pub body: Option<Body>,
}

/// What a response is to be. If a section occurs twice, the file is refused.
#[derive(Clone, Debug)]
pub struct Response {
    /// Where the version is.
    pub position: Position,
    /// Any without one.
    pub version: Option<HttpVersion>,
    pub status: Status,
    pub headers: Vec<KeyValue>,
    pub captures: Vec<Capture>,
    pub asserts: Vec<Assert>,
    pub body: Option<Body>,
}

keywords! {
    /// A version of HTTP with its number.
    HttpVersion {
        Http10 = "1.0",
        Http11 = "1.1",
        Http2 = "2",
        Http3 = "3",
    }
}

/// The status that a response is to have.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    pub value: StatusValue,
    pub position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusValue {
    /// `*`
    Any,
    /// `200`
    Exactly(u64),
}

/// `key: value`: a header field, a parameter, a cookie, or a user and a password.
#[derive(Clone, Debug)]
pub struct KeyValue {
    pub key: Template,
    pub value: Template,
}

#[derive(Clone, Debug)]
pub enum MultipartParam {
    Value(KeyValue),
    File(FilenameParam),
}

/// `key: file,name; type`
#[derive(Clone, Debug)]
pub struct FilenameParam {
    pub key: Template,
    pub file: Template,
    pub content_type: Option<Template>,
}

/// `name: query filters redact`
#[derive(Clone, Debug)]
pub struct Capture {
    /// The variable that takes the value.
    pub name: Template,
    pub query: Query,
    pub filters: Vec<Filter>,
    pub is_redacted: bool,
}

/// `query filters predicate`
#[derive(Clone, Debug)]
pub struct Assert {
    pub query: Query,
    pub filters: Vec<Filter>,
    pub predicate: Predicate,
}
