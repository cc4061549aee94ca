//! The gRPC call of a load, encoded once.

use std::sync::Arc;

use http::uri::Authority;

use crate::wire::h2::{MAX_FRAME, hpack};

/// Bytes before a message: a flag, and its length.
pub(super) const PREFIX: usize = 5;

/// Why a call is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum CallError {
    #[error("`{0}` is not the path of a gRPC method: write `/package.Service/Method`")]
    Path(String),
    #[error("`{0}` is not an authority: write `host` or `host:port`")]
    Authority(String),
    #[error("path and authority are too long together: the head would take {0} bytes")]
    HeadTooLong(usize),
    #[error("a message of {0} bytes is too long: its length has 32 bits")]
    MessageTooLong(usize),
}

/// A unary call, ready to be sent any number of times. Clones share their memory.
#[derive(Clone, Debug)]
pub struct Call(Arc<Encoded>);

#[derive(Debug)]
struct Encoded {
    path: String,
    head: Vec<u8>,
    /// The message after its prefix.
    body: Vec<u8>,
}

impl Call {
    /// A call of the method at `path`, such as `/prony.echo.v1.Echo/Unary`, on the server that `authority` names.
    /// `message` is encoded protobuf and is sent uncompressed.
    ///
    /// # Errors
    ///
    /// If path or authority is invalid, or something is too long.
    pub fn new(path: &str, authority: &str, message: &[u8]) -> Result<Self, CallError> {
        if !is_method_path(path) {
            return Err(CallError::Path(path.into()));
        }
        if authority.contains('@') || authority.parse::<Authority>().is_err() {
            return Err(CallError::Authority(authority.into()));
        }
        let head = head(path, authority);
        // The first head of a connection has one more byte.
        if head.len() >= MAX_FRAME {
            return Err(CallError::HeadTooLong(head.len()));
        }
        let length =
            u32::try_from(message.len()).map_err(|_| CallError::MessageTooLong(message.len()))?;
        let mut body = Vec::with_capacity(PREFIX + message.len());
        body.push(0);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(message);
        Ok(Self(Arc::new(Encoded {
            path: path.into(),
            head,
            body,
        })))
    }

    /// The path of the method.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The encoded message.
    pub fn message(&self) -> &[u8] {
        &self.0.body[PREFIX..]
    }

    /// The header block.
    pub(super) fn head(&self) -> &[u8] {
        &self.0.head
    }

    /// The body of the request.
    pub(super) fn body(&self) -> &[u8] {
        &self.0.body
    }
}

fn head(path: &str, authority: &str) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", concat!("prony/", env!("CARGO_PKG_VERSION"))),
    ];
    let mut block = Vec::new();
    hpack::encode(&fields, &mut block);
    block
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
    fn a_call_is_a_head_and_a_message_with_its_length() {
        let call = Call::new(PATH, "localhost:50051", b"\x0a\x01x").unwrap();
        assert_eq!((call.path(), call.message()), (PATH, &b"\x0a\x01x"[..]));
        assert_eq!(call.body(), b"\0\0\0\0\x03\x0a\x01x");
        let mut fields = hpack::Fields::default();
        hpack::Decoder::default()
            .decode(call.head(), &mut fields)
            .unwrap();
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| {
                (
                    str::from_utf8(name).unwrap(),
                    str::from_utf8(value).unwrap(),
                )
            })
            .collect();
        assert_eq!(
            fields[..6],
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", PATH),
                (":authority", "localhost:50051"),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
            ]
        );
        assert!(fields[6].1.starts_with("prony/"), "{:?}", fields[6]);
    }

    #[test]
    fn invalid_calls_are_refused() {
        let new = |path: &str, authority: &str| Call::new(path, authority, b"").map(|_| ());
        for path in [
            "", "/", "/a", "/a/", "//b", "a/b", "/a b/c", "/a/b?c", "/ä/b", "/a/b\n",
        ] {
            assert_eq!(new(path, "host"), Err(CallError::Path(path.into())));
        }
        for authority in ["", "a b", "user@host", "host/path", "host\n"] {
            let refused = Err(CallError::Authority(authority.into()));
            assert_eq!(new(PATH, authority), refused);
        }
        for authority in ["host", "127.0.0.1:80", "[::1]:50051"] {
            assert_eq!(new(PATH, authority), Ok(()));
        }
        let long = format!("/{}/b", "a".repeat(MAX_FRAME));
        assert!(matches!(new(&long, "host"), Err(CallError::HeadTooLong(_))));
    }
}
