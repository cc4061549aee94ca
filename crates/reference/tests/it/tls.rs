//! TLS with another client: rustls with its own sockets, and curl if it is installed.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use crate::common::{PATIENCE, Running, asset, config, start_with};
use prony_reference::{ReferenceError, Server, TlsFiles};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion, version,
};
use tempfile::TempDir;

struct Secured {
    server: Running,
    certificate: CertificateDer<'static>,
    folder: TempDir,
}

fn secured() -> Secured {
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = TempDir::new().unwrap();
    let (certificates, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    std::fs::write(&certificates, identity.cert.pem()).unwrap();
    std::fs::write(&key, identity.signing_key.serialize_pem()).unwrap();
    let mut config = config(1);
    config.tls = Some(TlsFiles { certificates, key });
    Secured {
        server: start_with(&config),
        certificate: identity.cert.der().clone(),
        folder,
    }
}

impl Secured {
    fn client_config(
        &self,
        version: &'static SupportedProtocolVersion,
        alpn: &[&str],
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    fn connect(&self, config: &Arc<ClientConfig>) -> Client {
        let socket = TcpStream::connect(self.server.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = "localhost".try_into().unwrap();
        let session = ClientConnection::new(Arc::clone(config), name).unwrap();
        Client(StreamOwned::new(session, socket))
    }
}

struct Client(StreamOwned<ClientConnection, TcpStream>);

impl Client {
    fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        self.0.write_all(request.as_bytes()).unwrap();
        let mut response = Vec::new();
        loop {
            let mut buffer = [0; 16_384];
            let length = self.0.read(&mut buffer).unwrap();
            assert!(length > 0, "the response was cut short");
            response.extend_from_slice(&buffer[..length]);
            let text = String::from_utf8_lossy(&response);
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let (_, rest) = head.split_once("Content-Length: ").unwrap();
            let expected: usize = rest.lines().next().unwrap().parse().unwrap();
            if body.len() >= expected {
                assert!(head.starts_with("HTTP/1.1 200 OK"));
                return body.to_owned();
            }
        }
    }
}

#[test]
fn both_versions_serve_pages_of_any_length() {
    let secured = secured();
    for version in [&version::TLS12, &version::TLS13] {
        let config = secured.client_config(version, &["http/1.1"]);
        let mut client = secured.connect(&config);
        for _ in 0..3 {
            assert_eq!(client.get("/hello"), "hello from prony\n");
            assert!(client.get("/") == asset("page-100k.html"));
        }
        assert_eq!(client.0.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
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
        let config = secured.client_config(&version::TLS13, offered);
        let mut client = secured.connect(&config);
        client
            .0
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
            .unwrap();
        let mut settings = [0; 5];
        client.0.read_exact(&mut settings).unwrap();
        assert_eq!(settings[3..], [4, 0], "SETTINGS");
        assert_eq!(client.0.conn.alpn_protocol(), chosen);
    }
    // Who agrees on HTTP/2 has to speak it.
    let config = secured.client_config(&version::TLS13, &["h2"]);
    let mut client = secured.connect(&config);
    client
        .0
        .write_all(b"GET /byte HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    assert_eq!(client.0.read(&mut [0]).unwrap(), 0);
    let config = secured.client_config(&version::TLS13, &["spdy/1"]);
    let error = secured.connect(&config).0.write_all(b"a").unwrap_err();
    assert!(
        error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
}

#[test]
fn sessions_are_resumed() {
    let secured = secured();
    for version in [&version::TLS12, &version::TLS13] {
        let config = secured.client_config(version, &[]);
        let kinds = [(); 3].map(|()| {
            let mut client = secured.connect(&config);
            client.get("/byte");
            client.0.conn.handshake_kind().unwrap()
        });
        let resumed = HandshakeKind::Resumed;
        assert_eq!(kinds, [HandshakeKind::Full, resumed, resumed]);
    }
}

#[test]
fn records_may_come_in_pieces() {
    let secured = secured();
    let config = secured.client_config(&version::TLS13, &[]);
    let mut client = secured.connect(&config);
    client.get("/byte");
    let session = &mut client.0.conn;
    for _ in 0..2 {
        session
            .writer()
            .write_all(b"GET /byte HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
    }
    let mut sealed = Vec::new();
    while session.wants_write() {
        session.write_tls(&mut sealed).unwrap();
    }
    client.0.sock.set_nodelay(true).unwrap();
    for byte in sealed {
        client.0.sock.write_all(&[byte]).unwrap();
    }
    let mut received = String::new();
    while received.matches("\r\n\r\nr").count() < 2 {
        let mut buffer = [0; 1000];
        let length = client.0.read(&mut buffer).unwrap();
        received += std::str::from_utf8(&buffer[..length]).unwrap();
    }
    assert_eq!(client.get("/hello"), "hello from prony\n");
}

#[test]
fn both_sides_say_that_they_close() {
    let secured = secured();
    let config = secured.client_config(&version::TLS13, &[]);
    // The client closes first, and still gets its response.
    let mut client = secured.connect(&config);
    client.get("/byte");
    let request = b"GET /byte HTTP/1.1\r\nHost: a\r\n\r\n";
    client.0.conn.writer().write_all(request).unwrap();
    client.0.conn.send_close_notify();
    let mut rest = String::new();
    client.0.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n\r\nr"), "{rest}");
    // The server closes first: reading to the end fails without its notice.
    let mut client = secured.connect(&config);
    let request = b"GET /byte HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.0.write_all(request).unwrap();
    let mut rest = String::new();
    client.0.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n\r\nr"), "{rest}");
}

#[test]
fn bytes_that_are_not_tls_get_an_alert() {
    let secured = secured();
    let mut client = secured.server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let alert = client.rest();
    // A fatal alert.
    assert_eq!((alert[0], alert[5]), (21, 2), "{alert:?}");
    let config = secured.client_config(&version::TLS13, &[]);
    assert_eq!(secured.connect(&config).get("/byte"), "r");
}

#[test]
fn a_client_that_never_reads_is_served_in_the_end() {
    let secured = secured();
    let config = secured.client_config(&version::TLS13, &[]);
    let mut client = secured.connect(&config);
    client.get("/byte");
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200);
    client.0.write_all(request.as_bytes()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let mut received = 0;
    let page = asset("page-100k.html").len();
    while received < 200 * page {
        let mut buffer = [0; 1 << 16];
        match client.0.read(&mut buffer) {
            Ok(0) => panic!("the connection ended"),
            Ok(length) => received += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn curl_speaks_both_protocols() {
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let secured = secured();
    let page = asset("page-100k.html");
    for (protocol, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        for tls in ["1.2", "1.3"] {
            let output = Command::new("curl")
                .args(["--silent", "--max-time", "20", protocol, "--tls-max", tls])
                .args(["--write-out", "%{http_version}", "--cacert"])
                .arg(secured.folder.path().join("cert.pem"))
                .arg(format!(
                    "https://localhost:{}/",
                    secured.server.address.port()
                ))
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text == format!("{page}{version}"), "{protocol} {tls}");
        }
    }
}

#[test]
fn unusable_files_are_named() {
    let secured = secured();
    let (certificates, key) = (
        secured.folder.path().join("cert.pem"),
        secured.folder.path().join("key.pem"),
    );
    let other = secured.folder.path().join("other.pem");
    let other_key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(&other, other_key).unwrap();
    let missing = secured.folder.path().join("missing.pem");
    for (certificates, key, expected) in [
        (&missing, &key, "missing.pem"),
        (&certificates, &missing, "missing.pem"),
        (
            &key,
            &key,
            "TLS_CERT must name a PEM file with certificates",
        ),
        (
            &certificates,
            &certificates,
            "TLS_KEY must name a PEM file with a private key",
        ),
        (&certificates, &other, "belong together"),
    ] {
        let mut config = config(1);
        config.tls = Some(TlsFiles {
            certificates: certificates.clone(),
            key: key.clone(),
        });
        let error: ReferenceError = Server::bind(&config).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
