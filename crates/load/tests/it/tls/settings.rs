//! Settings that cannot be followed.

use std::path::{Path, PathBuf};

use prony_load::tls::{HttpVersion, Identity, Offer, TlsSettings, TlsVersion, Trust, Versions};

use super::peer::Certificate;

fn error(settings: &TlsSettings) -> String {
    let offer = Offer::Only(HttpVersion::Http1);
    let result = settings.client("localhost", offer);
    result.unwrap_err().to_string()
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn an_unusable_file_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::new();
    let key = std::fs::read_to_string(certificate.identity().key).unwrap();
    let trusted = |name: &str, text: &str| {
        let settings = TlsSettings {
            trust: Trust::File(file(folder.path(), name, text)),
            ..TlsSettings::default()
        };
        let error = error(&settings);
        assert!(error.contains(name), "{error}");
        error
    };
    assert!(trusted("a.pem", "hello\n").contains("is not a PEM file"));
    assert!(trusted("b.pem", &key).contains("there is no certificate in"));
    let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    let cut = trusted("c.pem", cut);
    assert!(
        cut.contains("the line `-----END CERTIFICATE-----` is missing"),
        "{cut}"
    );
    let invalid = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(trusted("d.pem", invalid).contains("is invalid"));
    let long = "x".repeat(9 << 20);
    assert!(trusted("e.pem", &long).contains("longer than 8 MiB"));
    let missing = TlsSettings {
        trust: Trust::File("missing.pem".into()),
        ..TlsSettings::default()
    };
    assert!(error(&missing).contains("cannot read missing.pem: No such file"));
}

#[test]
fn a_client_certificate_needs_its_own_key() {
    let (first, second) = (Certificate::new().identity(), Certificate::new());
    // The folder of the first one is gone.
    let with = |certificates: &Path, key: &Path| TlsSettings {
        identity: Some(Identity {
            certificates: certificates.into(),
            key: key.into(),
        }),
        ..second.trusted()
    };
    let second = second.identity();
    assert!(error(&with(&first.certificates, &second.key)).contains("cannot read"));
    let third = Certificate::new();
    let mismatch = error(&with(&second.certificates, &third.identity().key));
    assert!(mismatch.contains("does not match the first certificate in"));
    let no_key = error(&with(&second.certificates, &second.certificates));
    assert!(no_key.contains("there is no private key in"), "{no_key}");
}

#[test]
fn cipher_suites_have_two_names_and_a_version() {
    let with = |suites: &[&str], lowest, highest| TlsSettings {
        cipher_suites: suites.iter().map(|&name| name.into()).collect(),
        versions: Versions { lowest, highest },
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let (tls12, tls13) = (TlsVersion::Tls12, TlsVersion::Tls13);
    let both = [
        "ecdhe-rsa-aes128-gcm-sha256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ];
    let offer = Offer::Both;
    assert!(with(&both, tls12, tls13).client("a", offer).is_ok());
    let misspelt = error(&with(&["TLS_AES_128_GCM_SHA265"], tls12, tls13));
    assert_eq!(
        misspelt,
        "there is no cipher suite `TLS_AES_128_GCM_SHA265`; did you mean `TLS_AES_128_GCM_SHA256`?"
    );
    let too_new = error(&with(&["TLS_AES_128_GCM_SHA256"], tls12, tls12));
    assert!(too_new.contains("needs TLS 1.3, but the lowest version is 1.2 and the highest 1.2"));
    let too_old = error(&with(&both, tls13, tls13));
    assert!(too_old.contains("needs TLS 1.2"), "{too_old}");
    let none = error(&with(&[], tls13, tls12));
    assert!(none.contains("the lowest TLS version, 1.3, is above the highest, 1.2"));
}

#[test]
fn versions_and_names_are_checked() {
    assert_eq!("1.3".parse::<TlsVersion>().unwrap(), TlsVersion::Tls13);
    let old = "1.1".parse::<TlsVersion>().unwrap_err().to_string();
    assert!(old.contains("`1.1` is not a TLS version that Prony supports"));
    let name = TlsSettings {
        server_name: Some("a b".into()),
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    assert!(error(&name).contains("`a b` is neither a host name nor an IP address"));
}

#[test]
fn the_machine_has_root_certificates_or_says_so() {
    let offer = Offer::Only(HttpVersion::Http1);
    match TlsSettings::default().client("localhost", offer) {
        Ok(_) => {}
        Err(error) => assert!(error.to_string().contains("no root certificates")),
    }
}
