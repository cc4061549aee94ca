//! A TLS server in memory, its certificates, and the client that talks to it.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use prony_load::tls::{HttpVersion, Identity, Offer, TlsClient, TlsSettings, Trust};
use prony_load::wire::h1::{Collect, H1Wire};
use prony_load::wire::tls::{Channel, Failure};
use prony_load::wire::{End, Fault, OnClose, Which, Wire};
use prony_load::{Order, Request, RequestSet};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConnection, SupportedProtocolVersion, crypto::ring};
use tempfile::TempDir;

/// A certificate, its key, and the folder with both as PEM files.
pub struct Certificate {
    pub der: CertificateDer<'static>,
    key: KeyPair,
    folder: TempDir,
}

impl Certificate {
    /// A self-signed one for `localhost`.
    pub fn new() -> Self {
        Self::with(KeyPair::generate().unwrap(), |_| {})
    }

    /// One with a key for RSA, which ring cannot generate.
    pub fn rsa() -> Self {
        let key = KeyPair::from_pem(include_str!("rsa_key.pem")).unwrap();
        Self::with(key, |_| {})
    }

    /// One that `change` changes before it is signed.
    pub fn changed(change: impl FnOnce(&mut CertificateParams)) -> Self {
        Self::with(KeyPair::generate().unwrap(), change)
    }

    pub fn authority() -> Self {
        Self::changed(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))
    }

    /// A self-signed one for these names.
    pub fn named(names: &[&str]) -> Self {
        Self::of(KeyPair::generate().unwrap(), names, |_| {})
    }

    fn with(key: KeyPair, change: impl FnOnce(&mut CertificateParams)) -> Self {
        Self::of(key, &["localhost"], change)
    }

    fn of(key: KeyPair, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        // A certificate that has the name of a trusted one would be one with a wrong signature.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
        params.distinguished_name.push(DnType::CommonName, number);
        change(&mut params);
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), key.serialize_pem()).unwrap();
        Self {
            der: certificate.der().clone(),
            key,
            folder,
        }
    }

    /// The settings of a client that trusts this certificate.
    pub fn trusted(&self) -> TlsSettings {
        TlsSettings {
            trust: Trust::File(self.folder.path().join("cert.pem")),
            ..TlsSettings::default()
        }
    }

    pub fn identity(&self) -> Identity {
        Identity {
            certificates: self.folder.path().join("cert.pem"),
            key: self.folder.path().join("key.pem"),
        }
    }

    fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.serialize_pem().as_bytes()).unwrap()
    }

    /// The configuration of a server that presents this certificate.
    pub fn server(&self) -> ServerConfig {
        self.server_of(&[&rustls::version::TLS13, &rustls::version::TLS12], None)
    }

    /// A server of some versions, which requires that client certificate.
    pub fn server_of(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        client: Option<&Self>,
    ) -> ServerConfig {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .unwrap();
        let builder = match client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let mut roots = RootCertStore::empty();
                roots.add(client.der.clone()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
                builder.with_client_cert_verifier(verifier.unwrap())
            }
        };
        let mut config = builder
            .with_single_cert(vec![self.der.clone()], self.private_key())
            .unwrap();
        config.alpn_protocols = vec!["http/1.1".into()];
        config
    }
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The server's side.
pub struct Server {
    pub tls: ServerConnection,
    /// The decrypted bytes that it received.
    pub received: Vec<u8>,
}

impl Server {
    /// One that presents `certificate`, and supports that version of TLS alone.
    pub fn with(certificate: &Certificate, version: &'static SupportedProtocolVersion) -> Self {
        Self::new(&Arc::new(certificate.server_of(&[version], None)))
    }

    pub fn new(config: &Arc<ServerConfig>) -> Self {
        let mut tls = ServerConnection::new(config.clone()).unwrap();
        tls.set_buffer_limit(None);
        Self {
            tls,
            received: Vec::new(),
        }
    }

    /// Takes ciphertext, and decrypts it.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), rustls::Error> {
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).unwrap();
            let state = self.tls.process_new_packets()?;
            let length = state.plaintext_bytes_to_read();
            let start = self.received.len();
            self.received.resize(start + length, 0);
            self.tls
                .reader()
                .read_exact(&mut self.received[start..])
                .unwrap();
        }
        Ok(())
    }

    pub fn send(&mut self, plaintext: &[u8]) {
        self.tls.writer().write_all(plaintext).unwrap();
    }

    /// The ciphertext to send.
    pub fn unsent(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut bytes).unwrap();
        }
        bytes
    }
}

pub fn requests(body: &[u8]) -> RequestSet {
    let url = "http://localhost/".parse().unwrap();
    let request = Request::new("POST", &url, &[], body).unwrap();
    RequestSet::new(vec![request], Order::InTurn).unwrap()
}

pub fn client(settings: &TlsSettings) -> TlsClient {
    let offer = Offer::Only(HttpVersion::Http1);
    settings.client("localhost", offer).unwrap()
}

pub fn channel<'a>(requests: &'a RequestSet, client: &TlsClient) -> Channel<H1Wire<'a>> {
    let mut channel = Channel::new(
        H1Wire::new(requests.requests(), false),
        client,
        Some(HttpVersion::Http1),
    );
    channel.open();
    channel
}

/// Sends all that the wire has to send. Returns how many bytes that were.
pub fn send(wire: &mut impl Wire, server: &mut Server) -> Result<usize, rustls::Error> {
    let mut sent = 0;
    loop {
        let unsent = wire.unsent();
        let length = unsent.len();
        if length == 0 {
            return Ok(sent);
        }
        let taken = server.take(unsent);
        wire.sent(length);
        sent += length;
        taken?;
    }
}

/// Lets the wire eat all of `bytes`, and returns the responses that ended.
pub fn eat(wire: &mut impl Wire, bytes: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, Fault> {
    let (mut at, mut responses) = (0, Vec::new());
    loop {
        let mut collect = Collect::default();
        let eaten = wire.eat(&bytes[at..], &mut collect)?;
        at += eaten.bytes;
        match eaten.ended {
            Some(ended) => {
                let End::Whole(whole) = ended.end else {
                    panic!("{ended:?}");
                };
                assert!(ended.was_sent);
                let response = collect.into_response();
                assert_eq!(whole.body_bytes, response.body.len() as u64);
                responses.push((whole.status, response.body));
            }
            None => {
                assert_eq!(at, bytes.len(), "a wire eats all if no response ends");
                return Ok(responses);
            }
        }
        if at == bytes.len() && !wire.has_more() {
            return Ok(responses);
        }
    }
}

/// Shakes hands, and returns why that failed.
pub fn shake(wire: &mut impl Wire, server: &mut Server) -> Result<(), Fault> {
    assert!(!wire.is_ready());
    assert_eq!(wire.handshake(), None);
    for _ in 0..8 {
        // What the server thinks of it is in its alert.
        let _ = send(wire, server);
        let responses = eat(wire, &server.unsent())?;
        assert!(responses.is_empty());
    }
    assert!(wire.is_ready());
    Ok(())
}

/// The failure of a handshake with these configurations.
pub fn failure(settings: &TlsSettings, config: ServerConfig) -> Failure {
    let set = requests(b"");
    let mut channel = channel(&set, &client(settings));
    let mut server = Server::new(&Arc::new(config));
    tls_failure(shake(&mut channel, &mut server).unwrap_err())
}

pub fn tls_failure(fault: Fault) -> Failure {
    match fault {
        Fault::Tls(failure) => failure,
        fault => panic!("{fault:?}"),
    }
}

pub fn failed_close(on_close: OnClose) -> Failure {
    match on_close {
        OnClose::Failed(fault) => tls_failure(fault),
        on_close => panic!("{on_close:?}"),
    }
}

/// A request, and its response with that body.
pub fn exchange(wire: &mut impl Wire, server: &mut Server, body: &[u8]) {
    wire.request(Which::default());
    server.received.clear();
    send(wire, server).unwrap();
    assert!(server.received.starts_with(b"POST / HTTP/1.1\r\n"));
    server.send(&response(body));
    let bytes = server.unsent();
    assert_eq!(eat(wire, &bytes).unwrap(), [(200, body.to_vec())]);
}

pub fn response(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
