//! The settings that a TLS client is built from.

use std::sync::Arc;

use prony_traffic::Base64;
use rustls::RootCertStore;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{SupportedProtocolVersion, version};
use serde::{Deserialize, Serialize};

use super::error::TlsError;
use super::offer::{Offer, TlsVersion, Versions};
use super::{cipher_suite, verifier};

/// [`TlsSettings`](super::TlsSettings) for one host, with the contents of their files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TlsParts {
    pub(super) trust: Trusted,
    pub(super) identity: Option<IdentityParts>,
    pub(super) versions: Versions,
    pub(super) cipher_suites: Vec<String>,
    pub(super) server_name: String,
    pub(super) offer: Offer,
    pub(super) resumes: bool,
}

/// Which certificates of servers to trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trusted {
    /// Those that one of these vouches for, or is.
    Certificates(Vec<Base64>),
    Any,
}

/// A client certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IdentityParts {
    certificates: Vec<Base64>,
    key: Base64,
}

/// What all connections of a load have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "TlsParts", into = "TlsParts")]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(super) server_name: ServerName<'static>,
    pub(super) parts: Arc<TlsParts>,
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

/// Why parts do not make a client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartsError {
    #[error("a certificate to trust is invalid: {0}")]
    Trust(rustls::Error),
    #[error("the client certificate or its private key is unusable: {0}")]
    Identity(rustls::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl TryFrom<TlsParts> for TlsClient {
    type Error = PartsError;

    fn try_from(parts: TlsParts) -> Result<Self, PartsError> {
        parts.client()
    }
}

impl From<TlsClient> for TlsParts {
    fn from(client: TlsClient) -> Self {
        client.parts.as_ref().clone()
    }
}

impl TlsParts {
    /// The client.
    ///
    /// # Errors
    ///
    /// If a part is unusable.
    pub(crate) fn client(self) -> Result<TlsClient, PartsError> {
        // The zone of an address is this machine's own.
        let name = self.server_name.split('%').next().unwrap_or_default();
        let name = ServerName::try_from(name.to_owned());
        let server_name = name.map_err(|_| TlsError::ServerName(self.server_name.clone()))?;
        let versions = supported(self.versions)?;
        let provider = Arc::new(CryptoProvider {
            cipher_suites: cipher_suite::chosen(&self.cipher_suites, self.versions)?,
            ..ring::default_provider()
        });
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(rejected)?
            .dangerous()
            .with_custom_certificate_verifier(self.trust.verifier(provider)?);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.certificates(), identity.key()?)
                .map_err(PartsError::Identity)?,
        };
        config.alpn_protocols = self.offer.alpn();
        config.resumption = Resumption::disabled();
        Ok(TlsClient {
            config: Arc::new(config),
            server_name,
            parts: Arc::new(self),
        })
    }
}

impl Trusted {
    /// Those that one of these vouches for, or is.
    pub(super) fn these(certificates: &[CertificateDer<'_>]) -> Self {
        Self::Certificates(encoded(certificates))
    }

    /// Those that the machine's root certificates vouch for. It may have some that are invalid.
    pub(super) fn machine_roots() -> Result<Self, TlsError> {
        let found = rustls_native_certs::load_native_certs();
        let is_valid = |certificate: &CertificateDer<'static>| {
            RootCertStore::empty().add(certificate.clone()).is_ok()
        };
        let valid: Vec<_> = found.certs.into_iter().filter(is_valid).collect();
        if valid.is_empty() {
            let reason = found.errors.first().map(|error| format!(": {error}"));
            return Err(TlsError::NoRoots {
                reason: reason.unwrap_or_default(),
            });
        }
        Ok(Self::these(&valid))
    }

    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, PartsError> {
        let Self::Certificates(certificates) = self else {
            return Ok(verifier::any_certificate(&provider));
        };
        let mut roots = RootCertStore::empty();
        let trusted: Vec<_> = decoded(certificates).collect();
        for certificate in &trusted {
            roots.add(certificate.clone()).map_err(PartsError::Trust)?;
        }
        let inner = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone());
        let inner = inner.build();
        let inner = inner.map_err(|error| TlsError::Rejected(error.to_string()))?;
        Ok(verifier::trusted_itself(&provider, inner, trusted))
    }
}

impl IdentityParts {
    pub(super) fn new(certificates: &[CertificateDer<'_>], key: &PrivateKeyDer<'_>) -> Self {
        Self {
            certificates: encoded(certificates),
            key: Base64(key.secret_der().to_vec()),
        }
    }

    fn certificates(&self) -> Vec<CertificateDer<'static>> {
        decoded(&self.certificates).collect()
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, PartsError> {
        let key = PrivateKeyDer::try_from(self.key.0.clone());
        key.map_err(|reason| PartsError::Identity(rustls::Error::General(reason.to_owned())))
    }
}

fn supported(versions: Versions) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let all = [
        (TlsVersion::Tls13, &version::TLS13),
        (TlsVersion::Tls12, &version::TLS12),
    ];
    let included = all
        .into_iter()
        .filter(|(version, _)| versions.include(*version));
    let supported: Vec<_> = included.map(|(_, supported)| supported).collect();
    if supported.is_empty() {
        return Err(TlsError::NoVersion(versions));
    }
    Ok(supported)
}

fn encoded(certificates: &[CertificateDer<'_>]) -> Vec<Base64> {
    let certificates = certificates.iter();
    certificates.map(|it| Base64(it.to_vec())).collect()
}

fn decoded(certificates: &[Base64]) -> impl Iterator<Item = CertificateDer<'static>> {
    certificates.iter().map(|it| it.0.clone().into())
}

fn rejected(error: rustls::Error) -> TlsError {
    TlsError::Rejected(error.to_string())
}
