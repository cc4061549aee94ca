//! Loads over TLS: what is agreed on, what is measured, and what is refused.

use prony_testkit::contains;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::ServerConfig;
use serde_json::Value;

use crate::common::{Ended, run};
use crate::load::{Ceiling, load, loaded, outcome};
use prony_testkit::certificate::Certificate;
use prony_testkit::tls_server::{
    self, close_plain, refuse, respond, respond_to_plain, serve, server_of,
};

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
    contains(&summary, "  2 full TLS handshakes: p50 ");
    assert_eq!(result["target"]["protocol"], "h2");
    assert_eq!(
        (outcome(&result, "ok"), handshakes(&result, "full")),
        (50, 2)
    );
    assert_eq!(handshakes(&result, "resumed"), 0);

    let (summary, result) = loaded(&[&["--http1.1"], &flags[..]].concat());
    contains(&summary, "  HTTP/1.1 over TLS 1.3, TLS_");
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
        contains(&summary, " resumed TLS handshakes: p50 ");
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

#[test]
fn a_server_without_http2_is_loaded_over_http1_unless_http2_is_required() {
    let certificate = Certificate::new();
    let url = format!("https://{}/", http1_server(&certificate));
    let (summary, result) = loaded(&["-n10", "-c1", "-k", &url]);
    assert!(summary.contains("  HTTP/1.1 over TLS 1.3"), "{summary}");
    assert_eq!(outcome(&result, "ok"), 10);
    failed(&["-k", "--http2", &url], 1)
        .says("the server supports none of the offered HTTP versions")
        .says("; use --http1.1");
    failed(&["-k", "--streams-per-connection", "4", &url], 2)
        .says("--streams-per-connection needs HTTP/2, but the server chose HTTP/1.1");
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
fn a_search_for_the_capacity_of_a_server_with_another_scheme_is_advised() {
    let certificate = Certificate::new();
    for respond in [respond as fn(_, _), respond_to_plain, close_plain] {
        let url = format!("http://{}/", server_of(&certificate, respond));
        failed(&["--find-capacity", "-c1", &url], 1)
            .says("no response was as expected: ")
            .says("; the server speaks TLS: use https://\n");
    }
    let plain = Ceiling::start();
    failed(&["--find-capacity", &plain.https_url("hello")], 1)
        .says("the server does not speak TLS")
        .says("write http:// for plain HTTP");
}

#[test]
fn a_client_certificate_is_presented_to_a_server_that_requires_one() {
    let (certificate, client) = (Certificate::new(), Certificate::new());
    let config = tls_server::config(&certificate, Some(&client));
    let url = format!("https://{}/", serve(config, respond));
    let files = ["cert.pem", "key.pem", "both.pem"].map(|name| client.file(name));
    let [cert, key, both] = files.each_ref().map(String::as_str);
    for event_loop in ["io_uring", "epoll"] {
        for version in ["1.2", "1.3"] {
            for identity in [&["--cert", cert, "--key", key][..], &["--cert", both]] {
                let flags = ["-n10", "-c2", "-k", "--loop", event_loop, &url];
                let versions = ["--tls-min", version, "--tls-max", version];
                let (_, result) = loaded(&[&flags[..], &versions, identity].concat());
                assert_eq!(outcome(&result, "ok"), 10);
                assert_eq!(result["tls"]["version"], version);
            }
        }
    }
}

/// With TLS 1.3 the server refuses the client when the client's handshake is over.
#[test]
fn a_client_without_the_certificate_that_a_server_requires_is_advised() {
    let (certificate, client) = (Certificate::new(), Certificate::new());
    let config = tls_server::config(&certificate, Some(&client));
    let url = format!("https://{}/", serve(config, respond));
    let why = "alert certificate_required: it requires a client certificate";
    failed(&["-n2", "-c1", "-k", "--tls-max", "1.2", &url], 1)
        .says(why)
        .says("; present a client certificate with --cert FILE\n");
    for event_loop in ["io_uring", "epoll"] {
        failed(&["-n2", "-c1", "-k", "--loop", event_loop, &url], 1)
            .prints("Not ok: 2 tls failure")
            .prints(why)
            .prints("\n  Present a client certificate with --cert FILE\n");
    }
    failed(&["--find-capacity", "-c1", "-k", &url], 1)
        .says(why)
        .says("; present a client certificate with --cert FILE\n");
    // A certificate that is not the one is no reason to give one.
    let other = Certificate::new().file("both.pem");
    let refused = failed(&["-n2", "-c1", "-k", "--cert", &other, &url], 1);
    assert!(!refused.all().contains("--cert FILE"), "{}", refused.all());
}

#[test]
fn a_plain_load_that_fails_for_another_reason_is_not_advised() {
    let certificate = Certificate::new();
    for respond in [refuse as fn(_, _), drop_stream] {
        let url = format!("http://{}/", server_of(&certificate, respond));
        let ended = failed(&["-n10", "-c1", &url], 1);
        for word in ["TLS", "HTTP/2"] {
            assert!(!ended.stdout.contains(word), "{}", ended.stdout);
        }
    }
}

fn drop_stream(_: Arc<ServerConfig>, _: TcpStream) {}
