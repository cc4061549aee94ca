//! The requests of a load, encoded once.

use std::borrow::Cow;
use std::io::Write as _;

use prony_traffic::{HttpUrl, HttpVersion, RequestError, RequestParts, Traffic};

use crate::wire::h1::RequestKind;
use crate::wire::h2::StreamRequest;

/// The field that asks the server to close the connection after the response.
const CLOSE: &[u8] = b"Connection: close\r\n";

/// Appends a request for HTTP/1.1 to `encoded`. `Host` and `Content-Length` are added if they are missing; `closing` adds
/// `Connection: close`, unless it has that.
pub(crate) fn encode(request: &RequestParts, closing: bool, encoded: &mut Vec<u8>) {
    encode_head(request, closing, encoded);
    encoded.extend_from_slice(request.body());
}

/// The same without the body.
pub(crate) fn encode_head(request: &RequestParts, closing: bool, encoded: &mut Vec<u8>) {
    let (method, url, fields) = (request.method(), request.url(), request.fields());
    let mut add = |parts: &[&[u8]]| {
        for part in parts {
            encoded.extend_from_slice(part);
        }
    };
    add(&[method.as_str().as_bytes(), b" ", url.path().as_bytes()]);
    add(&[b" HTTP/1.1\r\n"]);
    if closing && !request.closes() {
        add(&[CLOSE]);
    }
    if !fields.iter().any(|(name, _)| name == "host") {
        add(&[b"Host: ", url.host_header().as_bytes(), b"\r\n"]);
    }
    for (name, value) in fields {
        add(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
    }
    if request.expects_length() {
        // Writing to memory cannot fail.
        let _ = write!(encoded, "Content-Length: {}\r\n", request.body().len());
    }
    encoded.extend_from_slice(b"\r\n");
}

/// A request for HTTP/1.1, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub struct Request {
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
        Ok(Self::of(&RequestParts::new(method, url, headers, body)?))
    }

    /// The request of these parts.
    pub fn of(parts: &RequestParts) -> Self {
        let mut encoded = Vec::new();
        encode(parts, false, &mut encoded);
        Self {
            kind: RequestKind::of(parts.method()),
            encoded,
            closes: parts.closes(),
        }
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

    /// What the method implies for the body of the response.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Whether it asks the server to close the connection after the response.
    pub fn closes(&self) -> bool {
        self.closes
    }
}

/// Traffic, with what is the same each time encoded for its wire.
#[derive(Clone, Debug)]
pub struct EncodedTraffic<'a> {
    pub(crate) traffic: Cow<'a, Traffic>,
    pub(crate) requests: EncodedRequests,
}

/// The constant requests; none if there is a scenario.
#[derive(Clone, Debug)]
pub(crate) enum EncodedRequests {
    Http1(Vec<Request>),
    Http2(Vec<StreamRequest>),
}

impl<'a> EncodedTraffic<'a> {
    /// # Errors
    ///
    /// If the version of HTTP cannot express a request, or there is none.
    pub fn of(traffic: &'a Traffic) -> Result<Self, RequestError> {
        Ok(Self {
            requests: EncodedRequests::of(traffic)?,
            traffic: Cow::Borrowed(traffic),
        })
    }

    /// The same, which keeps the traffic.
    ///
    /// # Errors
    ///
    /// As for [`Self::of`].
    pub fn owning(traffic: Traffic) -> Result<Self, RequestError> {
        Ok(Self {
            requests: EncodedRequests::of(&traffic)?,
            traffic: Cow::Owned(traffic),
        })
    }

    /// Whether that request asks the server to close the connection after the response.
    #[inline]
    pub(crate) fn closes(&self, number: usize) -> bool {
        match &self.requests {
            EncodedRequests::Http1(requests) => requests.get(number).is_some_and(Request::closes),
            EncodedRequests::Http2(_) => false,
        }
    }
}

impl EncodedRequests {
    fn of(traffic: &Traffic) -> Result<Self, RequestError> {
        use EncodedRequests::{Http1, Http2};
        Ok(match traffic {
            Traffic::Requests(set, http) => {
                set.check()?;
                let requests = set.requests().iter();
                match http {
                    HttpVersion::Http1 => Http1(requests.map(Request::of).collect()),
                    HttpVersion::Http2 => {
                        Http2(requests.map(StreamRequest::new).collect::<Result<_, _>>()?)
                    }
                }
            }
            Traffic::Call(call) => Http2(vec![StreamRequest::of_call(call)?]),
            Traffic::Scenario(_, HttpVersion::Http1) => Http1(Vec::new()),
            Traffic::Scenario(_, HttpVersion::Http2) => Http2(Vec::new()),
        })
    }
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
