//! TLS with another client: rustls with its own sockets, and curl if it is installed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use crate::common::{self, PATIENCE, Running, asset, config, start_with};
use prony_reference::{Config, Server, TlsFiles};
use prony_testkit::certificate::Certificate;
use prony_testkit::contains;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion, version,
};

const BYTE: &[u8] = b"GET /byte HTTP/1.1\r\nHost: a\r\n\r\n";

struct Secured {
    server: Running,
    certificate: Certificate,
}

fn secured() -> Secured {
    let certificate = Certificate::new();
    let [certificates, key] = ["cert.pem", "key.pem"].map(|name| certificate.path(name));
    let server = start_with(&with_files(certificates, key));
    Secured {
        server,
        certificate,
    }
}

fn with_files(certificates: PathBuf, key: PathBuf) -> Config {
    Config {
        tls: Some(TlsFiles { certificates, key }),
        ..config(1)
    }
}

impl Secured {
    fn client_config(
        &self,
        version: &'static SupportedProtocolVersion,
        alpn: &[&str],
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_file(self.certificate.path("cert.pem"));
        roots.add(certificate.unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    /// Connects with TLS 1.3.
    fn connect_with(&self, alpn: &[&str]) -> Client {
        self.connect(&self.client_config(&version::TLS13, alpn))
    }

    fn connect(&self, config: &Arc<ClientConfig>) -> Client {
        let socket = TcpStream::connect(self.server.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = "localhost".try_into().unwrap();
        let session = ClientConnection::new(Arc::clone(config), name).unwrap();
        Client::over(StreamOwned::new(session, socket))
    }
}

type Client = common::Client<StreamOwned<ClientConnection, TcpStream>>;

#[test]
fn both_versions_serve_pages_of_any_length() {
    let secured = secured();
    for version in [&version::TLS12, &version::TLS13] {
        let config = secured.client_config(version, &["http/1.1"]);
        let mut client = secured.connect(&config);
        for _ in 0..3 {
            assert_eq!(client.get("/hello").body, "hello from prony\n");
            assert!(client.get("/").body == asset("page-100k.html"));
        }
        assert_eq!(client.socket.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    }
}

#[test]
fn the_client_chooses_among_both_protocols() {
    let secured = secured();
    for (offered, chosen) in [
        (&["http/1.1", "h2"][..], Some(&b"h2"[..])),
        (&["http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let mut client = secured.connect_with(offered);
        let begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        client.socket.write_all(begin).unwrap();
        let mut settings = [0; 5];
        client.socket.read_exact(&mut settings).unwrap();
        assert_eq!(settings[3..], [4, 0], "SETTINGS");
        assert_eq!(client.socket.conn.alpn_protocol(), chosen);
    }
    // Who agrees on HTTP/2 has to speak it.
    let mut client = secured.connect_with(&["h2"]);
    client.socket.write_all(BYTE).unwrap();
    assert_eq!(client.socket.read(&mut [0]).unwrap(), 0);
    let mut client = secured.connect_with(&["spdy/1"]);
    let error = client.socket.write_all(b"a").unwrap_err();
    contains(&error.to_string(), "NoApplicationProtocol");
}

#[test]
fn sessions_are_resumed() {
    let secured = secured();
    for version in [&version::TLS12, &version::TLS13] {
        let config = secured.client_config(version, &[]);
        let kinds = [(); 3].map(|()| {
            let mut client = secured.connect(&config);
            client.get("/byte");
            client.socket.conn.handshake_kind().unwrap()
        });
        let resumed = HandshakeKind::Resumed;
        assert_eq!(kinds, [HandshakeKind::Full, resumed, resumed]);
    }
}

#[test]
fn records_may_come_in_pieces() {
    let secured = secured();
    let mut client = secured.connect_with(&[]);
    client.get("/byte");
    let session = &mut client.socket.conn;
    session.writer().write_all(&BYTE.repeat(2)).unwrap();
    let mut sealed = Vec::new();
    while session.wants_write() {
        session.write_tls(&mut sealed).unwrap();
    }
    client.socket.sock.set_nodelay(true).unwrap();
    for byte in sealed {
        client.socket.sock.write_all(&[byte]).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(client.response().body, "r");
    }
    assert_eq!(client.get("/hello").body, "hello from prony\n");
}

#[test]
fn both_sides_say_that_they_close() {
    let secured = secured();
    let assert_last_is_right = |mut client: Client| {
        let mut rest = String::new();
        client.socket.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("\r\n\r\nr"), "{rest}");
    };
    // The client closes first, and still gets its response.
    let mut client = secured.connect_with(&[]);
    client.get("/byte");
    client.socket.conn.writer().write_all(BYTE).unwrap();
    client.socket.conn.send_close_notify();
    assert_last_is_right(client);
    // The server closes first: reading to the end fails without its notice.
    let mut client = secured.connect_with(&[]);
    let request = b"GET /byte HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.socket.write_all(request).unwrap();
    assert_last_is_right(client);
}

#[test]
fn bytes_that_are_not_tls_get_an_alert() {
    let secured = secured();
    let mut client = secured.server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let alert = client.rest();
    // A fatal alert.
    assert_eq!((alert[0], alert[5]), (21, 2), "{alert:?}");
    assert_eq!(secured.connect_with(&[]).get("/byte").body, "r");
}

#[test]
fn a_client_that_never_reads_is_served_in_the_end() {
    let secured = secured();
    let mut client = secured.connect_with(&[]);
    client.get("/byte");
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200));
    std::thread::sleep(std::time::Duration::from_millis(100));
    let page = asset("page-100k.html");
    for _ in 0..200 {
        assert!(client.response().body == page);
    }
}

#[test]
fn curl_speaks_both_protocols() {
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let secured = secured();
    let url = format!("https://localhost:{}/", secured.server.address.port());
    let page = asset("page-100k.html");
    for (protocol, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        for tls in ["1.2", "1.3"] {
            let output = Command::new("curl")
                .args(["--silent", "--max-time", "20", protocol, "--tls-max", tls])
                .args(["--write-out", "%{http_version}", "--cacert"])
                .arg(secured.certificate.path("cert.pem"))
                .arg(&url)
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text == format!("{page}{version}"), "{protocol} {tls}");
        }
    }
}

#[test]
fn unusable_files_are_named() {
    let [one, other] = [(); 2].map(|()| Certificate::new());
    for (certificates, key, expected) in [
        ("missing.pem", one.path("key.pem"), "missing.pem"),
        ("cert.pem", one.path("missing.pem"), "missing.pem"),
        (
            "key.pem",
            one.path("key.pem"),
            "TLS_CERT must name a PEM file with certificates",
        ),
        (
            "cert.pem",
            one.path("cert.pem"),
            "TLS_KEY must name a PEM file with a private key",
        ),
        ("cert.pem", other.path("key.pem"), "belong together"),
    ] {
        let error = Server::bind(&with_files(one.path(certificates), key)).unwrap_err();
        contains(&error.to_string(), expected);
    }
}
