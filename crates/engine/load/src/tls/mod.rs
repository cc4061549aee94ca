//! What a connection over TLS offers, trusts and shows of itself.
//!
//! [`TlsSettings`] is plain data. [`TlsSettings::client`] checks it, reads the files that it names, once, and makes a
//! [`TlsClient`] for any number of connections. A client keeps its parts, which need no files, so that other
//! hosts can make the same one.

mod cipher_suite;
mod parts;
mod pem;
#[cfg(test)]
mod tests;
mod verifier;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use prony_traffic::HttpVersion;
use rustls::client::{ClientConfig, Resumption};
use rustls::pki_types::ServerName;
use rustls::{SupportedProtocolVersion, version};
use serde::{Deserialize, Serialize};

pub use cipher_suite::cipher_suites;
pub(crate) use cipher_suite::iana_name;
pub(crate) use parts::TlsParts;
use parts::{IdentityParts, PartsError, Trusted};
pub use pem::LONGEST_PEM_FILE;
pub(crate) use verifier::is_authority;

/// How to set up TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Which certificates of servers to trust.
    pub trust: Trust,
    /// What to present to a server that requests a certificate.
    pub identity: Option<Identity>,
    /// Which versions of TLS to offer.
    pub versions: Versions,
    /// Which cipher suites to offer, by IANA or OpenSSL name, the preferred one first; all if empty.
    pub cipher_suites: Vec<String>,
    /// The name to send and to look for in the server's certificate, instead of the URL's host.
    pub server_name: Option<String>,
    /// Whether a connection resumes the session of the one before it in the same place. Otherwise each handshake is a
    /// full one. Neither sends early data.
    pub resumes: bool,
}

/// Which certificates of servers to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that the machine's root certificates vouch for.
    #[default]
    Roots,
    /// Those that a certificate in this PEM file vouches for, or is.
    File(PathBuf),
    /// Any. The server must still have the key of its certificate.
    Any,
}

/// A client certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The PEM file with the certificate, followed by those that vouch for it.
    pub certificates: PathBuf,
    /// The PEM file with its private key.
    pub key: PathBuf,
}

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

/// What all connections of a load have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "TlsParts", into = "TlsParts")]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    parts: Arc<TlsParts>,
}

/// Why TLS cannot be set up as [`TlsSettings`] say.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {source}", file.display())]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is longer than {} MiB", file.display(), LONGEST_PEM_FILE >> 20)]
    TooLong { file: PathBuf },
    #[error("{} is not a PEM file: it has no line `-----BEGIN …-----`", file.display())]
    NotPem { file: PathBuf },
    #[error("{} is damaged: {reason}", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("there is no certificate in {}", file.display())]
    NoCertificate { file: PathBuf },
    #[error("there is no private key in {}", file.display())]
    NoKey { file: PathBuf },
    #[error("a certificate in {} is invalid: {reason}", file.display())]
    InvalidCertificate { file: PathBuf, reason: String },
    #[error("the private key in {} is invalid or of an unsupported kind: {reason}", file.display())]
    InvalidKey { file: PathBuf, reason: String },
    #[error(
        "the private key in {} does not match the first certificate in {}",
        key.display(),
        certificates.display()
    )]
    KeyMismatch { certificates: PathBuf, key: PathBuf },
    #[error("this machine has no root certificates{reason}")]
    NoRoots { reason: String },
    #[error("the lowest TLS version, {}, is above the highest, {}", .0.lowest, .0.highest)]
    NoVersion(Versions),
    #[error("`{0}` is not a TLS version that Prony supports: use 1.2 or 1.3")]
    UnknownVersion(String),
    #[error(transparent)]
    UnknownCipherSuite(#[from] prony_manifest::UnknownName),
    #[error("the cipher suite {suite} needs TLS {version}, but the lowest version is {} and the highest {}",
        versions.lowest, versions.highest)]
    CipherSuiteVersion {
        suite: String,
        version: TlsVersion,
        versions: Versions,
    },
    #[error("`{0}` is neither a host name nor an IP address")]
    ServerName(String),
    #[error("TLS cannot be set up: {0}")]
    Rejected(String),
}

impl TlsSettings {
    /// Checks the settings and reads their files, for connections to `host` that offer `offer`.
    ///
    /// # Errors
    ///
    /// If a file or a value is unusable.
    pub fn client(&self, host: &str, offer: Offer) -> Result<TlsClient, TlsError> {
        let trust = match &self.trust {
            Trust::Roots => Trusted::machine_roots()?,
            Trust::File(file) => Trusted::these(&pem::certificates(file)?),
            Trust::Any => Trusted::Any,
        };
        let identity = self.identity.as_ref().map(Identity::read).transpose()?;
        let parts = TlsParts {
            trust,
            identity,
            versions: self.versions,
            cipher_suites: self.cipher_suites.clone(),
            server_name: self.server_name.as_deref().unwrap_or(host).to_owned(),
            offer,
            resumes: self.resumes,
        };
        parts.client().map_err(|error| self.told(error))
    }

    /// The error with the file that it is about.
    fn told(&self, error: PartsError) -> TlsError {
        match (error, &self.trust, &self.identity) {
            (PartsError::Trust(reason), Trust::File(file), _) => TlsError::InvalidCertificate {
                file: file.clone(),
                reason: reason.to_string(),
            },
            (PartsError::Identity(reason), _, Some(identity)) => identity.rejected(reason),
            (PartsError::Tls(error), ..) => error,
            (other, ..) => TlsError::Rejected(other.to_string()),
        }
    }
}

impl TlsClient {
    /// The configuration for the connections that follow one another in one place: they alone share sessions, so that
    /// who resumes what depends on no other connection.
    pub(crate) fn config_of_one_place(&self) -> Arc<ClientConfig> {
        if !self.parts.resumes {
            return self.config.clone();
        }
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Arc::new(config)
    }

    /// The name that the server's certificate must have.
    pub(crate) fn server_name(&self) -> &ServerName<'static> {
        &self.server_name
    }
}

/// How many sessions to keep for a place.
const SESSIONS: usize = 8;

impl Identity {
    fn read(&self) -> Result<IdentityParts, TlsError> {
        let certificates = pem::certificates(&self.certificates)?;
        Ok(IdentityParts::new(
            &certificates,
            &pem::private_key(&self.key)?,
        ))
    }

    fn rejected(&self, error: rustls::Error) -> TlsError {
        match error {
            rustls::Error::InconsistentKeys(_) => TlsError::KeyMismatch {
                certificates: self.certificates.clone(),
                key: self.key.clone(),
            },
            rustls::Error::InvalidCertificate(error) => TlsError::InvalidCertificate {
                file: self.certificates.clone(),
                reason: error.to_string(),
            },
            error => TlsError::InvalidKey {
                file: self.key.clone(),
                reason: error.to_string(),
            },
        }
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            lowest: TlsVersion::Tls12,
            highest: TlsVersion::Tls13,
        }
    }
}

impl Versions {
    fn include(self, version: TlsVersion) -> bool {
        (self.lowest..=self.highest).contains(&version)
    }

    fn supported(self) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
        let all = [
            (TlsVersion::Tls13, &version::TLS13),
            (TlsVersion::Tls12, &version::TLS12),
        ];
        let included = all
            .into_iter()
            .filter(|(version, _)| self.include(*version));
        let supported: Vec<_> = included.map(|(_, supported)| supported).collect();
        if supported.is_empty() {
            return Err(TlsError::NoVersion(self));
        }
        Ok(supported)
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

impl FromStr for TlsVersion {
    type Err = TlsError;

    fn from_str(text: &str) -> Result<Self, TlsError> {
        [Self::Tls12, Self::Tls13]
            .into_iter()
            .find(|version| version.to_string() == text)
            .ok_or_else(|| TlsError::UnknownVersion(text.into()))
    }
}

impl Offer {
    fn alpn(self) -> Vec<Vec<u8>> {
        let versions = match &self {
            Self::Only(version) => std::slice::from_ref(version),
            Self::Both => &[HttpVersion::Http2, HttpVersion::Http1],
        };
        let names = versions.iter().map(|version| version.alpn().into());
        names.collect()
    }
}
