//! The requests of a load, encoded once.

use std::io::Write as _;
use std::sync::Arc;

use http::uri::InvalidUri;
use http::{HeaderName, HeaderValue, Method, header};

use crate::response::excerpt;
use crate::scenario::{Entry, Scenario};
use crate::target::HttpUrl;
use crate::tls::HttpVersion;
use crate::wire::h1::RequestKind;
use crate::wire::h2::{StreamRequest, StreamRequestError};

/// Why a request is invalid.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum RequestError {
    #[error("`{0}` is not an HTTP method")]
    Method(String),
    #[error("`{0}` is not a header: write it as `Name: value`")]
    HeaderShape(String),
    #[error("`{0}` is not the name of a header")]
    HeaderName(String),
    #[error("the value of header `{0}` contains a byte that is not allowed in a header")]
    HeaderValue(String),
    #[error("header `{0}` frames the body: Prony sets it itself, so leave it out")]
    Framing(String),
    #[error("a request has one header `Host`: remove the other one")]
    Hosts,
    #[error("{} is not the path of a URL: {reason}", excerpt(path.as_bytes(), 0))]
    Path { path: String, reason: InvalidUri },
    #[error("CONNECT opens a tunnel, which no further request can use")]
    Tunnel,
    #[error(transparent)]
    Http2(#[from] StreamRequestError),
    #[error("a load needs at least one request")]
    None,
    #[error("the weights must be one for each request, at least one of them above 0")]
    Weights,
}

/// A header field.
pub type Field = (HeaderName, HeaderValue);

/// A request, before it is encoded for a version of HTTP.
#[derive(Clone, Debug)]
pub struct RequestParts {
    method: Method,
    url: HttpUrl,
    fields: Vec<Field>,
    /// Shared by the clones: it may be long.
    body: Arc<Vec<u8>>,
}

impl RequestParts {
    /// A request for `url`. `headers` are `Name: value` lines.
    pub fn new(
        method: &str,
        url: &HttpUrl,
        headers: &[String],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        Self::of_fields(method, url.clone(), header_fields(headers)?, body.to_vec())
    }

    /// A request of these fields, none of which frames the body. The user of the URL is sent, unless the fields have
    /// another.
    pub fn of_fields(
        method: &str,
        url: HttpUrl,
        mut fields: Vec<Field>,
        body: Vec<u8>,
    ) -> Result<Self, RequestError> {
        add_user(&mut fields, &url);
        Ok(Self {
            method: Method::from_bytes(method.as_bytes())
                .map_err(|_| RequestError::Method(method.into()))?,
            url,
            fields,
            body: Arc::new(body),
        })
    }

    /// The request for HTTP/1.1. `Host` and `Content-Length` are added if they are missing.
    pub fn http1(&self) -> Request {
        let mut encoded = Vec::new();
        self.encode_http1(false, &mut encoded);
        Request {
            kind: RequestKind::of(&self.method),
            method: self.method.clone(),
            encoded,
            closes: self.fields.iter().any(closes),
        }
    }

    /// Appends the request for HTTP/1.1 to `encoded`; `closing` adds `Connection: close`, unless it has that.
    pub(crate) fn encode_http1(&self, closing: bool, encoded: &mut Vec<u8>) {
        self.encode_http1_head(closing, encoded);
        encoded.extend_from_slice(&self.body);
    }

    /// The same without the body.
    pub(crate) fn encode_http1_head(&self, closing: bool, encoded: &mut Vec<u8>) {
        let Self { method, fields, .. } = self;
        let mut add = |parts: &[&[u8]]| {
            for part in parts {
                encoded.extend_from_slice(part);
            }
        };
        add(&[method.as_str().as_bytes(), b" ", self.url.path().as_bytes()]);
        add(&[b" HTTP/1.1\r\n"]);
        if closing && !fields.iter().any(closes) {
            add(&[CLOSE]);
        }
        if !fields.iter().any(|(name, _)| name == "host") {
            add(&[b"Host: ", self.url.host_header().as_bytes(), b"\r\n"]);
        }
        for (name, value) in fields {
            add(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
        if expects_length(method, &self.body) {
            // Writing to memory cannot fail.
            let _ = write!(encoded, "Content-Length: {}\r\n", self.body.len());
        }
        encoded.extend_from_slice(b"\r\n");
    }

    /// The request for HTTP/2.
    ///
    /// # Errors
    ///
    /// If HTTP/2 cannot express it.
    pub fn http2(&self) -> Result<StreamRequest, RequestError> {
        if self.method == Method::CONNECT {
            Err(StreamRequestError::Connect.into())
        } else {
            Ok(self.plain_http2())
        }
    }

    /// The same, if the method is certainly not CONNECT.
    pub(crate) fn plain_http2(&self) -> StreamRequest {
        let url = &self.url;
        StreamRequest::plain(
            &self.method,
            url.scheme().name(),
            url.host_header(),
            url.path(),
            &self.fields,
            Arc::clone(&self.body),
        )
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The URL.
    pub fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// The header fields, without those that the encoding adds.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub(crate) fn become_get(&mut self) {
        self.method = Method::GET;
    }

    pub(crate) fn fields_mut(&mut self) -> &mut Vec<Field> {
        &mut self.fields
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn shared_body(&self) -> &Arc<Vec<u8>> {
        &self.body
    }

    pub(crate) fn body_mut(&mut self) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.body)
    }

    pub(crate) fn set_path(&mut self, path: &str) -> Result<(), RequestError> {
        self.url
            .set_path(path)
            .map_err(|reason| RequestError::Path {
                path: path.into(),
                reason,
            })
    }
}

/// The field that asks the server to close the connection after the response.
const CLOSE: &[u8] = b"Connection: close\r\n";

/// Whether a request says how long its body is.
pub(crate) fn expects_length(method: &Method, body: &[u8]) -> bool {
    !body.is_empty() || matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

/// A request for HTTP/1.1, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    kind: RequestKind,
    encoded: Vec<u8>,
    closes: bool,
}

impl Request {
    /// A request for `url`. `headers` are `Name: value` lines; `Host` and `Content-Length` are added if they are
    /// missing.
    pub fn new(
        method: &str,
        url: &HttpUrl,
        headers: &[String],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        Ok(RequestParts::new(method, url, headers, body)?.http1())
    }

    /// A request that [`bytes`](Self::bytes) and [`closes`](Self::closes) of another say everything about; `None` if
    /// these are not the bytes of a request.
    pub(crate) fn of_bytes(encoded: Vec<u8>, closes: bool) -> Option<Self> {
        let first_line = memchr::memmem::find(&encoded, b"\r\n")?;
        let mut words = encoded[..first_line].split(|&byte| byte == b' ');
        let method = Method::from_bytes(words.next()?).ok()?;
        words.next().filter(|path| path.starts_with(b"/"))?;
        let is_request =
            words.eq([b"HTTP/1.1"]) && memchr::memmem::find(&encoded, b"\r\n\r\n").is_some();
        is_request.then(|| Self {
            kind: RequestKind::of(&method),
            method,
            encoded,
            closes,
        })
    }

    /// The encoded request.
    pub fn bytes(&self) -> &[u8] {
        &self.encoded
    }

    /// Appends the same, with `Connection: close`: few requests are the last ones of their connections, and a body may be
    /// long.
    pub(crate) fn add_closing(&self, bytes: &mut Vec<u8>) {
        let end = memchr::memmem::find(&self.encoded, b"\r\n").map_or(0, |at| at + b"\r\n".len());
        let (first_line, rest) = self.encoded.split_at(end);
        let closing = if self.closes { &b""[..] } else { CLOSE };
        [first_line, closing, rest]
            .iter()
            .for_each(|part| bytes.extend_from_slice(part));
    }

    /// How many bytes it may take until it is sent.
    fn queued_bytes(&self) -> usize {
        self.encoded.len() + CLOSE.len()
    }

    /// The method's name.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The path, with the query.
    fn path(&self) -> &str {
        let mut words = self.encoded.split(|&byte| byte == b' ');
        let path = words.nth(1).and_then(|it| str::from_utf8(it).ok());
        path.unwrap_or_default()
    }

    /// What the method implies for the body of the response.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Whether repeating it has no further effect (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// Whether it asks the server to close the connection after the response.
    pub fn closes(&self) -> bool {
        self.closes
    }
}

/// Several requests to one server, and their order.
#[derive(Clone, Debug)]
pub struct RequestSet<R = Request> {
    requests: Vec<R>,
    order: Order,
}

/// Which request of a set comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each thread sends them round-robin.
    InTurn,
    /// At random, in proportion to their weights: one weight per request.
    Random(Vec<u32>),
}

impl<R> RequestSet<R> {
    /// # Errors
    ///
    /// If there is no request, or if the weights are not one per request with a sum above 0.
    pub fn new(requests: Vec<R>, order: Order) -> Result<Self, RequestError> {
        if requests.is_empty() {
            return Err(RequestError::None);
        }
        if let Order::Random(weights) = &order
            && (weights.len() != requests.len() || weights.iter().all(|&weight| weight == 0))
        {
            return Err(RequestError::Weights);
        }
        Ok(Self { requests, order })
    }

    /// The requests; at least one.
    pub fn requests(&self) -> &[R] {
        &self.requests
    }

    /// Their order.
    pub fn order(&self) -> &Order {
        &self.order
    }
}

/// The method of several requests, if they all have the same; `method` tells that of one.
fn common_method<'a, R>(requests: &'a [R], method: impl Fn(&'a R) -> &'a str) -> &'a str {
    let mut methods = requests.iter().map(method);
    let first = methods.next().unwrap_or_default();
    if methods.all(|other| other == first) {
        first
    } else {
        "various"
    }
}

impl<R> From<R> for RequestSet<R> {
    fn from(request: R) -> Self {
        Self {
            requests: vec![request],
            order: Order::InTurn,
        }
    }
}

impl RequestSet<RequestParts> {
    /// The requests, encoded for that version of HTTP.
    ///
    /// # Errors
    ///
    /// If the version cannot express one of them.
    pub fn encode(self, http: HttpVersion) -> Result<WireRequest, RequestError> {
        let Self { requests, order } = self;
        Ok(match http {
            HttpVersion::Http1 => WireRequest::Http1(RequestSet {
                requests: requests.into_iter().map(|it| it.http1()).collect(),
                order,
            }),
            HttpVersion::Http2 => WireRequest::Http2(RequestSet {
                requests: requests
                    .into_iter()
                    .map(|it| it.http2())
                    .collect::<Result<_, _>>()?,
                order,
            }),
        })
    }
}

/// Requests with the wire that they go over.
#[derive(Clone, Debug)]
pub enum WireRequest {
    /// HTTP/1.1.
    Http1(RequestSet),
    /// HTTP/2.
    Http2(RequestSet<StreamRequest>),
    /// A gRPC call.
    Grpc(StreamRequest),
}

impl From<Request> for WireRequest {
    fn from(request: Request) -> Self {
        Self::Http1(request.into())
    }
}

impl From<RequestSet> for WireRequest {
    fn from(requests: RequestSet) -> Self {
        Self::Http1(requests)
    }
}

impl From<StreamRequest> for WireRequest {
    fn from(request: StreamRequest) -> Self {
        match request.call_kind() {
            Some(_) => Self::Grpc(request),
            None => Self::Http2(request.into()),
        }
    }
}

impl WireRequest {
    /// The method's name.
    pub fn method(&self) -> &str {
        match self {
            Self::Http1(requests) => common_method(&requests.requests, Request::method),
            Self::Http2(requests) => common_method(&requests.requests, StreamRequest::method),
            Self::Grpc(_) => "POST",
        }
    }

    /// How many requests there are, and their order if there are several.
    pub(crate) fn order(&self) -> (usize, &Order) {
        match self {
            Self::Http1(set) => (set.requests.len(), &set.order),
            Self::Http2(set) => (set.requests.len(), &set.order),
            Self::Grpc(_) => (1, &Order::InTurn),
        }
    }

    /// How many bytes of memory each request in flight may take until it is sent.
    pub(crate) fn longest_bytes(&self) -> u64 {
        let longest = match self {
            Self::Http1(set) => set.requests.iter().map(Request::queued_bytes).max(),
            Self::Http2(set) => set.requests.iter().map(StreamRequest::queued_bytes).max(),
            Self::Grpc(call) => Some(call.queued_bytes()),
        };
        longest.unwrap_or(0) as u64
    }

    /// Whether that request of the set may be sent again if the first attempt has no known result. For a gRPC call only
    /// its server knows.
    pub(crate) fn is_idempotent(&self, number: usize) -> bool {
        match self {
            Self::Http1(set) => set.requests[number].is_idempotent(),
            Self::Http2(set) => set.requests[number].is_idempotent(),
            Self::Grpc(_) => false,
        }
    }

    /// The name of each, `GET /orders`, without a query, which may hold a secret.
    fn names(&self) -> Vec<String> {
        let http1 = |it: &Request| name(it.method(), it.path());
        let stream = |it: &StreamRequest| name(it.method(), it.path());
        match self {
            Self::Http1(set) => set.requests.iter().map(http1).collect(),
            Self::Http2(set) => set.requests.iter().map(stream).collect(),
            Self::Grpc(call) => vec![call.path().trim_start_matches('/').to_owned()],
        }
    }

    /// Whether that request of the set asks the server to close the connection after the response.
    pub(crate) fn closes(&self, number: usize) -> bool {
        match self {
            Self::Http1(set) => set.requests[number].closes(),
            Self::Http2(_) | Self::Grpc(_) => false,
        }
    }
}

/// What a load sends.
#[derive(Clone)]
pub enum LoadRequest {
    /// Requests of a set, which do not depend on responses.
    Set(WireRequest),
    /// What each user of a scenario sends, over that version of HTTP.
    Scenario(Arc<dyn Scenario>, HttpVersion),
}

impl<T: Into<WireRequest>> From<T> for LoadRequest {
    fn from(request: T) -> Self {
        Self::Set(request.into())
    }
}

impl LoadRequest {
    /// The requests, if they do not depend on responses.
    pub fn set(&self) -> Option<&WireRequest> {
        match self {
            Self::Set(requests) => Some(requests),
            Self::Scenario(..) => None,
        }
    }

    /// The scenario whose flows the load counts.
    pub(crate) fn flows(&self) -> Option<&dyn Scenario> {
        match self {
            Self::Scenario(scenario, _) if !scenario.is_one_request() => Some(&**scenario),
            Self::Scenario(..) | Self::Set(_) => None,
        }
    }

    /// The name of each request of the set, or of each entry of the scenario, by its number.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Set(requests) => requests.names(),
            Self::Scenario(scenario, _) => {
                let names = scenario.entries().iter().map(Entry::name);
                names.map(str::to_owned).collect()
            }
        }
    }

    /// How many entries its scenario has; 0 without one.
    pub(crate) fn entries(&self) -> usize {
        match self {
            Self::Scenario(scenario, _) => scenario.entries().len(),
            Self::Set(_) => 0,
        }
    }

    /// Whether these are gRPC calls.
    pub(crate) fn is_grpc(&self) -> bool {
        matches!(self, Self::Set(WireRequest::Grpc(_)))
    }

    /// The method's name, if there is only one.
    pub fn method(&self) -> &str {
        match self {
            Self::Set(requests) => requests.method(),
            Self::Scenario(scenario, _) => common_method(scenario.entries(), Entry::method),
        }
    }

    /// How many bytes of memory each request in flight may take until it is sent, if there may be several over a
    /// connection.
    pub(crate) fn longest_bytes(&self) -> u64 {
        self.set().map_or(0, WireRequest::longest_bytes)
    }

    /// Whether that request may be sent again if the first attempt has no known result.
    pub(crate) fn is_idempotent(&self, number: usize) -> bool {
        match self {
            Self::Set(requests) => requests.is_idempotent(number),
            Self::Scenario(scenario, _) => scenario.entries()[number].is_idempotent(),
        }
    }

    /// Whether that request asks the server to close the connection after the response. What a user sends is not known
    /// before; its server then says that it closes.
    pub(crate) fn closes(&self, number: usize) -> bool {
        self.set().is_some_and(|requests| requests.closes(number))
    }
}

fn name(method: &str, path: &str) -> String {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    format!("{method} {path}")
}

/// The fields of `Name: value` lines.
///
/// # Errors
///
/// If a line is none, or [`add_field`] refuses it.
pub fn header_fields(lines: &[String]) -> Result<Vec<Field>, RequestError> {
    let mut fields = Vec::with_capacity(lines.len());
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| RequestError::HeaderShape(line.into()))?;
        add_field(&mut fields, name.trim(), value.trim())?;
    }
    Ok(fields)
}

/// Adds a field to those of a request.
///
/// # Errors
///
/// If it is none, frames the body, or is another `Host` (RFC 9112, section 3.2).
pub fn add_field(fields: &mut Vec<Field>, name: &str, value: &str) -> Result<(), RequestError> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| RequestError::HeaderName(name.into()))?;
    if matches!(parsed, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
        return Err(RequestError::Framing(name.into()));
    }
    if parsed == header::HOST && has(fields, &parsed) {
        return Err(RequestError::Hosts);
    }
    let value = HeaderValue::from_str(value).map_err(|_| RequestError::HeaderValue(name.into()))?;
    fields.push((parsed, value));
    Ok(())
}

/// Sends the user of a URL, unless the fields have another, as curl does.
pub fn add_user(fields: &mut Vec<Field>, url: &HttpUrl) {
    if let Some(value) = url.authorization()
        && !has(fields, &header::AUTHORIZATION)
    {
        fields.push((header::AUTHORIZATION, value.clone()));
    }
}

fn has(fields: &[Field], name: &HeaderName) -> bool {
    fields.iter().any(|(field, _)| field == name)
}

fn closes((name, value): &Field) -> bool {
    name == "connection"
        && value
            .as_bytes()
            .split(|&byte| byte == b',')
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    fn url() -> HttpUrl {
        "http://localhost:8080/path?q=1".parse().unwrap()
    }

    fn encode(method: &str, headers: &[&str], body: &[u8]) -> Result<String, RequestError> {
        let headers: Vec<String> = headers.iter().map(|&line| line.to_owned()).collect();
        Request::new(method, &url(), &headers, body)
            .map(|request| String::from_utf8(request.encoded).unwrap())
    }

    #[test]
    fn missing_host_and_length_are_added() {
        assert_eq!(
            encode("GET", &[], b"").unwrap(),
            "GET /path?q=1 HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"
        );
        assert_eq!(
            encode("POST", &["Host: other", "X-A:  b "], b"xy").unwrap(),
            "POST /path?q=1 HTTP/1.1\r\nhost: other\r\nx-a: b\r\nContent-Length: 2\r\n\r\nxy"
        );
        assert!(
            encode("PUT", &[], b"")
                .unwrap()
                .contains("Content-Length: 0")
        );
    }

    #[test]
    fn invalid_requests_are_refused() {
        for [method, header, error] in rows(
            r"
                GE T | a: b | Method(
                GET | nothing | HeaderShape(
                GET | a b: c | HeaderName(
                GET | a: b\nc: d | HeaderValue(
                GET | Content-length: 3 | Framing(
                GET | Transfer-Encoding: chunked | Framing(
            ",
        ) {
            let refused = format!("{:?}", encode(method, &[header], b"").unwrap_err());
            assert!(refused.starts_with(error), "{refused}");
        }
    }

    #[test]
    fn there_is_one_host_and_one_user() {
        let twice = encode("GET", &["Host: a", "x: y", "hOST: b"], b"").unwrap_err();
        assert_eq!(
            twice.to_string(),
            "a request has one header `Host`: remove the other one"
        );
        let url: HttpUrl = "http://me:secret@h/".parse().unwrap();
        for (headers, expected) in [
            (vec![], "authorization: Basic bWU6c2VjcmV0\r\n"),
            (
                vec!["Authorization: mine".to_owned()],
                "authorization: mine\r\n",
            ),
        ] {
            let request = Request::new("GET", &url, &headers, b"").unwrap();
            let text = String::from_utf8(request.encoded).unwrap();
            assert_eq!(text, format!("GET / HTTP/1.1\r\nHost: h\r\n{expected}\r\n"));
        }
    }

    #[test]
    fn a_connection_close_header_is_recognized() {
        let closes = |line: &str| {
            Request::new("GET", &url(), &[line.into()], b"")
                .unwrap()
                .closes()
        };
        assert!(closes("Connection: upgrade, Close"));
        assert!(!closes("Connection: keep-alive"));
    }
}
