//! A gRPC call of a load.

use std::time::Duration;

use http::uri::Authority;
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::PREFIX;
use crate::wire::h2::StreamRequest;

/// Why a call is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum CallError {
    #[error("`{0}` is not the path of a gRPC method: write `/package.Service/Method`")]
    Path(String),
    #[error("`{0}` is not an authority: write `host` or `host:port`")]
    Authority(String),
    #[error("a message of {0} bytes is too long: its length has 32 bits")]
    MessageTooLong(usize),
    #[error("a call of this kind sends exactly one message, not {0}")]
    Messages(usize),
    #[error("`{0}` cannot be metadata: gRPC sets it itself")]
    Reserved(HeaderName),
}

/// What a method takes and returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// One message each.
    #[default]
    Unary,
    /// Any number of messages in the request, one in the response.
    ClientStreaming,
    /// One message in the request, any number in the response.
    ServerStreaming,
    /// Any number of messages each.
    Bidirectional,
}

impl CallKind {
    /// The kind of a method, as its definition says.
    pub fn of(streams_requests: bool, streams_responses: bool) -> Self {
        match (streams_requests, streams_responses) {
            (false, false) => Self::Unary,
            (true, false) => Self::ClientStreaming,
            (false, true) => Self::ServerStreaming,
            (true, true) => Self::Bidirectional,
        }
    }

    /// Whether a request has any number of messages, and not exactly one.
    pub fn streams_requests(self) -> bool {
        matches!(self, Self::ClientStreaming | Self::Bidirectional)
    }

    /// Whether a response has any number of messages, and not exactly one.
    pub fn streams_responses(self) -> bool {
        matches!(self, Self::ServerStreaming | Self::Bidirectional)
    }
}

/// A call that is not encoded yet.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The path of its method, such as `/prony.echo.v1.Echo/Unary`.
    pub path: &'a str,
    /// The server, as `host` or `host:port`.
    pub authority: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// What the method takes and returns.
    pub kind: CallKind,
    /// Further fields, such as credentials. `user-agent` and `content-type` replace those of Prony.
    pub metadata: &'a [(HeaderName, HeaderValue)],
    /// The `grpc-timeout`, which tells the server how long the client waits.
    pub timeout: Option<Duration>,
    /// Messages in protobuf's or another encoding, sent uncompressed, all at once.
    pub messages: &'a [Vec<u8>],
}

impl<'a> Call<'a> {
    /// A unary call without metadata over plain HTTP.
    pub fn unary(path: &'a str, authority: &'a str, message: &'a Vec<u8>) -> Self {
        Self {
            path,
            authority,
            scheme: "http",
            kind: CallKind::Unary,
            metadata: &[],
            timeout: None,
            messages: std::slice::from_ref(message),
        }
    }

    /// Encodes the call, ready to be sent any number of times.
    ///
    /// # Errors
    ///
    /// If path, authority or metadata are invalid, a message is too long, or the number of messages does not fit the
    /// kind.
    pub fn encode(&self) -> Result<StreamRequest, CallError> {
        if !is_method_path(self.path) {
            return Err(CallError::Path(self.path.into()));
        }
        if self.authority.contains('@') || self.authority.parse::<Authority>().is_err() {
            return Err(CallError::Authority(self.authority.into()));
        }
        if !self.kind.streams_requests() && self.messages.len() != 1 {
            return Err(CallError::Messages(self.messages.len()));
        }
        let (fields, body) = (self.fields()?, self.body()?);
        Ok(StreamRequest::call(
            self.kind,
            self.scheme,
            self.authority,
            self.path,
            &fields,
            &body,
        ))
    }

    fn fields(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CallError> {
        let is_reserved = |name: &HeaderName| name.as_str().starts_with("grpc-");
        if let Some((name, _)) = self.metadata.iter().find(|(name, _)| is_reserved(name)) {
            return Err(CallError::Reserved(name.clone()));
        }
        let mut fields = Vec::new();
        if let Some(timeout) = self.timeout {
            let name = HeaderName::from_static("grpc-timeout");
            fields.push((name, grpc_timeout(timeout)));
        }
        let own = [
            ("content-type", "application/grpc"),
            ("user-agent", concat!("prony/", env!("CARGO_PKG_VERSION"))),
        ];
        for (name, value) in own {
            if !self.metadata.iter().any(|(field, _)| field == name) {
                let value = HeaderValue::from_static(value);
                fields.push((HeaderName::from_static(name), value));
            }
        }
        fields.extend_from_slice(self.metadata);
        Ok(fields)
    }

    fn body(&self) -> Result<Vec<u8>, CallError> {
        let length = self.messages.iter().map(|message| PREFIX + message.len());
        let mut body = Vec::with_capacity(length.sum());
        for message in self.messages {
            let length = u32::try_from(message.len())
                .map_err(|_| CallError::MessageTooLong(message.len()))?;
            body.push(0);
            body.extend_from_slice(&length.to_be_bytes());
            body.extend_from_slice(message);
        }
        Ok(body)
    }
}

/// The longest number that a `grpc-timeout` may have: 8 digits.
const MOST_TIMEOUT: u128 = 99_999_999;

/// At most 8 digits and the most exact unit that they suffice for; rounded up, so that it is never zero.
fn grpc_timeout(timeout: Duration) -> HeaderValue {
    let units: [(u128, char); 6] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    let text = units
        .iter()
        .map(|&(length, unit)| (timeout.as_nanos().div_ceil(length).max(1), unit))
        .find(|&(number, _)| number <= MOST_TIMEOUT)
        .map_or_else(
            || format!("{MOST_TIMEOUT}H"),
            |(number, unit)| format!("{number}{unit}"),
        );
    HeaderValue::try_from(text).expect("digits and a letter are valid in a header")
}

/// A service and a method, neither empty, in bytes that are valid in a path.
fn is_method_path(path: &str) -> bool {
    path.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte))
        && path
            .strip_prefix('/')
            .and_then(|rest| rest.rsplit_once('/'))
            .is_some_and(|(service, method)| !service.is_empty() && !method.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::h2::hpack;

    const PATH: &str = "/prony.echo.v1.Echo/Unary";

    /// The fields, as `name=value`.
    fn fields_of(request: &StreamRequest) -> Vec<String> {
        let mut fields = hpack::Fields::default();
        let decoded = hpack::Decoder::default().decode(request.block(), &mut fields);
        decoded.unwrap();
        let line = |(name, value): (&[u8], &[u8])| {
            format!("{}={}", name.escape_ascii(), value.escape_ascii())
        };
        fields.iter().map(line).collect()
    }

    const USER_AGENT: &str = concat!("user-agent=prony/", env!("CARGO_PKG_VERSION"));

    #[test]
    fn a_call_is_a_head_and_a_message_with_its_length() {
        let message = b"\x0a\x01x".to_vec();
        let call = Call::unary(PATH, "localhost:50051", &message);
        let request = call.encode().unwrap();
        assert_eq!((request.path(), request.method()), (PATH, "POST"));
        assert_eq!(request.call_kind(), Some(CallKind::Unary));
        assert_eq!(request.body(), b"\0\0\0\0\x03\x0a\x01x");
        let expected = [
            ":method=POST",
            ":scheme=http",
            ":path=/prony.echo.v1.Echo/Unary",
            ":authority=localhost:50051",
            "content-type=application/grpc",
            USER_AGENT,
            "te=trailers",
        ];
        assert_eq!(fields_of(&request), expected);
    }

    #[test]
    fn a_call_has_metadata_a_timeout_and_several_messages() {
        let metadata = [
            ("user-agent", "me"),
            ("x-token", "t"),
            ("te", "trailers"),
            ("connection", "close"),
        ]
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        let messages = [b"a".to_vec(), Vec::new()];
        let call = Call {
            scheme: "https",
            kind: CallKind::of(true, false),
            metadata: &metadata,
            timeout: Some(Duration::from_secs(1)),
            messages: &messages,
            ..Call::unary(PATH, "host", &messages[0])
        };
        let request = call.encode().unwrap();
        assert_eq!(request.body(), b"\0\0\0\0\x01a\0\0\0\0\0");
        let mut fields = fields_of(&request);
        fields.retain(|field| !field.starts_with(':') || field.starts_with(":scheme"));
        fields.sort_unstable();
        let expected = [
            ":scheme=https",
            "content-type=application/grpc",
            "grpc-timeout=1000000u",
            "te=trailers",
            "user-agent=me",
            "x-token=t",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn timeouts_have_at_most_8_digits() {
        for (timeout, text) in [
            (Duration::ZERO, "1n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_secs(100_000), "100000S"),
            (Duration::from_secs(100_000_000), "1666667M"),
            (Duration::MAX, "99999999H"),
        ] {
            assert_eq!(grpc_timeout(timeout), text, "{timeout:?}");
        }
    }

    #[test]
    fn invalid_calls_are_refused() {
        let message = Vec::new();
        let encode =
            |path: &str, authority: &str| Call::unary(path, authority, &message).encode().err();
        for path in [
            "", "/", "/a", "/a/", "//b", "a/b", "/a b/c", "/a/b?c", "/ä/b", "/a/b\n",
        ] {
            assert_eq!(encode(path, "host"), Some(CallError::Path(path.into())));
        }
        for authority in ["", "a b", "user@host", "host/path", "host\n"] {
            let refused = Some(CallError::Authority(authority.into()));
            assert_eq!(encode(PATH, authority), refused);
        }
        for authority in ["host", "127.0.0.1:80", "[::1]:50051"] {
            assert_eq!(encode(PATH, authority), None);
        }
        let of = |kind, messages: &[Vec<u8>]| {
            let call = Call {
                kind,
                messages,
                ..Call::unary(PATH, "host", &message)
            };
            call.encode().err()
        };
        let two = [Vec::new(), Vec::new()];
        assert_eq!(of(CallKind::Unary, &two), Some(CallError::Messages(2)));
        let none = Some(CallError::Messages(0));
        assert_eq!(of(CallKind::ServerStreaming, &[]), none);
        assert_eq!(of(CallKind::ClientStreaming, &[]), None);
        let reserved = HeaderName::from_static("grpc-encoding");
        let call = Call {
            metadata: &[(reserved.clone(), HeaderValue::from_static("gzip"))],
            ..Call::unary(PATH, "host", &message)
        };
        assert_eq!(call.encode().err(), Some(CallError::Reserved(reserved)));
    }
}
