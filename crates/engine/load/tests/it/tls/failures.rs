//! Handshakes that fail, servers that break the protocol, and what Prony says of them.

use std::sync::Arc;

use prony_load::tls::{Offer, TlsSettings, TlsVersion, Trust, Versions};
use prony_load::wire::Wire;
use prony_load::wire::h1::H1Wire;
use prony_load::wire::tls::{Failure, FoundBy};
use prony_testkit::contains;
use prony_traffic::{Collect, HttpVersion};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ContentType;
use rustls::version::{TLS12, TLS13};

use super::peer::*;
use super::sealer::{HELLO_REQUEST, Sealer};

#[test]
fn an_untrusted_certificate_has_a_reason() {
    let refused = |certificate: &Certificate| failure(&trusted(certificate), server(certificate));

    let expired = refused(&changed(|params| {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    }));
    assert!(matches!(expired, Failure::CertificateExpired(Some(_))));
    let expired = expired.to_string();
    contains(&expired, "certificate expired ");
    assert!(expired.ends_with(" days ago"), "{expired}");

    let future = refused(&changed(|params| {
        params.not_before = rcgen::date_time_ymd(4000, 1, 1);
    }));
    contains(
        &future.to_string(),
        "is not valid yet: it becomes valid in ",
    );

    let other = refused(&named(&["a.test", "127.0.0.1"]));
    assert!(other.is_distrust());
    let reason = "the server's certificate is not for localhost but for a.test, 127.0.0.1";
    assert_eq!(other.to_string(), reason);

    let unknown = failure(&trusted(&Certificate::new()), server(&Certificate::new()));
    assert_eq!(unknown, Failure::UnknownIssuer);

    let authority = || changed(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let of_another = failure(&trusted(&authority()), server(&authority()));
    assert_eq!(of_another, Failure::AuthorityAsServer);
}

/// Plain `openssl req -x509` writes such a certificate: of a certificate authority, without the name of a server.
#[test]
fn a_certificate_that_is_itself_trusted_is_accepted() {
    let authority = |names: &[&str], change: fn(&mut CertificateParams)| {
        Certificate::of(&KeyPair::generate().unwrap(), names, |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            change(params);
        })
    };
    for names in [&[][..], &["localhost"]] {
        let itself = authority(names, |_| {});
        Pair::new(&trusted(&itself), server(&itself))
            .shake()
            .unwrap();
    }
    // Editors of Windows begin files with a mark.
    let marked = Certificate::new();
    let text = std::fs::read_to_string(marked.path("cert.pem")).unwrap();
    std::fs::write(marked.path("marked.pem"), format!("\u{feff}{text}")).unwrap();
    let settings = TlsSettings {
        trust: Trust::File(marked.path("marked.pem")),
        ..TlsSettings::default()
    };
    Pair::new(&settings, server(&marked)).shake().unwrap();
    let other = authority(&["a.test"], |_| {});
    let refused = failure(&trusted(&other), server(&other)).to_string();
    assert_eq!(
        refused,
        "the server's certificate is not for localhost but for a.test"
    );
    let expired = authority(&[], |params| {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1)
    });
    let refused = failure(&trusted(&expired), server(&expired));
    assert!(
        matches!(refused, Failure::CertificateExpired(_)),
        "{refused}"
    );
}

#[test]
fn the_server_learns_why_its_certificate_is_refused() {
    let (shown, other) = (Certificate::new(), Certificate::new());
    for version in [&TLS12, &TLS13] {
        let mut pair = Pair::new(&trusted(&other), server_of(&shown, &[version], None));
        pair.shake().unwrap_err();
        // What failed goes on failing, and wants nothing more.
        assert!(pair.channel.eat(b"", &mut Collect::default()).is_err());
        contains(&pair.send().unwrap_err().to_string(), "UnknownCA");
        assert!(pair.channel.unsent().is_empty());
        assert!(!pair.channel.is_ready());
    }
}

#[test]
fn nothing_in_common_says_what() {
    let certificate = Certificate::new();
    let only = |version, server| {
        let versions = Versions {
            lowest: version,
            highest: version,
        };
        let settings = TlsSettings {
            versions,
            ..trusted(&certificate)
        };
        failure(&settings, server_of(&certificate, &[server], None))
    };
    let old = only(TlsVersion::Tls12, &TLS13);
    assert_eq!(old, Failure::NoCommonVersion(FoundBy::Server));
    let new = only(TlsVersion::Tls13, &TLS12);
    assert!(matches!(new, Failure::NoCommonVersion(_)), "{new}");

    let suite = TlsSettings {
        cipher_suites: vec!["ECDHE-RSA-AES128-GCM-SHA256".into()],
        ..trusted(&certificate)
    };
    let reason = failure(&suite, server_of(&certificate, &[&TLS12], None));
    assert_eq!(reason, Failure::Alert("handshake_failure".into()));
    let perhaps = "perhaps it supports none of the offered cipher suites";
    contains(&reason.to_string(), perhaps);
}

#[test]
fn the_server_must_choose_the_http_version_of_the_wire() {
    let certificate = Certificate::new();
    let shaken = |offer, speaks, alpn: &[&str]| {
        let client = trusted(&certificate).client("localhost", offer).unwrap();
        let mut config = server(&certificate);
        config.alpn_protocols = alpn.iter().map(|&name| name.into()).collect();
        let wire = H1Wire::new(request_with(b""), false);
        let mut pair = Pair::of(wire, &client, Some(speaks), config);
        let shaken = pair.shake().map_err(tls_failure);
        shaken.map(|()| pair.channel.handshake().unwrap().agreement.http)
    };
    let (http1, http2) = (HttpVersion::Http1, HttpVersion::Http2);
    assert_eq!(shaken(Offer::Only(http1), http1, &[]), Ok(None));
    assert_eq!(shaken(Offer::Both, http1, &["http/1.1"]), Ok(Some(http1)));
    assert_eq!(shaken(Offer::Both, http2, &["h2"]), Ok(Some(http2)));
    let none = shaken(Offer::Only(http2), http2, &[]).unwrap_err();
    let reason = "the server chose no HTTP version, but HTTP/2 is required";
    assert_eq!(none.to_string(), reason);
    let other = shaken(Offer::Both, http2, &["http/1.1"]).unwrap_err();
    let reason = "the server chose HTTP/1.1, but HTTP/2 is required";
    assert_eq!(other.to_string(), reason);
    let nothing = shaken(Offer::Only(http2), http2, &["http/1.1"]).unwrap_err();
    assert_eq!(nothing, Failure::NoCommonHttpVersion(FoundBy::Server));
}

#[test]
fn a_missing_client_certificate_is_named() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    let config = |version| server_of(&certificate, &[version], Some(&own));
    let old = failure(&trusted(&certificate), config(&TLS12));
    contains(&old.to_string(), "client certificate");

    // With TLS 1.3 the client is done before the server has looked at its certificate.
    let mut pair = Pair::new(&trusted(&certificate), config(&TLS13));
    pair.send().unwrap();
    pair.receive().unwrap();
    assert!(pair.channel.is_ready());
    pair.channel.request(Default::default());
    pair.send().unwrap_err();
    let new = tls_failure(pair.receive().unwrap_err());
    assert_eq!(new, Failure::Alert("certificate_required".into()));
}

#[test]
fn a_server_without_tls_is_told_from_a_broken_one() {
    let certificate = Certificate::new();
    let opening = |bytes: &[u8]| {
        let mut pair = Pair::new(&trusts_any(), server(&certificate));
        tls_failure(pair.eat(bytes).unwrap_err())
    };
    let not_tls = |is_http| Failure::NotTls { is_http };
    let alert = |name: &str| Failure::Alert(name.into());
    for (bytes, expected) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], not_tls(true)),
        (b"HT", not_tls(true)),
        // A SETTINGS frame.
        (b"\0\0\0\x04\0\0\0\0\0", not_tls(false)),
        (b"\x16\x16\x16\x16\x16\x16", not_tls(false)),
        (b"\x16\x03\x03\xff\xff", Failure::MessageTooLong),
        (b"\x15\x03\x03\0\x02\x02\x28", alert("handshake_failure")),
        (b"\x15\x03\x03\0\x02\x02\xc8", alert("200")),
    ] {
        assert_eq!(opening(bytes), expected);
    }
    let reason = "the server does not speak TLS: it responds with plain HTTP";
    assert_eq!(not_tls(true).to_string(), reason);
}

#[test]
fn a_changed_record_does_not_decrypt() {
    let certificate = Certificate::new();
    for version in [&TLS12, &TLS13] {
        let mut pair = Pair::shaken(&certificate, version);
        pair.request();
        pair.server.send(&response(b"ok"));
        let mut bytes = pair.server.unsent();
        *bytes.last_mut().unwrap() ^= 1;
        let reason = tls_failure(pair.eat(&bytes).unwrap_err());
        assert_eq!(reason, Failure::Corrupt);
        contains(&pair.send().unwrap_err().to_string(), "BadRecordMac");
    }
}

#[test]
fn a_handshake_message_without_end_is_cut_off() {
    let certificate = Certificate::new();
    // A certificate of 16 MiB, in records of 1000 bytes and of 1.
    for piece in [1000, 1] {
        let mut pair = Pair::new(&trusts_any(), server(&certificate));
        let mut record = vec![0x16, 3, 3, 0, 4, 0x0b, 0xff, 0xff, 0xff];
        let mut fed = 0;
        let reason = loop {
            match pair.eat(&record) {
                Ok(_) => fed += record.len(),
                Err(fault) => break tls_failure(fault),
            }
            assert!(fed <= 128 * 1024, "{fed} bytes are held");
            record = vec![0x16, 3, 3, (piece >> 8) as u8, piece as u8];
            record.resize(5 + piece, 0);
        };
        assert_eq!(reason, Failure::MessageTooLong);
    }
}

#[test]
fn a_renegotiation_is_refused() {
    let certificate = Certificate::new();
    let config = Sealer::server(&certificate, &TLS12);
    let mut pair = Pair::new(&Sealer::client(&certificate), config.clone());
    pair.shake().unwrap();
    pair.request();
    let server = std::mem::replace(&mut pair.server, Server::new(&Arc::new(config)));
    let mut sealer = Sealer::of(server.tls);
    let hello = sealer.seal(ContentType::Handshake, HELLO_REQUEST);
    let response = sealer.seal(ContentType::ApplicationData, &response(b"ok"));
    let again = sealer.seal(ContentType::Handshake, HELLO_REQUEST);
    assert_eq!(pair.eat(&hello).unwrap(), []);
    assert!(!pair.channel.unsent().is_empty(), "it says no");
    // The connection goes on.
    assert_eq!(pair.eat(&response).unwrap(), [(200, b"ok".to_vec())]);
    let failure = tls_failure(pair.eat(&again).unwrap_err());
    assert_eq!(failure, Failure::Renegotiation);
    let reason = "the server requested another renegotiation after Prony had refused one";
    assert_eq!(failure.to_string(), reason);
}
