//! Trust in any certificate, and in one that is itself trusted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Accepts any certificate, but still verifies the signature of the handshake: its cost is that of every client.
pub(super) fn any_certificate(provider: &CryptoProvider) -> Arc<dyn ServerCertVerifier> {
    Verifier::of(provider, Accepted::Any)
}

/// Accepts what `inner` accepts, and a certificate authority's certificate that is itself one of `trusted`. Plain
/// `openssl req -x509` writes one, which users then give a server; curl accepts it, too.
pub(super) fn trusted_itself(
    provider: &CryptoProvider,
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
) -> Arc<dyn ServerCertVerifier> {
    Verifier::of(provider, Accepted::TrustedItself { inner, trusted })
}

/// Whether a server's certificate is refused because it is a certificate authority's. Its time is right then, because that is
/// verified first.
pub(crate) fn is_authority(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}

/// Verifies the signatures of handshakes, and certificates as `accepted` says.
#[derive(Debug)]
struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    accepted: Accepted,
}

#[derive(Debug)]
enum Accepted {
    Any,
    TrustedItself {
        inner: Arc<WebPkiServerVerifier>,
        trusted: Vec<CertificateDer<'static>>,
    },
}

impl Verifier {
    fn of(provider: &CryptoProvider, accepted: Accepted) -> Arc<dyn ServerCertVerifier> {
        Arc::new(Self {
            algorithms: provider.signature_verification_algorithms,
            accepted,
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Accepted::TrustedItself { inner, trusted } = &self.accepted else {
            return Ok(ServerCertVerified::assertion());
        };
        match inner.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            Err(Error::InvalidCertificate(error))
                if is_authority(&error) && trusted.contains(certificate) =>
            {
                verify_name(certificate, name)
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Accepts a certificate with that name, or without any name, which could be that of another server.
fn verify_name(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
) -> Result<ServerCertVerified, Error> {
    match verify_server_name(&ParsedCertificate::try_from(certificate)?, name) {
        Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented,
            ..
        })) if presented.is_empty() => Ok(ServerCertVerified::assertion()),
        verified => verified.map(|()| ServerCertVerified::assertion()),
    }
}
