//! Entries: a request and what its response is to be.

use super::{Body, EntryOption, Filter, Predicate, Query, Template};
use crate::position::Position;

/// A Hurl file.
#[derive(Clone, Debug)]
pub struct HurlFile {
    /// The requests with their responses, in their order.
    pub entries: Vec<Entry>,
}

/// A request and what its response is to be.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What is sent.
    pub request: Request,
    /// What is expected, if anything.
    pub response: Option<Response>,
}

/// A request. If a section occurs under both of its names (`[Form]` and `[FormParams]`), the first counts, as for Hurl.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where the method is.
    pub position: Position,
    /// The method, in capitals.
    pub method: String,
    /// The URL, to which `query` is added.
    pub url: Template,
    /// The header fields.
    pub headers: Vec<KeyValue>,
    /// `[Query]`
    pub query: Vec<KeyValue>,
    /// `[Form]`
    pub form: Vec<KeyValue>,
    /// `[Multipart]`
    pub multipart: Vec<MultipartParam>,
    /// `[Cookies]`
    pub cookies: Vec<KeyValue>,
    /// `[BasicAuth]`
    pub basic_auth: Option<KeyValue>,
    /// `[Options]`
    pub options: Vec<EntryOption>,
    /// The body.
    pub body: Option<Body>,
}

/// What a response is to be. If a section occurs twice, the file is refused.
#[derive(Clone, Debug)]
pub struct Response {
    /// Where the version is.
    pub position: Position,
    /// The version of HTTP.
    pub version: Version,
    /// The status.
    pub status: Status,
    /// Header fields that are compared.
    pub headers: Vec<KeyValue>,
    /// `[Captures]`
    pub captures: Vec<Capture>,
    /// `[Asserts]`
    pub asserts: Vec<Assert>,
    /// A body that is compared.
    pub body: Option<Body>,
}

/// The version that a response is to have.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// The version.
    pub value: VersionValue,
    /// Where it is.
    pub position: Position,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionValue {
    /// `HTTP/1.0`
    Http10,
    /// `HTTP/1.1`
    Http11,
    /// `HTTP/2`
    Http2,
    /// `HTTP/3`
    Http3,
    /// `HTTP`
    Any,
}

/// The status that a response is to have.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The status.
    pub value: StatusValue,
    /// Where it is.
    pub position: Position,
}

/// A status.
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
    /// Before the colon.
    pub key: Template,
    /// Behind the colon.
    pub value: Template,
}

/// A part of a multipart body.
#[derive(Clone, Debug)]
pub enum MultipartParam {
    /// A value.
    Value(KeyValue),
    /// A file.
    File(FilenameParam),
}

/// `key: file,name; type`
#[derive(Clone, Debug)]
pub struct FilenameParam {
    /// The part's name.
    pub key: Template,
    /// The file's name.
    pub file: Template,
    /// The part's content type, if given.
    pub content_type: Option<Template>,
}

/// `name: query filters redact`
#[derive(Clone, Debug)]
pub struct Capture {
    /// The variable that takes the value.
    pub name: Template,
    /// Where the value comes from.
    pub query: Query,
    /// What is done to the value.
    pub filters: Vec<Filter>,
    /// Whether the value is a secret.
    pub is_redacted: bool,
}

/// `query filters predicate`
#[derive(Clone, Debug)]
pub struct Assert {
    /// Where the value comes from.
    pub query: Query,
    /// What is done to the value.
    pub filters: Vec<Filter>,
    /// What the value is to be.
    pub predicate: Predicate,
}
