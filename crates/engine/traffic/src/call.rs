//! A gRPC call of a load.

use std::time::Duration;

use http::uri::Authority;
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::base64::Base64;
use crate::serde_http::Field;
use crate::url::Scheme;

/// Bytes before a message: a flag, and its length.
pub const PREFIX: usize = 5;

/// Why a call is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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

/// A call, before it is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The path of its method, such as `/prony.echo.v1.Echo/Unary`.
    pub path: String,
    /// The server, as `host` or `host:port`.
    pub authority: String,
    pub scheme: Scheme,
    /// What the method takes and returns.
    pub kind: CallKind,
    /// Further fields, such as credentials. `user-agent` and `content-type` replace those of Prony.
    #[serde(with = "crate::serde_http::fields")]
    pub metadata: Vec<Field>,
    /// The `grpc-timeout`, which tells the server how long the client waits.
    pub timeout: Option<Duration>,
    /// Messages in protobuf's or another encoding, sent uncompressed, all at once.
    pub messages: Vec<Base64>,
}

impl Call {
    /// A unary call without metadata over plain HTTP.
    pub fn unary(
        path: impl Into<String>,
        authority: impl Into<String>,
        message: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            path: path.into(),
            authority: authority.into(),
            scheme: Scheme::Http,
            kind: CallKind::Unary,
            metadata: Vec::new(),
            timeout: None,
            messages: vec![Base64(message.into())],
        }
    }

    /// Sees whether it can be sent.
    ///
    /// # Errors
    ///
    /// If path, authority or metadata are invalid, a message is too long, or the number of messages does not fit the
    /// kind.
    pub fn check(&self) -> Result<(), CallError> {
        let is_reserved = |name: &HeaderName| name.as_str().starts_with("grpc-");
        let mut names = self.metadata.iter().map(|(name, _)| name);
        let mut lengths = self.messages.iter().map(|message| message.0.len());
        if !is_method_path(&self.path) {
            Err(CallError::Path(self.path.clone()))
        } else if self.authority.contains('@') || self.authority.parse::<Authority>().is_err() {
            Err(CallError::Authority(self.authority.clone()))
        } else if !self.kind.streams_requests() && self.messages.len() != 1 {
            Err(CallError::Messages(self.messages.len()))
        } else if let Some(name) = names.find(|name| is_reserved(name)) {
            Err(CallError::Reserved(name.clone()))
        } else if let Some(length) = lengths.find(|length| u32::try_from(*length).is_err()) {
            Err(CallError::MessageTooLong(length))
        } else {
            Ok(())
        }
    }

    /// The header fields, without those that HTTP/2 adds.
    pub fn fields(&self) -> Vec<Field> {
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
        fields.extend_from_slice(&self.metadata);
        fields
    }

    /// The messages, each after its prefix. None is longer than its prefix can say.
    pub fn body(&self) -> Vec<u8> {
        let lengths = self.messages.iter().map(|message| PREFIX + message.0.len());
        let mut body = Vec::with_capacity(lengths.sum());
        for Base64(message) in &self.messages {
            body.push(0);
            body.extend_from_slice(&(message.len() as u32).to_be_bytes());
            body.extend_from_slice(message);
        }
        body
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

    const PATH: &str = "/prony.echo.v1.Echo/Unary";

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
        let encode = |path: &str, authority: &str| Call::unary(path, authority, "").check().err();
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
        let of = |kind, messages| {
            let call = Call {
                kind,
                messages: vec![Base64::default(); messages],
                ..Call::unary(PATH, "host", "")
            };
            call.check().err()
        };
        assert_eq!(of(CallKind::Unary, 2), Some(CallError::Messages(2)));
        let none = Some(CallError::Messages(0));
        assert_eq!(of(CallKind::ServerStreaming, 0), none);
        assert_eq!(of(CallKind::ClientStreaming, 0), None);
        let reserved = HeaderName::from_static("grpc-encoding");
        let call = Call {
            metadata: vec![(reserved.clone(), HeaderValue::from_static("gzip"))],
            ..Call::unary(PATH, "host", "")
        };
        assert_eq!(call.check().err(), Some(CallError::Reserved(reserved)));
    }
}
