//! Loads over TLS: what is agreed on, what is measured, and what is refused.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::certificate::Certificate;
use crate::common::{Ended, run};
use crate::{Ceiling, load, loaded, outcome};

fn handshakes(result: &Value, kind: &str) -> u64 {
    let handshakes = &result["tls"][kind];
    let count = handshakes["count"].as_u64().unwrap();
    assert_eq!(handshakes["duration_ns"].is_null(), count == 0);
    count
}

/// A load that must fail.
fn failed(arguments: &[&str], code: i32) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    run(load(folder.path(), arguments)).with(code)
}

#[test]
fn a_load_over_tls_uses_the_version_of_http_that_the_server_prefers() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let (url, trusted) = (server.https_url("hello"), certificate.file("cert.pem"));
    let flags = ["-n50", "-c2", "--cacert", &trusted, &url];
    let (summary, result) = loaded(&flags);
    assert!(summary.contains("  HTTP/2 over TLS 1.3, TLS_"), "{summary}");
    assert!(summary.contains(", 1 stream per connection\n"), "{summary}");
    assert!(
        summary.contains("  2 full TLS handshakes: p50 "),
        "{summary}"
    );
    assert_eq!(result["target"]["protocol"], "h2");
    assert_eq!(
        (outcome(&result, "ok"), handshakes(&result, "full")),
        (50, 2)
    );
    assert_eq!(handshakes(&result, "resumed"), 0);

    let (summary, result) = loaded(&[&["--http1.1"], &flags[..]].concat());
    assert!(
        summary.contains("  HTTP/1.1 over TLS 1.3, TLS_"),
        "{summary}"
    );
    assert!(!summary.contains("per connection"), "{summary}");
    assert_eq!(result["target"]["protocol"], "https/1.1");
    assert_eq!(
        (outcome(&result, "ok"), handshakes(&result, "full")),
        (50, 2)
    );
}

#[test]
fn versions_and_cipher_suites_are_those_of_the_flags() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let url = server.https_url("hello");
    let agreed = |flags: &[&str]| {
        let (_, result) = loaded(&[&["-n5", "-c1", "-k", &url], flags].concat());
        let text = |name: &str| result["tls"][name].as_str().unwrap().to_owned();
        (text("version"), text("cipher_suite"))
    };
    assert_eq!(agreed(&["--tls-max", "1.2"]).0, "1.2");
    assert_eq!(agreed(&["--tls-min", "1.3"]).0, "1.3");
    let suite = "TLS_CHACHA20_POLY1305_SHA256";
    let both = ("1.3".to_owned(), suite.to_owned());
    assert_eq!(agreed(&["--ciphers", suite]), both);
    let suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
    let both = ("1.2".to_owned(), suite.to_owned());
    assert_eq!(
        agreed(&["--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]),
        both
    );
}

#[test]
fn connections_resume_sessions_only_if_asked_to() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let url = server.https_url("hello");
    for version in ["--http1.1", "--http2"] {
        let flags = ["-n20", "-c1", "-k", "--no-keepalive", version, &url];
        let (_, result) = loaded(&flags);
        assert!(handshakes(&result, "full") >= 20, "{version}: {result}");
        assert_eq!(handshakes(&result, "resumed"), 0, "{version}");
        let (summary, result) = loaded(&[&["--tls-resume"], &flags[..]].concat());
        assert_eq!(outcome(&result, "ok"), 20);
        assert_eq!(handshakes(&result, "full"), 1, "{version}: {result}");
        assert!(handshakes(&result, "resumed") >= 19, "{version}: {result}");
        assert!(
            summary.contains(" resumed TLS handshakes: p50 "),
            "{summary}"
        );
    }
}

#[test]
fn a_server_that_is_not_trusted_is_not_loaded() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let (url, trusted) = (server.https_url("hello"), certificate.file("cert.pem"));
    failed(&["--cacert", "missing.pem", &url], 1).says("cannot read missing.pem");
    let other = Certificate::new();
    failed(&["--cacert", &other.file("cert.pem"), &url], 1)
        .says("the server's certificate is self-signed or from an unknown issuer")
        .says("trust it with --cacert FILE, or any certificate with --insecure");
    failed(&["--cacert", &trusted, "--sni", "example.org", &url], 1)
        .says("not for example.org but for localhost")
        .says("expect one of these names with --sni NAME");
    let (_, result) = loaded(&["-n1", "-c1", "-k", "--sni", "example.org", &url]);
    assert_eq!(outcome(&result, "ok"), 1);
    let address = format!("https://127.0.0.1:{}/hello", server.port);
    failed(&["--cacert", &trusted, &address], 1).says("but for localhost");
    let renamed = [
        "-n1",
        "-c1",
        "--cacert",
        &trusted,
        "--sni",
        "localhost",
        &address,
    ];
    assert_eq!(outcome(&loaded(&renamed).1, "ok"), 1);
}

#[test]
fn unusable_files_and_servers_without_tls_are_reported() {
    let certificate = Certificate::new();
    let plain = Ceiling::start();
    failed(&[&plain.https_url("hello")], 1)
        .says("the server does not speak TLS")
        .says("write http:// for plain HTTP");
    let url = "https://localhost:1/";
    let (cert, both) = (certificate.file("cert.pem"), certificate.file("both.pem"));
    let no_key = failed(&["--cert", &cert, url], 2);
    no_key
        .says("there is no private key in ")
        .says("give its file with --key");
    let other = Certificate::new();
    failed(&["--cert", &cert, "--key", &other.file("key.pem"), url], 1)
        .says("does not match the first certificate in");
    // The files are fine, and nothing listens there.
    failed(&["--cert", &both, url], 1).says("cannot connect to");
}

/// A server of HTTP/1.1 over TLS that does not know HTTP/2.
fn http1_server(certificate: &Certificate) -> SocketAddr {
    server_of(certificate, respond)
}

/// A server over TLS that does this with each connection.
fn server_of(certificate: &Certificate, respond: fn(Arc<ServerConfig>, TcpStream)) -> SocketAddr {
    let chain = CertificateDer::pem_file_iter(certificate.path("cert.pem")).unwrap();
    let chain = chain.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(certificate.path("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || respond(config, stream));
        }
    });
    address
}

/// Responds to every request, each of which is one short record, until the client goes away.
fn respond(config: Arc<ServerConfig>, stream: TcpStream) {
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if stream.write_all(response).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_without_http2_is_loaded_over_http1_unless_http2_is_required() {
    let certificate = Certificate::new();
    let url = format!("https://{}/", http1_server(&certificate));
    let (summary, result) = loaded(&["-n10", "-c1", "-k", &url]);
    assert!(summary.contains("  HTTP/1.1 over TLS 1.3"), "{summary}");
    assert_eq!(outcome(&result, "ok"), 10);
    failed(&["-k", "--http2", &url], 1)
        .says("the server supports none of the offered HTTP versions")
        .says("choose the version to offer with --http1.1 or --http2");
    failed(&["-k", "--streams-per-connection", "4", &url], 2)
        .says("--streams-per-connection needs HTTP/2, but the server chose HTTP/1.1");
}

/// As Go's server and nginx do, responds in plain HTTP to a connection that does not begin with a handshake.
fn respond_to_plain(config: Arc<ServerConfig>, mut stream: TcpStream) {
    const HANDSHAKE: u8 = 22;
    let mut first = [0];
    if let Ok(1) = stream.peek(&mut first)
        && first[0] == HANDSHAKE
    {
        return respond(config, stream);
    }
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let response = "HTTP/1.1 400 Bad Request\r\nContent-Length: 48\r\n\r\n\
             Client sent an HTTP request to an HTTPS server.\n";
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// Closes a connection that does not begin with a handshake, without a word.
fn close_plain(config: Arc<ServerConfig>, stream: TcpStream) {
    let mut first = [0];
    if let Ok(1) = stream.peek(&mut first)
        && first[0] != b'G'
    {
        respond(config, stream);
    }
}

const ADVICE: &str = "\n  The server speaks TLS: use https://\n";

#[test]
fn a_plain_load_of_a_server_over_tls_is_advised() {
    let certificate = Certificate::new();
    for (respond, why) in [
        (
            respond as fn(_, _),
            "First error (malformed): the server responds with a TLS alert, not with HTTP",
        ),
        (respond_to_plain, "Statuses: 400: 10\n"),
        (close_plain, "Not ok: 10 reset"),
    ] {
        let url = format!("http://{}/", server_of(&certificate, respond));
        failed(&["-n10", "-c1", &url], 1).prints(why).prints(ADVICE);
    }
    let ceiling = Ceiling::over_tls(&certificate);
    failed(&["-n10", "-c1", &ceiling.url("hello")], 1).prints(ADVICE);
}

#[test]
fn a_plain_load_that_fails_for_another_reason_is_not_advised() {
    let certificate = Certificate::new();
    for respond in [refuse as fn(_, _), drop_stream] {
        let url = format!("http://{}/", server_of(&certificate, respond));
        let ended = failed(&["-n10", "-c1", &url], 1);
        assert!(!ended.stdout.contains("TLS"), "{}", ended.stdout);
    }
}

/// Responds with 400 to everything, a handshake included.
fn refuse(_: Arc<ServerConfig>, mut stream: TcpStream) {
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let response = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
        if stream.write_all(response).is_err() {
            return;
        }
    }
}

fn drop_stream(_: Arc<ServerConfig>, _: TcpStream) {}
