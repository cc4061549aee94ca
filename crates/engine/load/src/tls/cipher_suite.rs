//! Cipher suites by name.

use prony_manifest::UnknownName;
use rustls::crypto::ring;
use rustls::{CipherSuite, SupportedCipherSuite};

use super::error::TlsError;
use super::offer::{TlsVersion, Versions};

struct Names {
    suite: CipherSuite,
    iana: &'static str,
    openssl: &'static str,
}

const fn names(suite: CipherSuite, iana: &'static str, openssl: &'static str) -> Names {
    Names {
        suite,
        iana,
        openssl,
    }
}

/// Every suite that the provider has. For those of TLS 1.3 both names are the same.
const NAMES: [Names; 9] = [
    names(
        CipherSuite::TLS13_AES_256_GCM_SHA384,
        "TLS_AES_256_GCM_SHA384",
        "TLS_AES_256_GCM_SHA384",
    ),
    names(
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_128_GCM_SHA256",
    ),
    names(
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_CHACHA20_POLY1305_SHA256",
    ),
    names(
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "ECDHE-ECDSA-AES256-GCM-SHA384",
    ),
    names(
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "ECDHE-ECDSA-AES128-GCM-SHA256",
    ),
    names(
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    ),
    names(
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "ECDHE-RSA-AES256-GCM-SHA384",
    ),
    names(
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "ECDHE-RSA-AES128-GCM-SHA256",
    ),
    names(
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "ECDHE-RSA-CHACHA20-POLY1305",
    ),
];

/// The suites of these names, in this order; all of the provider's if there are none.
pub(super) fn chosen(
    wanted: &[String],
    versions: Versions,
) -> Result<Vec<SupportedCipherSuite>, TlsError> {
    let all = ring::default_provider().cipher_suites;
    if wanted.is_empty() {
        return Ok(all);
    }
    let suites = wanted.iter().map(|name| {
        let suite = of_name(name)?;
        let supported = all.iter().find(|supported| supported.suite() == suite);
        let supported = *supported.ok_or_else(|| unknown(name))?;
        let version = version_of(supported);
        if !versions.include(version) {
            return Err(TlsError::CipherSuiteVersion {
                suite: name.clone(),
                version,
                versions,
            });
        }
        Ok(supported)
    });
    suites.collect()
}

/// The IANA names of the suites of that version of TLS, the preferred one first.
pub fn cipher_suites(version: TlsVersion) -> Vec<&'static str> {
    let all = ring::default_provider().cipher_suites.into_iter();
    let suites = all.filter(|suite| version_of(*suite) == version);
    suites.map(|suite| iana_name(suite.suite())).collect()
}

pub(crate) fn iana_name(suite: CipherSuite) -> &'static str {
    let names = NAMES.iter().find(|names| names.suite == suite);
    names.map_or("an unknown cipher suite", |names| names.iana)
}

fn of_name(name: &str) -> Result<CipherSuite, TlsError> {
    let is_meant = |known: &&Names| {
        known.iana.eq_ignore_ascii_case(name) || known.openssl.eq_ignore_ascii_case(name)
    };
    let names = NAMES.iter().find(is_meant);
    names.map(|names| names.suite).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> TlsError {
    let mut known: Vec<&str> = NAMES
        .iter()
        .flat_map(|names| [names.iana, names.openssl])
        .collect();
    known.dedup();
    UnknownName::new("cipher suite", name, known).into()
}

fn version_of(suite: SupportedCipherSuite) -> TlsVersion {
    match suite {
        SupportedCipherSuite::Tls12(_) => TlsVersion::Tls12,
        SupportedCipherSuite::Tls13(_) => TlsVersion::Tls13,
    }
}
