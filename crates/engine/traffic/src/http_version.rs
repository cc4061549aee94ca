//! Versions of HTTP.

use std::fmt;

use prony_model::Protocol;
use serde::{Deserialize, Serialize};

/// A version of HTTP, as TLS negotiates it (ALPN, RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpVersion {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

impl From<Protocol> for HttpVersion {
    fn from(protocol: Protocol) -> Self {
        if protocol.is_http1() {
            Self::Http1
        } else {
            Self::Http2
        }
    }
}

impl HttpVersion {
    pub fn alpn(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
        }
    }

    pub fn of_alpn(name: &[u8]) -> Option<Self> {
        [Self::Http1, Self::Http2]
            .into_iter()
            .find(|version| version.alpn().as_bytes() == name)
    }
}

impl fmt::Display for HttpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        })
    }
}
