//! The requests of workloads.

mod body;
mod encoded_body;
mod prepared;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

use prony_model::Protocol;
use prony_traffic::header_fields;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::message::Message;
use crate::one_or_more::OneOrMore;

pub use body::{MultipartPart, PartContent, RequestBody};
pub(crate) use prepared::PreparedHttp;
pub use prepared::{PrepareError, PreparedRequest};
pub(crate) use value::{Resolver, Unset};
pub use value::{Secret, Value, Variable};

/// The request of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RequestFields")]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few, and most are the large one"
)]
pub enum DeclaredRequest {
    Http(HttpRequest),
    /// A gRPC call with one message.
    Grpc {
        /// The path of the call: `/package.Service/Method`.
        path: String,
        message: Message,
        /// [`Protocol::Grpc`] or [`Protocol::GrpcTls`].
        protocol: Protocol,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, with its slash and its query if it has one.
    pub path: String,
    /// The version of HTTP, and whether it is encrypted.
    pub protocol: Protocol,
    /// Header fields by name.
    pub headers: BTreeMap<String, Value>,
    /// Fields that are added to the query.
    pub query: BTreeMap<String, OneOrMore<Value>>,
    pub cookies: BTreeMap<String, Value>,
    /// Whether each user sends the cookies that responses set.
    pub(crate) keep_cookies: bool,
    /// The user and the password of the header `authorization`.
    pub basic_auth: Option<BasicAuth>,
    /// What it sends.
    pub body: Option<RequestBody>,
    /// Whether the response may be compressed.
    pub compressed: bool,
}

/// A user and a password (RFC 7617).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicAuth {
    pub user: Value,
    /// The password, which is never shown.
    #[serde(deserialize_with = "secret")]
    pub password: Value,
}

impl HttpRequest {
    /// A request without anything but a method and a path.
    pub fn new(method: impl Into<String>, path: impl Into<String>, protocol: Protocol) -> Self {
        Self {
            method: method.into(),
            path: path.into(),
            protocol,
            headers: BTreeMap::new(),
            query: BTreeMap::new(),
            cookies: BTreeMap::new(),
            keep_cookies: false,
            basic_auth: None,
            body: None,
            compressed: false,
        }
    }

    /// Whether the file has a header of that name.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        let mut names = self.headers.keys();
        names.any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether it has a value that must not be shown.
    pub(crate) fn has_secret(&self) -> bool {
        let fields = self.headers.values().chain(self.cookies.values());
        let query = self.query.values().flat_map(OneOrMore::as_slice);
        let body = self.body.as_ref();
        self.basic_auth.is_some()
            || fields.chain(query).any(Value::is_secret)
            || body.is_some_and(RequestBody::has_secret)
    }

    /// Whether it has header fields of its own.
    pub(crate) fn has_headers(&self) -> bool {
        let by_name = !self.headers.is_empty() || !self.cookies.is_empty();
        by_name || self.basic_auth.is_some() || self.body.is_some() || self.compressed
    }

    /// Each header field is set once.
    fn check(self) -> Result<Self, String> {
        for (field, header, is_set) in [
            ("basic_auth", "authorization", self.basic_auth.is_some()),
            ("cookies", "cookie", !self.cookies.is_empty()),
            ("keep_cookies", "cookie", self.keep_cookies),
            ("compressed", "accept-encoding", self.compressed),
        ] {
            if is_set && self.has_header(header) {
                return Err(format!(
                    "`{field}` sets the header `{header}`, which `headers` has too; remove one"
                ));
            }
        }
        Ok(self)
    }
}

impl DeclaredRequest {
    /// Whether each user sends the cookies that responses set.
    pub(crate) fn keeps_cookies(&self) -> bool {
        matches!(self, Self::Http(request) if request.keep_cookies)
    }

    /// How it travels.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Http(HttpRequest { protocol, .. }) | Self::Grpc { protocol, .. } => *protocol,
        }
    }
}

/// The fields of a request: those of HTTP, or `grpc` and `message`; `protocol` and `tls` for both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestFields {
    #[serde(default, deserialize_with = "method")]
    method: Option<String>,
    #[serde(default, deserialize_with = "path")]
    path: Option<String>,
    #[serde(default, deserialize_with = "headers")]
    headers: BTreeMap<String, Value>,
    #[serde(default)]
    query: BTreeMap<String, OneOrMore<Value>>,
    #[serde(default, deserialize_with = "cookies")]
    cookies: BTreeMap<String, Value>,
    #[serde(default)]
    keep_cookies: bool,
    basic_auth: Option<BasicAuth>,
    body: Option<RequestBody>,
    #[serde(default)]
    compressed: bool,
    #[serde(default, deserialize_with = "call")]
    grpc: Option<String>,
    message: Option<Message>,
    protocol: Option<HttpVersion>,
    #[serde(default)]
    tls: bool,
}

/// The version of HTTP, as in a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum HttpVersion {
    #[serde(rename = "http/1.1")]
    Http11,
    #[serde(rename = "h2")]
    H2,
}

impl HttpVersion {
    /// The protocol of the fields `protocol` and `tls`.
    pub(crate) fn protocol(version: Option<Self>, tls: bool) -> Protocol {
        match (version, tls) {
            (None | Some(Self::Http11), false) => Protocol::Http11,
            (None | Some(Self::Http11), true) => Protocol::Https11,
            (Some(Self::H2), false) => Protocol::H2c,
            (Some(Self::H2), true) => Protocol::H2,
        }
    }
}

impl RequestFields {
    fn grpc_protocol(&self) -> Result<Protocol, &'static str> {
        match (self.protocol, self.tls) {
            (Some(HttpVersion::Http11), _) => Err(
                "gRPC needs HTTP/2, so `protocol = \"http/1.1\"` does not go with `grpc`; remove it",
            ),
            (_, false) => Ok(Protocol::Grpc),
            (_, true) => Ok(Protocol::GrpcTls),
        }
    }

    /// A field that only HTTP requests have.
    fn only_http(&self) -> Option<&'static str> {
        [
            ("headers", !self.headers.is_empty()),
            ("query", !self.query.is_empty()),
            ("cookies", !self.cookies.is_empty()),
            ("keep_cookies", self.keep_cookies),
            ("basic_auth", self.basic_auth.is_some()),
            ("body", self.body.is_some()),
            ("compressed", self.compressed),
        ]
        .into_iter()
        .find_map(|(name, is_set)| is_set.then_some(name))
    }

    fn http(self, method: String, path: String) -> Result<DeclaredRequest, String> {
        let request = HttpRequest {
            headers: self.headers,
            query: self.query,
            cookies: self.cookies,
            keep_cookies: self.keep_cookies,
            basic_auth: self.basic_auth,
            body: self.body,
            compressed: self.compressed,
            ..HttpRequest::new(method, path, Protocol::Http11)
        };
        request.check().map(DeclaredRequest::Http)
    }
}

impl TryFrom<RequestFields> for DeclaredRequest {
    type Error = String;

    fn try_from(mut fields: RequestFields) -> Result<Self, String> {
        let http_protocol = HttpVersion::protocol(fields.protocol, fields.tls);
        let grpc_protocol = fields.grpc_protocol();
        let http = (fields.method.take(), fields.path.take());
        match (http, fields.grpc.take(), fields.message.take()) {
            ((Some(method), Some(path)), None, None) => {
                let mut request = fields.http(method, path)?;
                if let Self::Http(http) = &mut request {
                    http.protocol = http_protocol;
                }
                Ok(request)
            }
            ((None, None), Some(call), Some(message)) => match fields.only_http() {
                Some(name) => Err(format!("a gRPC call has no `{name}`; remove it")),
                None => Ok(Self::Grpc {
                    path: format!("/{call}"),
                    message,
                    protocol: grpc_protocol?,
                }),
            },
            (_, Some(_), _) => {
                Err("a gRPC call has `grpc` and `message`, and neither `method` nor `path`".into())
            }
            ((None, _), ..) => Err("missing field `method`".into()),
            ((_, None), ..) => Err("missing field `path`".into()),
            _ => Err("`message` is only for gRPC; name the call with `grpc`".into()),
        }
    }
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Value::deserialize(deserializer).map(Value::into_secret)
}

/// Header fields with right names, each once.
fn headers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Value>, D::Error> {
    let headers = BTreeMap::<String, Value>::deserialize(deserializer)?;
    let mut names = Vec::new();
    for (name, value) in &headers {
        let value = match value {
            Value::Text(text) => text,
            Value::Secret(_) | Value::Variable(_) => "",
        };
        // A name with a colon would become another name.
        let name = name.replace(':', " ");
        header_fields(&[format!("{name}: {value}")]).map_err(D::Error::custom)?;
        let name = name.to_ascii_lowercase();
        if names.contains(&name) {
            return Err(D::Error::custom(format_args!(
                "header `{name}` occurs twice"
            )));
        }
        names.push(name);
    }
    Ok(headers)
}

fn cookies<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Value>, D::Error> {
    let cookies = BTreeMap::<String, Value>::deserialize(deserializer)?;
    // The names of cookies and of headers have the same characters.
    let is_name =
        |name: &str| !name.contains(':') && header_fields(&[format!("{name}: x")]).is_ok();
    match cookies.keys().find(|name| !is_name(name)) {
        None => Ok(cookies),
        Some(name) => Err(D::Error::custom(format_args!(
            "`{}` is not the name of a cookie",
            name.escape_default()
        ))),
    }
}

/// Text that must be right, or else is not `what`.
fn checked<E: Error>(
    text: String,
    is_right: impl FnOnce(&str) -> bool,
    what: &str,
) -> Result<Option<String>, E> {
    if !is_right(&text) {
        return Err(E::custom(format_args!("`{text}` is not {what}")));
    }
    Ok(Some(text))
}

fn method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_method = |method: &str| {
        !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let method = String::deserialize(deserializer)?;
    checked(method, is_method, "a method; write one like `GET`")
}

fn call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_name = |part: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        !part.is_empty() && part.chars().all(is_letter)
    };
    let is_call = |call: &str| {
        let parts = call.split_once('/');
        parts.is_some_and(|(service, method)| is_name(service) && is_name(method))
    };
    let call = String::deserialize(deserializer)?;
    // As `prony load --grpc` takes it, too: with a dot before the method.
    let call = match call.rsplit_once('.') {
        Some((service, method)) if !call.contains('/') => format!("{service}/{method}"),
        _ => call,
    };
    let what = "a call; write one like `package.Service/Method`";
    checked(call, is_call, what)
}

fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_path = |path: &str| path.starts_with('/') && is_graphic(&without_placeholders(path));
    let what = "a path; it must begin with `/`, and contain no blanks outside of placeholders";
    checked(String::deserialize(deserializer)?, is_path, what)
}

fn is_graphic(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What a text has outside of its placeholders, in which blanks mean nothing.
fn without_placeholders(text: &str) -> String {
    let mut outside = String::new();
    let mut rest = text;
    while let Some(found) = prony_traffic::placeholder(rest) {
        let (before, behind) = rest.split_once(found).unwrap_or((rest, ""));
        outside.push_str(before);
        rest = behind;
    }
    outside + rest
}
