//! What a connection over TLS offers, trusts and shows of itself.
//!
//! [`TlsSettings`] is plain data. [`TlsSettings::client`] checks it, reads the files that it names, once, and makes a
//! [`TlsClient`] for any number of connections. A client keeps its parts, which need no files, so that other
//! hosts can make the same one.

mod cipher_suite;
mod error;
mod offer;
mod parts;
mod pem;
#[cfg(test)]
mod tests;
mod verifier;

use std::path::PathBuf;

pub use cipher_suite::cipher_suites;
pub(crate) use cipher_suite::iana_name;
pub use error::TlsError;
pub use offer::{Offer, TlsVersion, Versions};
pub use parts::TlsClient;
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
