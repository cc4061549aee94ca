//! TLS around any other wire.
//!
//! A [`Channel`] encrypts what the wire inside sends and decrypts what it receives; like every wire it never touches a
//! socket. The protocol itself is rustls's.

mod channel;
mod failure;
mod incoming;
mod outgoing;
mod session;

pub use channel::Channel;
pub use failure::{ClientCertificate, Failure, FoundBy};

use prony_traffic::HttpVersion;

use crate::tls::TlsVersion;

/// What client and server agreed on in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    pub version: TlsVersion,
    /// The IANA name of the cipher suite.
    pub cipher_suite: &'static str,
    /// The version of HTTP that the server chose; `None` if it does not negotiate one.
    pub http: Option<HttpVersion>,
}
