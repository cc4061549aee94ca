//! Settings that cannot be followed.

use std::path::Path;

use prony_load::tls::{Identity, Offer, TlsSettings, TlsVersion, Trust, Versions};
use prony_testkit::contains;
use prony_testkit::table::rows;
use prony_traffic::HttpVersion;

use super::peer::{Certificate, identity, trusts_any};

fn error(settings: &TlsSettings) -> String {
    let offer = Offer::Only(HttpVersion::Http1);
    let result = settings.client("localhost", offer);
    result.unwrap_err().to_string()
}

#[test]
fn an_unusable_file_is_named_with_the_reason() {
    let certificate = Certificate::new();
    let key = std::fs::read_to_string(certificate.path("key.pem")).unwrap();
    for [text, reason] in rows(
        r"
            hello\n | is not a PEM file
            KEY | there is no certificate in
            -----BEGIN CERTIFICATE-----\nAAAA\n | the line `-----END CERTIFICATE-----` is missing
            -----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n | is invalid
            LONG | longer than 8 MiB
            MISSING | cannot read
        ",
    ) {
        let file = certificate.path(&format!("{}.pem", text.len()));
        let text = text
            .replace("KEY", &key)
            .replace("LONG", &"x".repeat(9 << 20));
        if text != "MISSING" {
            std::fs::write(&file, text).unwrap();
        }
        let name = file.to_str().unwrap().to_owned();
        let settings = TlsSettings {
            trust: Trust::File(file),
            ..TlsSettings::default()
        };
        let error = error(&settings);
        contains(&error, reason);
        contains(&error, &name);
    }
}

#[test]
fn a_client_certificate_needs_its_own_key() {
    let (own, other) = (Certificate::new(), Certificate::new());
    let [own, other] = [&own, &other].map(identity);
    let missing = Path::new("missing.pem");
    let refused = |certificates: &Path, key: &Path, reason| {
        let settings = TlsSettings {
            identity: Some(Identity {
                certificates: certificates.into(),
                key: key.into(),
            }),
            ..trusts_any()
        };
        contains(&error(&settings), reason);
    };
    refused(missing, &own.key, "cannot read missing.pem: No such file");
    let mismatch = "does not match the first certificate in";
    refused(&own.certificates, &other.key, mismatch);
    let no_key = "there is no private key in";
    refused(&own.certificates, &own.certificates, no_key);
}

#[test]
fn cipher_suites_have_two_names_and_a_version() {
    let with = |suites: &[&str], lowest, highest| TlsSettings {
        cipher_suites: suites.iter().map(|&name| name.into()).collect(),
        versions: Versions { lowest, highest },
        ..trusts_any()
    };
    let (tls12, tls13) = (TlsVersion::Tls12, TlsVersion::Tls13);
    let both = &[
        "ecdhe-rsa-aes128-gcm-sha256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ];
    assert!(with(both, tls12, tls13).client("a", Offer::Both).is_ok());
    let misspelt = error(&with(&["TLS_AES_128_GCM_SHA265"], tls12, tls13));
    assert_eq!(
        misspelt,
        "there is no cipher suite `TLS_AES_128_GCM_SHA265`; did you mean `TLS_AES_128_GCM_SHA256`?"
    );
    let too_new = error(&with(&["TLS_AES_128_GCM_SHA256"], tls12, tls12));
    contains(
        &too_new,
        "needs TLS 1.3, but the lowest version is 1.2 and the highest 1.2",
    );
    contains(&error(&with(both, tls13, tls13)), "needs TLS 1.2");
    let none = error(&with(&[], tls13, tls12));
    contains(
        &none,
        "the lowest TLS version, 1.3, is above the highest, 1.2",
    );
}

#[test]
fn versions_and_names_are_checked() {
    assert_eq!("1.3".parse::<TlsVersion>().unwrap(), TlsVersion::Tls13);
    let old = "1.1".parse::<TlsVersion>().unwrap_err().to_string();
    contains(&old, "`1.1` is not a TLS version that Prony supports");
    let name = TlsSettings {
        server_name: Some("a b".into()),
        ..trusts_any()
    };
    contains(
        &error(&name),
        "`a b` is neither a host name nor an IP address",
    );
}

#[test]
fn the_machine_has_root_certificates_or_says_so() {
    let offer = Offer::Only(HttpVersion::Http1);
    if let Err(error) = TlsSettings::default().client("localhost", offer) {
        contains(&error.to_string(), "no root certificates");
    }
}
