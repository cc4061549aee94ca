//! What a connection over TLS offers, trusts and shows of itself.
//!
//! [`TlsSettings`] is plain data. [`TlsSettings::client`] checks it, reads the files that it names, once, and makes a
//! [`TlsClient`] for any number of connections.

mod cipher_suite;
mod pem;
#[cfg(test)]
mod tests;
mod verifier;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use prony_model::Protocol;
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{RootCertStore, SupportedProtocolVersion, version};

pub use cipher_suite::cipher_suites;
pub(crate) use cipher_suite::iana_name;
pub use pem::LONGEST_PEM_FILE;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The lowest.
    pub lowest: TlsVersion,
    /// The highest.
    pub highest: TlsVersion,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

/// A version of HTTP, as TLS negotiates it (ALPN, RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

impl From<Protocol> for HttpVersion {
    fn from(protocol: Protocol) -> Self {
        match protocol.is_http1() {
            true => Self::Http1,
            false => Self::Http2,
        }
    }
}

/// Which versions of HTTP to offer to the server, which chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// This one.
    Only(HttpVersion),
    /// HTTP/2, and HTTP/1.1.
    Both,
}

/// What all connections of a load have in common.
#[derive(Clone, Debug)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    resumes: bool,
}

/// Why TLS cannot be set up as [`TlsSettings`] say.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
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
        let name = self.server_name.as_deref().unwrap_or(host);
        let server_name =
            ServerName::try_from(name.to_owned()).map_err(|_| TlsError::ServerName(name.into()))?;
        let versions = self.versions.supported()?;
        let provider = Arc::new(CryptoProvider {
            cipher_suites: cipher_suite::chosen(&self.cipher_suites, self.versions)?,
            ..ring::default_provider()
        });
        let rejected = |error: rustls::Error| TlsError::Rejected(error.to_string());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(rejected)?;
        let builder = match &self.trust {
            Trust::Roots => builder.with_webpki_verifier(verifier(machine_roots()?, provider)?),
            Trust::File(file) => {
                builder.with_webpki_verifier(verifier(roots_of_file(file)?, provider)?)
            }
            Trust::Any => builder
                .dangerous()
                .with_custom_certificate_verifier(verifier::any_certificate(&provider)),
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let certificates = pem::certificates(&identity.certificates)?;
                let key = pem::private_key(&identity.key)?;
                builder
                    .with_client_auth_cert(certificates, key)
                    .map_err(|error| identity.rejected(error))?
            }
        };
        config.alpn_protocols = offer.alpn();
        config.resumption = Resumption::disabled();
        Ok(TlsClient {
            config: Arc::new(config),
            server_name,
            resumes: self.resumes,
        })
    }
}

impl TlsClient {
    /// The configuration for the connections that follow one another in one place: they alone share sessions, so that
    /// who resumes what depends on no other connection.
    pub(crate) fn config_of_one_place(&self) -> Arc<ClientConfig> {
        if !self.resumes {
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

fn verifier(
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map_err(|error| TlsError::Rejected(error.to_string()))
}

/// The machine's root certificates. It may have some that are invalid.
fn machine_roots() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let reason = found.errors.first().map(|error| format!(": {error}"));
        return Err(TlsError::NoRoots {
            reason: reason.unwrap_or_default(),
        });
    }
    Ok(roots)
}

fn roots_of_file(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in pem::certificates(file)? {
        roots
            .add(certificate)
            .map_err(|error| TlsError::InvalidCertificate {
                file: file.into(),
                reason: error.to_string(),
            })?;
    }
    Ok(roots)
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

impl HttpVersion {
    /// Its name in ALPN.
    pub fn alpn(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
        }
    }

    pub(crate) fn of_alpn(name: &[u8]) -> Option<Self> {
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
