//! Encrypted records that rustls would not send.

use rustls::crypto::cipher::{MessageEncrypter, OutboundPlainMessage}; // typos:ignore-line
use rustls::{
    ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig, ServerConnection,
    SupportedCipherSuite, SupportedProtocolVersion,
};

use super::peer::{Certificate, server_of, trusted};
use prony_load::tls::TlsSettings;

/// Cipher suites whose keys are used in the same way in both versions of TLS.
const SUITES: [&str; 2] = [
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
];
pub(super) const INTERNAL_ERROR: &[u8] = &[2, 80];
pub(super) const HELLO_REQUEST: &[u8] = &[0; 4];

/// Takes the place of a server after its handshake.
pub(super) struct Sealer {
    cipher: Box<dyn MessageEncrypter>, // typos:ignore-line
    /// Of the next record.
    number: u64,
}

impl Sealer {
    /// The settings of a client whose server a `Sealer` can replace.
    pub(super) fn client(certificate: &Certificate) -> TlsSettings {
        TlsSettings {
            cipher_suites: SUITES.map(Into::into).into(),
            ..trusted(certificate)
        }
    }

    /// A server to which this can be done.
    pub(super) fn server(
        certificate: &Certificate,
        version: &'static SupportedProtocolVersion,
    ) -> ServerConfig {
        let mut config = server_of(certificate, &[version], None);
        config.enable_secret_extraction = true;
        config
    }

    /// Continues with the keys of that server.
    pub(super) fn of(server: ServerConnection) -> Self {
        let suite = server.negotiated_cipher_suite().unwrap();
        let secrets = server.dangerous_extract_secrets().unwrap();
        let (number, ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = secrets.tx else {
            panic!("another cipher suite");
        };
        let cipher = match suite {
            SupportedCipherSuite::Tls12(suite) => suite.aead_alg.encrypter(key, iv.as_ref(), &[]), // typos:ignore-line
            SupportedCipherSuite::Tls13(suite) => suite.aead_alg.encrypter(key, iv), // typos:ignore-line
        };
        Self { cipher, number }
    }

    pub(super) fn seal(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let message = OutboundPlainMessage {
            typ,
            version: ProtocolVersion::TLSv1_2,
            payload: payload.into(),
        };
        let record = self.cipher.encrypt(message, self.number).unwrap().encode();
        self.number += 1;
        record
    }
}
