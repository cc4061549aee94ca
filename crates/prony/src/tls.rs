//! The flags of TLS, and what to do if a connection over TLS fails.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use prony_load::tls::{
    Identity, Offer, TlsClient, TlsError, TlsSettings, TlsVersion, Trust, Versions, cipher_suites,
};
use prony_load::wire::Fault;
use prony_load::wire::tls::{ClientCertificate, Failure};
use prony_load::{Endpoint, ExchangeError, negotiate};
use prony_traffic::{HttpUrl, HttpVersion, Scheme};

use crate::arguments;
use crate::exit::usage;

#[derive(Args, Clone)]
#[command(next_help_heading = "TLS (https:// URLs)")]
pub(crate) struct TlsFlags {
    /// Accept any server certificate without verifying it
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    insecure: bool,
    /// Trust the certificates in this PEM file instead of the machine's root certificates
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Present the client certificate in this PEM file if the server requests one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    cert: Option<PathBuf>,
    /// Use the private key in this PEM file for --cert [default: the one in the file of --cert]
    #[arg(long, value_name = "FILE", requires = "cert", hide_short_help = true)]
    key: Option<PathBuf>,
    /// Set the lowest version of TLS to offer: 1.2 or 1.3 [default: 1.2]
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    tls_min: Option<TlsVersion>,
    /// Set the highest version of TLS to offer: 1.2 or 1.3 [default: 1.3]
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    tls_max: Option<TlsVersion>,
    /// Offer only these cipher suites, the preferred one first, separated by commas
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        hide_short_help = true,
        long_help = ciphers_help()
    )]
    ciphers: Vec<String>,
    /// Send this server name, and expect it in the certificate, instead of the URL's host
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    sni: Option<String>,
    /// Let a new connection resume the TLS session of the one that it replaces [default: full
    /// handshakes]
    #[arg(long, hide_short_help = true)]
    tls_resume: bool,
}

fn ciphers_help() -> String {
    let [newer, older] =
        [TlsVersion::Tls13, TlsVersion::Tls12].map(|version| cipher_suites(version).join(", "));
    format!(
        "Offer only these cipher suites, the preferred one first, separated by commas, by their IANA or OpenSSL \
         names. TLS 1.3: {newer}. TLS 1.2: {older}"
    )
}

impl TlsFlags {
    /// How connections to that server are encrypted: as these flags say, or else as the project does; `None` if its URL
    /// is of plain HTTP. Requests may trust any certificate, which means nothing without TLS.
    pub(crate) fn of(
        &self,
        server: &HttpUrl,
        of_project: Option<&TlsSettings>,
        is_insecure: bool,
    ) -> Result<Option<TlsSettings>, String> {
        let is_insecure = is_insecure && self.cacert.is_none();
        match (server.scheme(), self.first_given(), of_project) {
            (Scheme::Http, None, _) => Ok(None),
            (Scheme::Http, Some(flag), _) => Err(format!(
                "{flag} needs TLS, but `{}` is an http:// URL; write https://, or leave out {flag}",
                server.as_str()
            )),
            (Scheme::Https, None, Some(settings)) if !is_insecure => Ok(Some(settings.clone())),
            (Scheme::Https, ..) => Ok(Some(self.settings(is_insecure))),
        }
    }

    fn first_given(&self) -> Option<&'static str> {
        arguments::first_given([
            ("--insecure", self.insecure),
            ("--cacert", self.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--tls-min", self.tls_min.is_some()),
            ("--tls-max", self.tls_max.is_some()),
            ("--ciphers", !self.ciphers.is_empty()),
            ("--sni", self.sni.is_some()),
            ("--tls-resume", self.tls_resume),
        ])
    }

    fn settings(&self, is_insecure: bool) -> TlsSettings {
        let all = Versions::default();
        TlsSettings {
            trust: match &self.cacert {
                _ if self.insecure || is_insecure => Trust::Any,
                Some(file) => Trust::File(file.clone()),
                None => Trust::Roots,
            },
            identity: self.cert.as_ref().map(|file| Identity {
                certificates: file.clone(),
                key: self.key.as_ref().unwrap_or(file).clone(),
            }),
            versions: Versions {
                lowest: self.tls_min.unwrap_or(all.lowest),
                highest: self.tls_max.unwrap_or(all.highest),
            },
            cipher_suites: self.ciphers.clone(),
            server_name: self.sni.clone(),
            resumes: self.tls_resume,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Tls {
    settings: TlsSettings,
    host: String,
    pub(crate) client: TlsClient,
    pub(crate) offered: Offered,
}

impl Tls {
    /// Reads the files, and offers these versions of HTTP to a host.
    pub(crate) fn new(
        settings: TlsSettings,
        host: &str,
        http: Offer,
        is_grpc: bool,
    ) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            client: client(&settings, host, http)?,
            offered: Offered {
                http,
                is_grpc,
                has_certificate: settings.identity.is_some(),
            },
            host: host.to_owned(),
            settings,
        })
    }

    /// Lets the server choose the version of HTTP. That connection also shows whether the server is trusted.
    pub(crate) fn negotiate(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
    ) -> Result<(TlsClient, HttpVersion), Box<dyn Error>> {
        let chosen = negotiate(endpoint, &self.client, timeout);
        let http = chosen.map_err(|error| self.offered.explain(error))?;
        match self.offered.http {
            Offer::Only(HttpVersion::Http2) if http != HttpVersion::Http2 => {
                Err(self.offered.no_http2())
            }
            Offer::Only(version) => Ok((self.client.clone(), version)),
            Offer::Both => {
                let client = client(&self.settings, &self.host, Offer::Only(http))?;
                Ok((client, http))
            }
        }
    }
}

fn client(settings: &TlsSettings, host: &str, http: Offer) -> Result<TlsClient, Box<dyn Error>> {
    settings.client(host, http).map_err(|error| match error {
        TlsError::NoKey { .. } if key_is_with_certificate(settings) => {
            usage(format!("{error}; give its file with --key"))
        }
        TlsError::NoRoots { .. } => {
            format!("{error}; trust the server's with --cacert FILE, or any with --insecure").into()
        }
        TlsError::NoVersion(_)
        | TlsError::UnknownCipherSuite(_)
        | TlsError::CipherSuiteVersion { .. }
        | TlsError::ServerName(_) => usage(error),
        error => error.into(),
    })
}

fn key_is_with_certificate(settings: &TlsSettings) -> bool {
    let identity = settings.identity.as_ref();
    identity.is_some_and(|identity| identity.key == identity.certificates)
}

/// What helps if the URL of a server that speaks TLS is of plain HTTP.
pub(crate) const SPEAKS_TLS: &str = "the server speaks TLS: use https://";

/// What a connection over TLS offered to a server that refused it, so that nobody is told to do what they did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offered {
    pub(crate) http: Offer,
    /// Whether the requests are gRPC calls, which need HTTP/2.
    pub(crate) is_grpc: bool,
    /// Whether there is a certificate to present if the server requests one.
    pub(crate) has_certificate: bool,
}

impl Offered {
    /// An error of an exchange, and which flag helps if TLS is its reason.
    pub(crate) fn explain(self, error: ExchangeError) -> Box<dyn Error> {
        let advice = match &error {
            ExchangeError::Fault(Fault::Tls(Failure::OtherHttpVersion {
                speaks: HttpVersion::Http2,
                ..
            })) => return self.no_http2(),
            ExchangeError::Fault(Fault::Tls(failure)) => self.advice(failure),
            _ => None,
        };
        match advice {
            Some(advice) => format!("{error}; {advice}").into(),
            None => error.into(),
        }
    }

    /// The server chose another version of HTTP than HTTP/2, or none.
    pub(crate) fn no_http2(self) -> Box<dyn Error> {
        let advice = self.http_advice().unwrap_or("use --http1.1");
        format!("the server did not choose HTTP/2 in the TLS handshake (ALPN); {advice}").into()
    }

    fn advice(self, failure: &Failure) -> Option<&'static str> {
        Some(match failure {
            Failure::UnknownIssuer | Failure::AuthorityAsServer => {
                "trust it with --cacert FILE, or any certificate with --insecure"
            }
            Failure::WrongName { .. } => {
                "expect one of these names with --sni NAME, or accept any certificate with --insecure"
            }
            Failure::CertificateExpired(_)
            | Failure::CertificateNotYetValid(_)
            | Failure::InvalidCertificate(_) => "accept any certificate with --insecure",
            Failure::NotTls { .. } => "write http:// for plain HTTP",
            Failure::NoCommonVersion(_) => {
                "choose the versions to offer with --tls-min and --tls-max"
            }
            Failure::NoCommonCipherSuite(_) => "choose the cipher suites to offer with --ciphers",
            Failure::NoCommonHttpVersion(_) | Failure::OtherHttpVersion { .. } => {
                return self.http_advice();
            }
            failure => return self.certificate_advice(failure.without_certificate()),
        })
    }

    fn http_advice(self) -> Option<&'static str> {
        match self.http {
            _ if self.is_grpc => Some("gRPC needs HTTP/2"),
            Offer::Only(HttpVersion::Http1) => Some("use --http2"),
            Offer::Only(HttpVersion::Http2) => Some("use --http1.1"),
            Offer::Both => None,
        }
    }

    /// What helps if the server got no certificate and may require one.
    fn certificate_advice(self, needs: Option<ClientCertificate>) -> Option<&'static str> {
        match needs.filter(|_| !self.has_certificate)? {
            ClientCertificate::Required => Some("present a client certificate with --cert FILE"),
            ClientCertificate::PerhapsRequired => {
                Some("if it requires a client certificate, present one with --cert FILE")
            }
        }
    }

    /// The same for a load whose requests failed for the reason in this text.
    pub(crate) fn certificate_advice_on(self, reason: &str) -> Option<&'static str> {
        self.certificate_advice(Failure::without_certificate_in(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use prony_load::wire::tls::FoundBy;
    use prony_testkit::table::rows;
    use prony_testkit::{contains, starts_with};

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        tls: TlsFlags,
    }

    fn flags(words: &[&str]) -> TlsFlags {
        Flags::parse_from([&["test"], words].concat()).tls
    }

    #[test]
    fn each_flag_needs_https() {
        let plain: HttpUrl = "http://localhost/".parse().unwrap();
        assert!(flags(&[]).of(&plain, None, true).unwrap().is_none());
        let all = "--insecure; --cacert a; --cert a --key b; --tls-min 1.3; --tls-max 1.2; --ciphers a,b; --sni a; --tls-resume";
        for words in all.split("; ") {
            let words: Vec<&str> = words.split(' ').collect();
            let error = flags(&words).of(&plain, None, false).err().unwrap();
            starts_with(&error, &format!("{} needs TLS", words[0]));
        }
    }

    #[test]
    fn every_cipher_suite_is_in_the_help_and_in_the_documentation() {
        let provider = rustls::crypto::ring::default_provider();
        let versions = [TlsVersion::Tls13, TlsVersion::Tls12];
        let offered = versions.map(cipher_suites).concat();
        assert_eq!(offered.len(), provider.cipher_suites.len());
        let documented = include_str!("../../../docs/wires.md");
        for name in offered {
            contains(&ciphers_help(), name);
            contains(documented, &format!("`{name}`"));
            let chosen = flags(&["--ciphers", name]).settings(false);
            chosen.client("localhost", Offer::Both).unwrap();
        }
    }

    #[test]
    fn the_key_may_be_with_the_certificate() {
        let identity = |words: &[&str]| flags(words).settings(false).identity.unwrap();
        let both = identity(&["--cert", "a"]);
        assert_eq!(both.key, both.certificates);
        let two = identity(&["--cert", "a", "--key", "b"]);
        assert_eq!(two.key, PathBuf::from("b"));
    }

    /// The error that a failure of TLS becomes.
    fn explained(failure: Failure, offered: Offered) -> String {
        let fault = ExchangeError::Fault(failure.into());
        offered.explain(fault).to_string()
    }

    const BY_FLAGS: Offered = Offered {
        http: Offer::Both,
        is_grpc: false,
        has_certificate: false,
    };

    #[test]
    fn distrust_has_advice() {
        let error = explained(Failure::UnknownIssuer, BY_FLAGS);
        contains(&error, "--cacert FILE");
        contains(&error, "--insecure");
        let failure = Failure::WrongName {
            expected: "a".into(),
            presented: vec!["b".into()],
        };
        let advice = "not for a but for b; expect one of these names with --sni";
        contains(&explained(failure, BY_FLAGS), advice);
    }

    #[test]
    fn the_version_of_http_that_was_offered_is_not_advised() {
        let refused = Failure::NoCommonHttpVersion(FoundBy::Server);
        let only = |version| Offered {
            http: Offer::Only(version),
            ..BY_FLAGS
        };
        let http2 = explained(refused.clone(), only(HttpVersion::Http2));
        assert!(http2.ends_with("; use --http1.1"), "{http2}");
        let http1 = explained(refused.clone(), only(HttpVersion::Http1));
        assert!(http1.ends_with("; use --http2"), "{http1}");
        let both = explained(refused.clone(), BY_FLAGS);
        assert_eq!(both, refused.to_string());
        let chosen = Failure::OtherHttpVersion {
            speaks: HttpVersion::Http2,
            chosen: None,
        };
        for failure in [refused, chosen] {
            let by_grpc = Offered {
                is_grpc: true,
                ..only(HttpVersion::Http2)
            };
            let error = explained(failure, by_grpc);
            assert!(error.ends_with("; gRPC needs HTTP/2"), "{error}");
            assert!(!error.contains("--http"), "{error}");
        }
    }

    #[test]
    fn a_certificate_is_advised_only_if_none_was_given() {
        let with = Offered {
            has_certificate: true,
            ..BY_FLAGS
        };
        for [alert, advice] in rows(
            "
            certificate_required | present a client certificate with --cert FILE
            bad_certificate | present a client certificate with --cert FILE
            handshake_failure | if it requires a client certificate, present one with --cert FILE
        ",
        ) {
            let failure = Failure::Alert(alert.into());
            // A load has the reason as text.
            let reason = failure.to_string();
            let advised = format!("{reason}; {advice}");
            assert_eq!(explained(failure.clone(), BY_FLAGS), advised);
            assert_eq!(explained(failure, with), reason);
            assert_eq!(BY_FLAGS.certificate_advice_on(&reason).unwrap(), advice);
            assert_eq!(with.certificate_advice_on(&reason), None);
        }
        let other = Failure::Alert("internal_error".into()).to_string();
        assert_eq!(BY_FLAGS.certificate_advice_on(&other), None);
    }
}
