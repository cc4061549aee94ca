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
use prony_load::tls::{HttpVersion, TlsSettings, TlsVersion, Trust, Versions};
use prony_load::wire::Wire;
use prony_load::wire::tls::Agreement;
use rustls::version::{TLS12, TLS13};

const SUITES: [(&str, TlsVersion, bool); 9] = [
    ("TLS_AES_256_GCM_SHA384", TlsVersion::Tls13, false),
    ("TLS_AES_128_GCM_SHA256", TlsVersion::Tls13, false),
    ("TLS_CHACHA20_POLY1305_SHA256", TlsVersion::Tls13, true),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        TlsVersion::Tls12,
        false,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        TlsVersion::Tls12,
        false,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        TlsVersion::Tls12,
        false,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        TlsVersion::Tls12,
        true,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        TlsVersion::Tls12,
        true,
    ),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        TlsVersion::Tls12,
        true,
    ),
];

#[test]
fn every_cipher_suite_carries_requests_and_responses() {
    let (ecdsa, rsa) = (Certificate::new(), Certificate::rsa());
    let set = requests(b"hello");
    for (suite, version, is_rsa) in SUITES {
        let certificate = if is_rsa { &rsa } else { &ecdsa };
        let settings = TlsSettings {
            cipher_suites: vec![suite.into()],
            ..certificate.trusted()
        };
        let mut channel = channel(&set, &client(&settings));
        let mut server = Server::new(&Arc::new(certificate.server()));
        shake(&mut channel, &mut server).unwrap();
        let agreement = Agreement {
            version,
            cipher_suite: suite,
            http: Some(HttpVersion::Http1),
        };
        assert_eq!(channel.handshake().unwrap().agreement, agreement);
        for length in [0, 1, 100, 40_000] {
            exchange(&mut channel, &mut server, &vec![b'x'; length]);
        }
    }
}

#[test]
fn the_versions_are_those_of_the_settings() {
    let certificate = Certificate::new();
    let set = requests(b"");
    for only in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let settings = TlsSettings {
            versions: Versions {
                lowest: only,
                highest: only,
            },
            ..certificate.trusted()
        };
        let mut channel = channel(&set, &client(&settings));
        let mut server = Server::new(&Arc::new(certificate.server()));
        shake(&mut channel, &mut server).unwrap();
        assert_eq!(channel.handshake().unwrap().agreement.version, only);
    }
}

#[test]
fn any_certificate_will_do_if_the_settings_say_so() {
    let certificate = Certificate::changed(|params| {
        params.not_after = rcgen::date_time_ymd(2000, 1, 1);
    });
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let set = requests(b"");
    for version in [&TLS12, &TLS13] {
        let mut channel = channel(&set, &client(&settings));
        let mut server = Server::with(&certificate, version);
        shake(&mut channel, &mut server).unwrap();
        exchange(&mut channel, &mut server, b"ok");
    }
}

#[test]
fn a_client_certificate_is_shown() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    let settings = TlsSettings {
        identity: Some(own.identity()),
        ..certificate.trusted()
    };
    let set = requests(b"");
    for version in [&TLS12, &TLS13] {
        let mut channel = channel(&set, &client(&settings));
        let config = certificate.server_of(&[version], Some(&own));
        let mut server = Server::new(&Arc::new(config));
        shake(&mut channel, &mut server).unwrap();
        assert_eq!(
            server.tls.peer_certificates(),
            Some(std::slice::from_ref(&own.der))
        );
        exchange(&mut channel, &mut server, b"ok");
    }
}

#[test]
fn the_next_connection_resumes_the_session_only_if_the_settings_say_so() {
    let certificate = Certificate::new();
    let set = requests(b"");
    for (version, resumes) in [
        (&TLS12, true),
        (&TLS13, true),
        (&TLS12, false),
        (&TLS13, false),
    ] {
        let settings = TlsSettings {
            resumes,
            ..certificate.trusted()
        };
        let client = client(&settings);
        let config = Arc::new(certificate.server_of(&[version], None));
        let (mut first, mut second) = (channel(&set, &client), channel(&set, &client));
        for round in 0..4 {
            for channel in [&mut first, &mut second] {
                channel.open();
                let mut server = Server::new(&config);
                shake(channel, &mut server).unwrap();
                let resumed = channel.handshake().unwrap().resumed;
                assert_eq!(resumed, resumes && round > 0, "{version:?} {round}");
                exchange(channel, &mut server, b"ok");
            }
        }
    }
}

#[test]
fn a_resumed_session_carries_no_early_data() {
    let certificate = Certificate::new();
    let settings = TlsSettings {
        resumes: true,
        ..certificate.trusted()
    };
    let set = requests(b"");
    let mut config = certificate.server_of(&[&TLS13], None);
    config.max_early_data_size = 1 << 14;
    let config = Arc::new(config);
    let mut channel = channel(&set, &client(&settings));
    for resumes in [false, true] {
        channel.open();
        let mut server = Server::new(&config);
        let sent = send(&mut channel, &mut server).unwrap();
        assert!(sent > 0, "a ClientHello");
        assert!(server.tls.early_data().is_none(), "resumes: {resumes}");
        shake(&mut channel, &mut server).unwrap();
        assert_eq!(channel.handshake().unwrap().resumed, resumes);
        assert!(server.tls.early_data().is_none(), "resumes: {resumes}");
        exchange(&mut channel, &mut server, b"ok");
    }
}

#[test]
fn another_name_is_sent_and_looked_for() {
    let certificate = Certificate::named(&["a.test"]);
    let settings = TlsSettings {
        server_name: Some("a.test".into()),
        ..certificate.trusted()
    };
    let set = requests(b"");
    let mut channel = channel(&set, &client(&settings));
    let mut server = Server::new(&Arc::new(certificate.server()));
    shake(&mut channel, &mut server).unwrap();
    assert_eq!(server.tls.server_name(), Some("a.test"));
}
