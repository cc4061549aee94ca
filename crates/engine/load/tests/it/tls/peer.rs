//! A TLS server in memory, and the client that talks to it.

use std::io::{Read, Write};
use std::sync::Arc;

use prony_load::Request;
use prony_load::tls::{Identity, Offer, TlsClient, TlsSettings, Trust};
use prony_load::wire::h1::H1Wire;
use prony_load::wire::tls::{Channel, Failure};
use prony_load::wire::{End, Fault, OnClose, Which, Wire};
pub(super) use prony_testkit::certificate::Certificate;
use prony_testkit::tls_server;
use prony_traffic::{Collect, HttpVersion};
use rcgen::{CertificateParams, KeyPair};
use rustls::server::ServerConfig;
use rustls::{ServerConnection, SupportedProtocolVersion};

/// A certificate for `localhost` that `change` changes before it is signed.
pub(super) fn changed(change: impl FnOnce(&mut CertificateParams)) -> Certificate {
    Certificate::of(&KeyPair::generate().unwrap(), &["localhost"], change)
}

pub(super) fn named(names: &[&str]) -> Certificate {
    Certificate::of(&KeyPair::generate().unwrap(), names, |_| {})
}

/// The settings of a client that trusts this certificate.
pub(super) fn trusted(certificate: &Certificate) -> TlsSettings {
    TlsSettings {
        trust: Trust::File(certificate.path("cert.pem")),
        ..TlsSettings::default()
    }
}

/// The settings of a client that trusts any certificate.
pub(super) fn trusts_any() -> TlsSettings {
    TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    }
}

pub(super) fn identity(certificate: &Certificate) -> Identity {
    Identity {
        certificates: certificate.path("cert.pem"),
        key: certificate.path("key.pem"),
    }
}

/// The configuration of a server that presents this certificate.
pub(super) fn server(certificate: &Certificate) -> ServerConfig {
    server_of(certificate, rustls::ALL_VERSIONS, None)
}

/// A server of some versions, which requires that client certificate.
pub(super) fn server_of(
    certificate: &Certificate,
    versions: &[&'static SupportedProtocolVersion],
    client: Option<&Certificate>,
) -> ServerConfig {
    let mut config = tls_server::config_of_versions(versions, certificate, client);
    config.alpn_protocols = vec!["http/1.1".into()];
    config
}

pub(super) fn client(settings: &TlsSettings) -> TlsClient {
    let offer = Offer::Only(HttpVersion::Http1);
    settings.client("localhost", offer).unwrap()
}

/// The only request of the client. It lives as long as the test's process.
pub(super) fn request_with(body: &[u8]) -> &'static [Request] {
    let url = "http://localhost/".parse().unwrap();
    let request = Request::new("POST", &url, &[], body).unwrap();
    Box::leak(Box::new([request]))
}

/// The server's side.
pub(super) struct Server {
    pub(crate) tls: ServerConnection,
    /// The decrypted bytes that it received.
    pub(crate) received: Vec<u8>,
}

impl Server {
    pub(super) fn new(config: &Arc<ServerConfig>) -> Self {
        let mut tls = ServerConnection::new(config.clone()).unwrap();
        tls.set_buffer_limit(None);
        Self {
            tls,
            received: Vec::new(),
        }
    }

    /// Takes ciphertext, and decrypts it.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<(), rustls::Error> {
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).unwrap();
            let state = self.tls.process_new_packets()?;
            let mut plaintext = vec![0; state.plaintext_bytes_to_read()];
            self.tls.reader().read_exact(&mut plaintext).unwrap();
            self.received.extend(plaintext);
        }
        Ok(())
    }

    pub(super) fn send(&mut self, plaintext: &[u8]) {
        self.tls.writer().write_all(plaintext).unwrap();
    }

    /// The ciphertext to send.
    pub(super) fn unsent(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut bytes).unwrap();
        }
        bytes
    }
}

/// A status, and a body.
type Received = (u16, Vec<u8>);

/// Client and server.
pub(super) struct Pair<W: Wire = H1Wire<'static>> {
    pub(crate) channel: Channel<W>,
    pub(crate) server: Server,
}

impl Pair {
    pub(super) fn new(settings: &TlsSettings, config: ServerConfig) -> Self {
        Self::requesting(b"", settings, config)
    }

    /// The client's requests have that body.
    pub(super) fn requesting(body: &[u8], settings: &TlsSettings, config: ServerConfig) -> Self {
        let wire = H1Wire::new(request_with(body), false);
        Self::of(wire, &client(settings), Some(HttpVersion::Http1), config)
    }

    /// The client trusts that certificate of the server, which supports that version alone. They have shaken hands.
    pub(super) fn shaken(
        certificate: &Certificate,
        version: &'static SupportedProtocolVersion,
    ) -> Self {
        let config = server_of(certificate, &[version], None);
        let mut pair = Self::new(&trusted(certificate), config);
        pair.shake().unwrap();
        pair
    }
}

impl<W: Wire> Pair<W> {
    pub(super) fn of(
        wire: W,
        client: &TlsClient,
        speaks: Option<HttpVersion>,
        config: ServerConfig,
    ) -> Self {
        let mut channel = Channel::new(wire, client, speaks);
        channel.open();
        let server = Server::new(&Arc::new(config));
        Self { channel, server }
    }

    /// Sends all that the client has to send. Returns how many bytes that were.
    pub(super) fn send(&mut self) -> Result<usize, rustls::Error> {
        let mut sent = 0;
        loop {
            let unsent = self.channel.unsent();
            let length = unsent.len();
            if length == 0 {
                return Ok(sent);
            }
            let taken = self.server.take(unsent);
            self.channel.sent(length);
            sent += length;
            taken?;
        }
    }

    /// Lets the client eat all of `bytes`, and returns the responses that ended.
    pub(super) fn eat(&mut self, bytes: &[u8]) -> Result<Vec<Received>, Fault> {
        let (mut at, mut responses) = (0, Vec::new());
        loop {
            let mut collect = Collect::default();
            let eaten = self.channel.eat(&bytes[at..], &mut collect)?;
            at += eaten.bytes;
            let Some(ended) = eaten.ended else {
                assert_eq!(at, bytes.len(), "a wire eats all if no response ends");
                return Ok(responses);
            };
            let End::Whole(whole) = ended.end else {
                panic!("{ended:?}");
            };
            assert!(ended.was_sent);
            let response = collect.into_response();
            assert_eq!(whole.body_bytes, response.body.len() as u64);
            responses.push((whole.status, response.body));
            if at == bytes.len() && !self.channel.has_more() {
                return Ok(responses);
            }
        }
    }

    /// The same with all that the server has to send.
    pub(super) fn receive(&mut self) -> Result<Vec<Received>, Fault> {
        let bytes = self.server.unsent();
        self.eat(&bytes)
    }

    /// Shakes hands, and returns why that failed.
    pub(super) fn shake(&mut self) -> Result<(), Fault> {
        assert!(!self.channel.is_ready());
        assert_eq!(self.channel.handshake(), None);
        for _ in 0..8 {
            // What the server thinks of it is in its alert.
            let _ = self.send();
            assert_eq!(self.receive()?, []);
        }
        assert!(self.channel.is_ready());
        Ok(())
    }

    /// The client sends a request.
    pub(super) fn request(&mut self) {
        self.channel.request(Which::default());
        self.send().unwrap();
    }

    /// A request, and its response with that body.
    pub(super) fn exchange(&mut self, body: &[u8]) {
        self.server.received.clear();
        self.request();
        assert!(self.server.received.starts_with(b"POST / HTTP/1.1\r\n"));
        self.server.send(&response(body));
        assert_eq!(self.receive().unwrap(), [(200, body.to_vec())]);
    }
}

/// The failure of a handshake with these configurations.
pub(super) fn failure(settings: &TlsSettings, config: ServerConfig) -> Failure {
    tls_failure(Pair::new(settings, config).shake().unwrap_err())
}

pub(super) fn tls_failure(fault: Fault) -> Failure {
    match fault {
        Fault::Tls(failure) => failure,
        fault => panic!("{fault:?}"),
    }
}

pub(super) fn failed_close(on_close: OnClose) -> Failure {
    match on_close {
        OnClose::Failed(fault) => tls_failure(fault),
        on_close => panic!("{on_close:?}"),
    }
}

pub(super) fn response(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
