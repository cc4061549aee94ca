//! Why TLS cannot be set up.

use std::path::PathBuf;
use std::str::FromStr;

use super::offer::{TlsVersion, Versions};

/// Why TLS cannot be set up as [`TlsSettings`](super::TlsSettings) say.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {source}", file.display())]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is longer than {} MiB", file.display(), most_bytes >> 20)]
    TooLong { file: PathBuf, most_bytes: u64 },
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

impl FromStr for TlsVersion {
    type Err = TlsError;

    fn from_str(text: &str) -> Result<Self, TlsError> {
        [Self::Tls12, Self::Tls13]
            .into_iter()
            .find(|version| version.to_string() == text)
            .ok_or_else(|| TlsError::UnknownVersion(text.into()))
    }
}
