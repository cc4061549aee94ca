//! Loads over TLS: what is agreed on, what is measured, and what is refused.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::ServerConfig;
use serde_json::Value;

use crate::load::{Ceiling, Folder, Holds, Shows, failed, loaded, loads};
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

#[test]
fn a_load_over_tls_uses_the_version_of_http_that_the_server_prefers() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let (url, cert) = (server.https_url("hello"), certificate.file("cert.pem"));
    let (ended, result) = loaded(format!("-n50 -c2 --cacert {cert} {url}"));
    ended.shows("  HTTP/2 over TLS 1.3, TLS_ … , 1 stream per connection\n");
    ended.shows("\n  2 full TLS handshakes: p50 ");
    result.holds("target.protocol=h2 outcomes.ok=50");
    assert_eq!(handshakes(&result, "full"), 2);
    assert_eq!(handshakes(&result, "resumed"), 0);
    let (ended, result) = loaded(format!("-n50 -c2 --http1.1 --cacert {cert} {url}"));
    let ended = ended.prints("  HTTP/1.1 over TLS 1.3, TLS_");
    ended.lacks("per connection");
    result.holds("target.protocol=https/1.1 outcomes.ok=50 tls.full.count=2");
}

#[test]
fn versions_and_cipher_suites_are_those_of_the_flags() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    loads(
        &server.https_url("hello"),
        "
        -n5 -c1 -k --tls-max 1.2 | over TLS 1.2 | tls.version=1.2
        -n5 -c1 -k --tls-min 1.3 | over TLS 1.3 | tls.version=1.3
        -n5 -c1 -k --ciphers TLS_CHACHA20_POLY1305_SHA256 | over TLS 1.3 | tls.version=1.3 tls.cipher_suite=TLS_CHACHA20_POLY1305_SHA256
        -n5 -c1 -k --ciphers ECDHE-ECDSA-AES128-GCM-SHA256 | over TLS 1.2 | tls.version=1.2 tls.cipher_suite=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        -n1 -c1 -k --sni example.org | over TLS 1.3 | outcomes.ok=1
    ",
    );
}

#[test]
fn connections_resume_sessions_only_with_the_flag() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let url = server.https_url("hello");
    for version in ["--http1.1", "--http2"] {
        let flags = format!("-n20 -c1 -k --no-keepalive {version} {url}");
        let (_, result) = loaded(&flags);
        assert!(handshakes(&result, "full") >= 20, "{version}: {result}");
        assert_eq!(handshakes(&result, "resumed"), 0, "{version}");
        let (ended, result) = loaded(format!("--tls-resume {flags}"));
        ended.prints(" resumed TLS handshakes: p50 ");
        result.holds("outcomes.ok=20 tls.full.count=1");
        assert!(handshakes(&result, "resumed") >= 19, "{version}: {result}");
    }
}

#[test]
fn a_server_that_is_not_trusted_is_not_loaded() {
    let [certificate, other] = [Certificate::new(), Certificate::new()];
    let (server, plain) = (Ceiling::over_tls(&certificate), Ceiling::start());
    let [url, plain] = [&server, &plain].map(|it| it.https_url("hello"));
    let port = server.port;
    let [cert, both] = ["cert.pem", "both.pem"].map(|name| certificate.file(name));
    let [other_cert, other_key] = ["cert.pem", "key.pem"].map(|name| other.file(name));
    let untrusted = "the server's certificate is self-signed or from an unknown issuer … \
                     trust it with --cacert FILE, or any certificate with --insecure";
    let folder = Folder::new();
    folder.refuses(1, &format!("
        --cacert missing.pem {url} | cannot read missing.pem
        --cacert {other_cert} {url} | {untrusted}
        --cacert {cert} --sni example.org {url} | not for example.org but for localhost … expect one of these names with --sni NAME
        --cacert {cert} https://127.0.0.1:{port}/ | but for localhost
        {plain} | the server does not speak TLS … write http:// for plain HTTP
        --find-capacity {plain} | the server does not speak TLS … write http:// for plain HTTP
        --cert {cert} --key {other_key} {url} | does not match the first certificate in
        // The files are fine, and nothing listens there.
        --cert {both} https://localhost:1/ | cannot connect to
    "));
    let no_key = "there is no private key in … give its file with --key";
    folder.refuses(2, &format!("--cert {cert} {url} | {no_key}"));
    let renamed =
        format!("-n1 -c1 --cacert {cert} --sni localhost | Requests/sec: | outcomes.ok=1");
    loads(&format!("https://127.0.0.1:{port}/"), &renamed);
}

#[test]
fn a_server_without_http2_is_loaded_over_http1_unless_http2_is_required() {
    let certificate = Certificate::new();
    let url = format!("https://{}/", server_of(&certificate, respond));
    loads(&url, "-n10 -c1 -k | HTTP/1.1 over TLS 1.3 | outcomes.ok=10");
    failed(format!("-k --http2 {url}"))
        .says("the server supports none of the offered HTTP versions")
        .says("; use --http1.1");
    let needed = "--streams-per-connection needs HTTP/2, but the server chose HTTP/1.1";
    let streams = format!("-k --streams-per-connection 4 {url} | {needed}");
    Folder::new().refuses(2, &streams);
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
        let ended = failed(format!("-n10 -c1 {url}"));
        ended.prints(why).prints(ADVICE);
        let ended = failed(format!("--find-capacity -c1 {url}"));
        ended
            .says("no response was as expected: ")
            .says("; the server speaks TLS: use https://\n");
    }
    let ceiling = Ceiling::over_tls(&certificate);
    failed(format!("-n10 -c1 {}", ceiling.url("hello"))).prints(ADVICE);
    // A load that fails for another reason.
    for respond in [refuse as fn(_, _), drop_stream] {
        let url = format!("http://{}/", server_of(&certificate, respond));
        let ended = failed(format!("-n10 -c1 {url}"));
        ended.lacks("TLS").lacks("HTTP/2");
    }
}

fn drop_stream(_: Arc<ServerConfig>, _: TcpStream) {}

/// Why a server refuses a client without a certificate.
const WHY: &str = "alert certificate_required: it requires a client certificate";

#[test]
fn a_client_certificate_is_presented_to_a_server_that_requires_one() {
    let [certificate, client, other] = [(); 3].map(|()| Certificate::new());
    let config = tls_server::config(&certificate, Some(&client));
    let url = format!("https://{}/", serve(config, respond));
    let [cert, key, both] = ["cert.pem", "key.pem", "both.pem"].map(|name| client.file(name));
    for event_loop in ["io_uring", "epoll"] {
        let flags = format!("-c2 -k --loop {event_loop} {url}");
        for version in ["1.2", "1.3"] {
            for identity in [
                format!("--cert {cert} --key {key}"),
                format!("--cert {both}"),
            ] {
                let versions = format!("--tls-min {version} --tls-max {version}");
                let (_, result) = loaded(format!("-n10 {flags} {versions} {identity}"));
                result.holds(&format!("outcomes.ok=10 tls.version={version}"));
            }
        }
        // With TLS 1.3 the server refuses the client when the client's handshake is over.
        failed(format!("-n2 {flags}"))
            .prints("Not ok: 2 tls failure")
            .prints(WHY)
            .prints("\n  Present a client certificate with --cert FILE\n");
    }
    for flags in ["-n2 -c1 -k --tls-max 1.2", "--find-capacity -c1 -k"] {
        failed(format!("{flags} {url}"))
            .says(WHY)
            .says("; present a client certificate with --cert FILE\n");
    }
    // A certificate that is not the one is no reason to give one.
    let other = other.file("both.pem");
    failed(format!("-n2 -c1 -k --cert {other} {url}")).lacks("--cert FILE");
}
