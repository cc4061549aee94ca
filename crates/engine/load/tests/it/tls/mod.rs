//! TLS: around HTTP/1.1 against a server of rustls in memory, bytes alone; and in loads over sockets.

mod closing;
mod failures;
mod loads;
mod peer;
mod records;
mod sealer;
mod settings;
mod stalls;

use std::sync::Arc;

use peer::*;
use prony_load::tls::TlsSettings;
use prony_load::wire::Wire;
use prony_load::wire::h1::H1Wire;
use prony_load::wire::tls::{Agreement, Channel};
use prony_testkit::table::rows;
use prony_traffic::HttpVersion;
use rcgen::KeyPair;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::version::{TLS12, TLS13};

/// Those of ring, with the key that a certificate needs for them.
const SUITES: &str = "
    TLS_AES_256_GCM_SHA384 | 1.3 | any
    TLS_AES_128_GCM_SHA256 | 1.3 | any
    TLS_CHACHA20_POLY1305_SHA256 | 1.3 | RSA
    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 | 1.2 | ECDSA
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 | 1.2 | ECDSA
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 | 1.2 | ECDSA
    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 | 1.2 | RSA
    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 | 1.2 | RSA
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 | 1.2 | RSA
";

#[test]
fn every_cipher_suite_carries_requests_and_responses() {
    // ring cannot generate a key for RSA.
    let key = KeyPair::from_pem(include_str!("rsa_key.pem")).unwrap();
    let rsa = Certificate::of(&key, &["localhost"], |_| {});
    let ecdsa = Certificate::new();
    for [cipher_suite, version, key] in rows(SUITES) {
        let certificate = if key == "RSA" { &rsa } else { &ecdsa };
        let settings = TlsSettings {
            cipher_suites: vec![cipher_suite.into()],
            ..trusted(certificate)
        };
        let mut pair = Pair::requesting(b"hello", &settings, server(certificate));
        pair.shake().unwrap();
        let agreement = Agreement {
            version: version.parse().unwrap(),
            cipher_suite,
            http: Some(HttpVersion::Http1),
        };
        assert_eq!(pair.channel.handshake().unwrap().agreement, agreement);
        for length in [0, 1, 100, 40_000] {
            pair.exchange(&vec![b'x'; length]);
        }
    }
}

#[test]
fn any_certificate_will_do_if_the_settings_say_so() {
    let certificate = changed(|params| params.not_after = rcgen::date_time_ymd(2000, 1, 1));
    for version in [&TLS12, &TLS13] {
        let mut pair = Pair::new(&trusts_any(), server_of(&certificate, &[version], None));
        pair.shake().unwrap();
        pair.exchange(b"ok");
    }
}

#[test]
fn a_client_certificate_is_shown() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    let shown = CertificateDer::from_pem_file(own.path("cert.pem")).unwrap();
    let settings = TlsSettings {
        identity: Some(identity(&own)),
        ..trusted(&certificate)
    };
    for version in [&TLS12, &TLS13] {
        let config = server_of(&certificate, &[version], Some(&own));
        let mut pair = Pair::new(&settings, config);
        pair.shake().unwrap();
        let seen = pair.server.tls.peer_certificates();
        assert_eq!(seen, Some(std::slice::from_ref(&shown)));
        pair.exchange(b"ok");
    }
}

#[test]
fn the_next_connection_resumes_the_session_only_if_the_settings_say_so() {
    let certificate = Certificate::new();
    let versions = [&TLS12, &TLS13].into_iter();
    for (version, resumes) in versions.flat_map(|version| [(version, true), (version, false)]) {
        let settings = TlsSettings {
            resumes,
            ..trusted(&certificate)
        };
        let client = client(&settings);
        let config = Arc::new(server_of(&certificate, &[version], None));
        let mut pairs = [(); 2].map(|()| {
            let wire = H1Wire::new(request_with(b""), false);
            let channel = Channel::new(wire, &client, Some(HttpVersion::Http1));
            let server = Server::new(&config);
            Pair { channel, server }
        });
        for round in 0..4 {
            for pair in &mut pairs {
                pair.channel.open();
                pair.server = Server::new(&config);
                pair.shake().unwrap();
                let resumed = pair.channel.handshake().unwrap().resumed;
                assert_eq!(resumed, resumes && round > 0, "{version:?} {round}");
                pair.exchange(b"ok");
            }
        }
    }
}

#[test]
fn a_resumed_session_carries_no_early_data() {
    let certificate = Certificate::new();
    let settings = TlsSettings {
        resumes: true,
        ..trusted(&certificate)
    };
    let mut config = server_of(&certificate, &[&TLS13], None);
    config.max_early_data_size = 1 << 14;
    let mut pair = Pair::new(&settings, config.clone());
    let config = Arc::new(config);
    for resumes in [false, true] {
        pair.channel.open();
        pair.server = Server::new(&config);
        assert!(pair.send().unwrap() > 0, "a ClientHello");
        assert!(pair.server.tls.early_data().is_none());
        pair.shake().unwrap();
        assert_eq!(pair.channel.handshake().unwrap().resumed, resumes);
        assert!(pair.server.tls.early_data().is_none());
        pair.exchange(b"ok");
    }
}

#[test]
fn another_name_is_sent_and_looked_for() {
    let certificate = named(&["a.test"]);
    let settings = TlsSettings {
        server_name: Some("a.test".into()),
        ..trusted(&certificate)
    };
    let mut pair = Pair::new(&settings, server(&certificate));
    pair.shake().unwrap();
    assert_eq!(pair.server.tls.server_name(), Some("a.test"));
}
