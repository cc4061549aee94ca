//! Handshakes that fail, servers that break the protocol, and what Prony says of them.

use std::sync::Arc;

use prony_load::tls::{HttpVersion, Offer, TlsSettings, TlsVersion, Trust, Versions};
use prony_load::wire::h1::{Collect, H1Wire};
use prony_load::wire::tls::{Channel, Failure, FoundBy};
use prony_load::wire::{Which, Wire};
use rustls::ContentType;
use rustls::version::{TLS12, TLS13};

use super::peer::*;
use super::sealer::{HELLO_REQUEST, Sealer};

#[test]
fn an_untrusted_certificate_has_a_reason() {
    let expired = Certificate::changed(|params| {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    });
    let reason = failure(&expired.trusted(), expired.server());
    assert!(matches!(reason, Failure::CertificateExpired(Some(_))));
    assert!(reason.to_string().contains("certificate expired "));
    assert!(reason.to_string().ends_with(" days ago"), "{reason}");

    let future = Certificate::changed(|params| {
        params.not_before = rcgen::date_time_ymd(4000, 1, 1);
    });
    let reason = failure(&future.trusted(), future.server()).to_string();
    assert!(
        reason.contains("is not valid yet: it becomes valid in "),
        "{reason}"
    );

    let other = Certificate::named(&["a.test", "127.0.0.1"]);
    let reason = failure(&other.trusted(), other.server());
    assert!(reason.is_distrust());
    assert_eq!(
        reason.to_string(),
        "the server's certificate is not for localhost but for a.test, 127.0.0.1"
    );

    let (shown, trusted) = (Certificate::new(), Certificate::new());
    let reason = failure(&trusted.trusted(), shown.server());
    assert_eq!(reason, Failure::UnknownIssuer);

    let authority = Certificate::authority();
    let reason = failure(&authority.trusted(), authority.server());
    assert_eq!(reason, Failure::AuthorityAsServer);
}

#[test]
fn the_server_learns_why_its_certificate_is_refused() {
    let (shown, trusted) = (Certificate::new(), Certificate::new());
    let set = requests(b"");
    for version in [&TLS12, &TLS13] {
        let mut channel = channel(&set, &client(&trusted.trusted()));
        let mut server = Server::with(&shown, version);
        shake(&mut channel, &mut server).unwrap_err();
        // What failed goes on failing, and wants nothing more.
        assert!(channel.eat(b"", &mut Collect::default()).is_err());
        let alert = send(&mut channel, &mut server).unwrap_err();
        assert!(alert.to_string().contains("UnknownCA"), "{alert}");
        assert!(channel.unsent().is_empty());
        assert!(!channel.is_ready());
    }
}

#[test]
fn nothing_in_common_says_what() {
    let certificate = Certificate::new();
    let only = |version| Versions {
        lowest: version,
        highest: version,
    };
    let old = TlsSettings {
        versions: only(TlsVersion::Tls12),
        ..certificate.trusted()
    };
    let reason = failure(&old, certificate.server_of(&[&TLS13], None));
    assert_eq!(reason, Failure::NoCommonVersion(FoundBy::Server));
    let new = TlsSettings {
        versions: only(TlsVersion::Tls13),
        ..certificate.trusted()
    };
    let reason = failure(&new, certificate.server_of(&[&TLS12], None));
    assert!(matches!(reason, Failure::NoCommonVersion(_)), "{reason}");

    let suite = TlsSettings {
        cipher_suites: vec!["ECDHE-RSA-AES128-GCM-SHA256".into()],
        ..certificate.trusted()
    };
    let reason = failure(&suite, certificate.server_of(&[&TLS12], None));
    assert_eq!(reason, Failure::Alert("handshake_failure".into()));
    assert!(
        reason
            .to_string()
            .contains("perhaps it supports none of the offered cipher suites")
    );
}

#[test]
fn the_server_must_choose_the_http_version_of_the_wire() {
    let certificate = Certificate::new();
    let set = requests(b"");
    let shaken = |offer, speaks, alpn: &[&str]| {
        let client = certificate.trusted().client("localhost", offer).unwrap();
        let mut channel = Channel::new(H1Wire::new(set.requests(), false), &client, Some(speaks));
        channel.open();
        let mut config = certificate.server();
        config.alpn_protocols = alpn.iter().map(|&name| name.into()).collect();
        let mut server = Server::new(&Arc::new(config));
        let shaken = shake(&mut channel, &mut server).map_err(tls_failure);
        shaken.map(|()| channel.handshake().unwrap().agreement.http)
    };
    let (http1, http2) = (HttpVersion::Http1, HttpVersion::Http2);
    assert_eq!(shaken(Offer::Only(http1), http1, &[]), Ok(None));
    assert_eq!(shaken(Offer::Both, http1, &["http/1.1"]), Ok(Some(http1)));
    assert_eq!(shaken(Offer::Both, http2, &["h2"]), Ok(Some(http2)));
    let none = shaken(Offer::Only(http2), http2, &[]).unwrap_err();
    assert_eq!(
        none.to_string(),
        "the server chose no HTTP version, but HTTP/2 is required"
    );
    let other = shaken(Offer::Both, http2, &["http/1.1"]).unwrap_err();
    assert_eq!(
        other.to_string(),
        "the server chose HTTP/1.1, but HTTP/2 is required"
    );
    let nothing = shaken(Offer::Only(http2), http2, &["http/1.1"]).unwrap_err();
    assert_eq!(nothing, Failure::NoCommonHttpVersion(FoundBy::Server));
}

#[test]
fn a_missing_client_certificate_is_named() {
    let (certificate, own) = (Certificate::new(), Certificate::new());
    let old = failure(
        &certificate.trusted(),
        certificate.server_of(&[&TLS12], Some(&own)),
    );
    assert!(old.to_string().contains("client certificate"), "{old}");

    // With TLS 1.3 the client is done before the server has looked at its certificate.
    let set = requests(b"");
    let mut channel = channel(&set, &client(&certificate.trusted()));
    let config = certificate.server_of(&[&TLS13], Some(&own));
    let mut server = Server::new(&Arc::new(config));
    send(&mut channel, &mut server).unwrap();
    eat(&mut channel, &server.unsent()).unwrap();
    assert!(channel.is_ready());
    channel.request(Which::default());
    send(&mut channel, &mut server).unwrap_err();
    let new = tls_failure(eat(&mut channel, &server.unsent()).unwrap_err());
    assert_eq!(new, Failure::Alert("certificate_required".into()));
}

#[test]
fn a_server_without_tls_is_told_from_a_broken_one() {
    let set = requests(b"");
    let client = client(&any());
    let opening = |bytes: &[u8]| {
        let mut channel = channel(&set, &client);
        tls_failure(eat(&mut channel, bytes).unwrap_err())
    };
    let http = opening(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(http, Failure::NotTls { is_http: true });
    assert_eq!(
        http.to_string(),
        "the server does not speak TLS: it responds with plain HTTP"
    );
    assert_eq!(opening(b"HT"), Failure::NotTls { is_http: true });
    let settings_frame = b"\0\0\0\x04\0\0\0\0\0";
    assert_eq!(opening(settings_frame), Failure::NotTls { is_http: false });
    assert_eq!(
        opening(b"\x16\x16\x16\x16\x16\x16"),
        Failure::NotTls { is_http: false }
    );
    let too_long = opening(b"\x16\x03\x03\xff\xff");
    assert_eq!(too_long, Failure::MessageTooLong);
    let fatal = opening(b"\x15\x03\x03\0\x02\x02\x28");
    assert_eq!(fatal, Failure::Alert("handshake_failure".into()));
    let unknown = opening(b"\x15\x03\x03\0\x02\x02\xc8");
    assert_eq!(unknown, Failure::Alert("200".into()));
}

#[test]
fn a_changed_record_does_not_decrypt() {
    let certificate = Certificate::new();
    let set = requests(b"");
    for version in [&TLS12, &TLS13] {
        let mut channel = channel(&set, &client(&certificate.trusted()));
        let mut server = Server::with(&certificate, version);
        shake(&mut channel, &mut server).unwrap();
        channel.request(Which::default());
        send(&mut channel, &mut server).unwrap();
        server.send(&response(b"ok"));
        let mut bytes = server.unsent();
        *bytes.last_mut().unwrap() ^= 1;
        let reason = tls_failure(eat(&mut channel, &bytes).unwrap_err());
        assert_eq!(reason, Failure::Corrupt);
        let alert = send(&mut channel, &mut server).unwrap_err();
        assert!(alert.to_string().contains("BadRecordMac"), "{alert}");
    }
}

#[test]
fn a_handshake_message_without_end_is_cut_off() {
    let set = requests(b"");
    let client = client(&any());
    // A certificate of 16 MiB, in records of 1000 bytes and of 1.
    for piece in [1000, 1] {
        let mut channel = channel(&set, &client);
        let mut record = vec![0x16, 3, 3, 0, 4, 0x0b, 0xff, 0xff, 0xff];
        let mut fed = 0;
        let reason = loop {
            match eat(&mut channel, &record) {
                Ok(_) => fed += record.len(),
                Err(fault) => break tls_failure(fault),
            }
            assert!(fed <= 128 * 1024, "{fed} bytes are held");
            record = [
                &[0x16, 3, 3, (piece >> 8) as u8, piece as u8],
                &vec![0; piece][..],
            ]
            .concat();
        };
        assert_eq!(reason, Failure::MessageTooLong);
    }
}

#[test]
fn a_renegotiation_is_refused() {
    let certificate = Certificate::new();
    let set = requests(b"");
    let mut channel = channel(&set, &client(&Sealer::client(&certificate)));
    let mut server = Server::new(&Arc::new(Sealer::server(&certificate, &TLS12)));
    shake(&mut channel, &mut server).unwrap();
    let mut sealer = Sealer::of(server.tls);
    let mut hello_request = || sealer.seal(ContentType::Handshake, HELLO_REQUEST);
    assert_eq!(eat(&mut channel, &hello_request()).unwrap(), []);
    assert!(!channel.unsent().is_empty(), "it says no");
    let again = eat(&mut channel, &hello_request()).unwrap_err();
    assert_eq!(tls_failure(again), Failure::Renegotiation);
}

fn any() -> TlsSettings {
    TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    }
}
