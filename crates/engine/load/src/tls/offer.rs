//! What a client offers to a server: versions of TLS and of HTTP.

use std::fmt;

use prony_traffic::HttpVersion;
use serde::{Deserialize, Serialize};

/// A range of versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    pub lowest: TlsVersion,
    pub highest: TlsVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3, RFC 8446.
    #[serde(rename = "1.3")]
    Tls13,
}

/// Which versions of HTTP to offer to the server, which chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    Only(HttpVersion),
    /// HTTP/2, and HTTP/1.1.
    Both,
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            lowest: TlsVersion::Tls12,
            highest: TlsVersion::Tls13,
        }
    }
}

impl TlsVersion {
    pub(crate) fn of(version: rustls::ProtocolVersion) -> Option<Self> {
        match version {
            rustls::ProtocolVersion::TLSv1_2 => Some(Self::Tls12),
            rustls::ProtocolVersion::TLSv1_3 => Some(Self::Tls13),
            _ => None,
        }
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

impl Offer {
    pub(super) fn alpn(self) -> Vec<Vec<u8>> {
        let versions = match &self {
            Self::Only(version) => std::slice::from_ref(version),
            Self::Both => &[HttpVersion::Http2, HttpVersion::Http1],
        };
        let names = versions.iter().map(|version| version.alpn().into());
        names.collect()
    }
}

impl Versions {
    pub(super) fn include(self, version: TlsVersion) -> bool {
        (self.lowest..=self.highest).contains(&version)
    }
}
