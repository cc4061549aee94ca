//! The requests of a load, encoded once.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method};
use prony_traffic::{CallKind, RequestError, RequestParts, expects_length};

use super::hpack::{self, Repeated};
use crate::wire::h1::RequestKind;

/// Fields of HTTP/1.1 that HTTP/2 does not have, and replaces by other means (RFC 9113, section 8.2.2).
pub(super) const CONNECTION_FIELDS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// A request, ready to be sent over any number of streams. Clones share the body.
#[derive(Clone, Debug)]
pub struct StreamRequest {
    method: Method,
    path: String,
    kind: RequestKind,
    call: Option<CallKind>,
    /// The header block for any connection.
    block: Vec<u8>,
    /// Shorter header blocks, for a connection that repeats this request alone.
    repeated: Repeated,
    body: Arc<Vec<u8>>,
}

impl StreamRequest {
    /// A request for `path` on the server that `authority` names; `scheme` is `http` or `https`.
    ///
    /// Leaves out fields that HTTP/2 does not have, such as `connection`. A `host` field replaces `authority`.
    /// `content-length` is added if there is a body or the method expects one.
    ///
    /// # Errors
    ///
    /// If the method is CONNECT.
    pub fn http(
        method: &Method,
        scheme: &str,
        authority: &str,
        path: &str,
        fields: &[(HeaderName, HeaderValue)],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        if method == Method::CONNECT {
            Err(RequestError::Connect)
        } else {
            let body = Arc::new(body.to_vec());
            Ok(Self::plain(method, scheme, authority, path, fields, body))
        }
    }

    /// The request of these parts.
    ///
    /// # Errors
    ///
    /// If the method is CONNECT.
    pub fn new(parts: &RequestParts) -> Result<Self, RequestError> {
        if parts.method() == Method::CONNECT {
            Err(RequestError::Connect)
        } else {
            Ok(Self::of_parts(parts))
        }
    }

    /// The same, if the method is certainly not CONNECT.
    pub(crate) fn of_parts(parts: &RequestParts) -> Self {
        let url = parts.url();
        Self::plain(
            parts.method(),
            url.scheme().name(),
            url.host_header(),
            url.path(),
            parts.fields(),
            Arc::clone(parts.shared_body()),
        )
    }

    /// The same, from its parts.
    fn plain(
        method: &Method,
        scheme: &str,
        authority: &str,
        path: &str,
        fields: &[(HeaderName, HeaderValue)],
        body: Arc<Vec<u8>>,
    ) -> Self {
        let mut head = head(method, scheme, authority, path, fields);
        if expects_length(method, &body) {
            head.push((b"content-length".to_vec(), body.len().to_string().into()));
        }
        Self::encode(method, path, None, &head, body)
    }

    /// A gRPC call; the body has messages with their prefixes.
    pub(in crate::wire) fn call(
        kind: CallKind,
        scheme: &str,
        authority: &str,
        path: &str,
        fields: &[(HeaderName, HeaderValue)],
        body: &[u8],
    ) -> Self {
        let mut head = head(&Method::POST, scheme, authority, path, fields);
        if !head.iter().any(|(name, _)| name == b"te") {
            head.push((b"te".to_vec(), b"trailers".to_vec()));
        }
        let body = Arc::new(body.to_vec());
        Self::encode(&Method::POST, path, Some(kind), &head, body)
    }

    fn encode(
        method: &Method,
        path: &str,
        call: Option<CallKind>,
        head: &[Field],
        body: Arc<Vec<u8>>,
    ) -> Self {
        let mut block = Vec::new();
        hpack::encode(head, &mut block);
        Self {
            method: method.clone(),
            path: path.into(),
            kind: RequestKind::of(method),
            call,
            block,
            repeated: Repeated::new(head),
            body,
        }
    }

    /// The method's name.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the method implies for the body of the response.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The kind of the gRPC call, if it is one.
    pub(crate) fn call_kind(&self) -> Option<CallKind> {
        self.call
    }

    /// Whether repeating it has no further effect (RFC 9110, 9.2.2). For a gRPC call only its server knows.
    pub fn is_idempotent(&self) -> bool {
        self.method.is_idempotent()
    }

    /// The body; that of a gRPC call has messages with their prefixes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The header block for any connection.
    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    /// The header blocks for a connection that repeats this request alone.
    pub(super) fn repeated(&self) -> &Repeated {
        &self.repeated
    }
}

type Field = (Vec<u8>, Vec<u8>);

/// The fields of a head, with the pseudo-header fields first (section 8.3).
fn head(
    method: &Method,
    scheme: &str,
    authority: &str,
    path: &str,
    fields: &[(HeaderName, HeaderValue)],
) -> Vec<Field> {
    let host = fields.iter().find(|(name, _)| name == "host");
    let authority = host.map_or(authority.as_bytes(), |(_, value)| value.as_bytes());
    let pseudo: [(&str, &[u8]); 4] = [
        (":method", method.as_str().as_bytes()),
        (":scheme", scheme.as_bytes()),
        (":path", path.as_bytes()),
        (":authority", authority),
    ];
    let regular = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .filter(|(name, value)| is_sent(name, value));
    pseudo
        .into_iter()
        .chain(regular)
        // HTTP/2 forbids spaces around a value (section 8.2.1).
        .map(|(name, value)| (name.as_bytes().to_vec(), value.trim_ascii().to_vec()))
        .collect()
}

fn is_sent(name: &str, value: &[u8]) -> bool {
    match name {
        "host" | "content-length" => false,
        "te" => value.trim_ascii().eq_ignore_ascii_case(b"trailers"),
        name => !CONNECTION_FIELDS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::h2::hpack::{Decoder, Fields};

    fn decoded(blocks: &[&[u8]]) -> Vec<String> {
        let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
        for block in blocks {
            decoder.decode(block, &mut fields).unwrap();
        }
        let line = |(name, value): (&[u8], &[u8])| {
            format!("{}={}", name.escape_ascii(), value.escape_ascii())
        };
        fields.iter().map(line).collect()
    }

    fn fields(fields: &[(&'static str, &'static str)]) -> Vec<(HeaderName, HeaderValue)> {
        let (name, value) = (HeaderName::from_static, HeaderValue::from_static);
        fields
            .iter()
            .map(|field| (name(field.0), value(field.1)))
            .collect()
    }

    #[test]
    fn a_request_has_pseudo_fields_first_and_none_of_the_connection() {
        let given = fields(&[
            ("connection", "close"),
            ("accept", " */* "),
            ("te", "gzip"),
            ("host", "other:1"),
            ("upgrade", "h2c"),
            ("x-a", "b"),
        ]);
        let request = StreamRequest::http(&Method::PUT, "https", "h", "/p?q", &given, b"xyz");
        let request = request.unwrap();
        let expected = [
            ":method=PUT",
            ":scheme=https",
            ":path=/p?q",
            ":authority=other:1",
            "accept=*/*",
            "x-a=b",
            "content-length=3",
        ];
        assert_eq!(decoded(&[request.block()]), expected);
        let Repeated { first, further, .. } = request.repeated();
        assert_eq!(decoded(&[first]), expected);
        assert_eq!(decoded(&[first, further, further]), expected);
        assert_eq!((request.method(), request.path()), ("PUT", "/p?q"));
        assert!(request.is_idempotent());
    }

    #[test]
    fn only_methods_that_expect_a_body_have_a_length_without_one() {
        let has_length = |method: Method| {
            let request = StreamRequest::http(&method, "http", "a", "/", &[], b"").unwrap();
            let fields = decoded(&[request.block()]);
            fields.contains(&"content-length=0".to_owned())
        };
        let methods = [Method::POST, Method::GET, Method::DELETE];
        assert_eq!(methods.map(has_length), [true, false, false]);
    }

    #[test]
    fn te_trailers_is_kept_and_connect_refused() {
        let te = fields(&[("te", "Trailers")]);
        let request = StreamRequest::http(&Method::GET, "http", "a", "/", &te, b"").unwrap();
        assert!(decoded(&[request.block()]).contains(&"te=Trailers".to_owned()));
        let refused = StreamRequest::http(&Method::CONNECT, "http", "a", "/", &[], b"");
        assert!(matches!(refused, Err(RequestError::Connect)));
    }
}
