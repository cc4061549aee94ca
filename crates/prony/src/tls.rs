//! The flags of TLS, and what to do if a connection over TLS fails.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use prony_load::tls::{
    Identity, Offer, TlsClient, TlsError, TlsSettings, TlsVersion, Trust, Versions,
};
use prony_load::wire::Fault;
use prony_load::wire::tls::Failure;
use prony_load::{Endpoint, ExchangeError, HttpUrl, Scheme, negotiate};

use crate::exit::usage;

/// How connections to `https://` URLs are set up.
#[derive(Args, Clone)]
#[command(next_help_heading = "TLS (https:// URLs)")]
pub struct TlsFlags {
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
        hide_short_help = true
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

impl TlsFlags {
    /// How connections to that server are encrypted: as these flags say, or else as the project does; `None` if its URL
    /// is of plain HTTP.
    pub fn of(
        &self,
        server: &HttpUrl,
        of_project: Option<&TlsSettings>,
    ) -> Result<Option<Tls>, String> {
        let given = self.first_given();
        let settings = of_project.filter(|_| given.is_none()).cloned();
        match (server.scheme(), given) {
            (Scheme::Https, _) => Ok(Some(Tls {
                settings: settings.unwrap_or_else(|| self.settings()),
                host: server.host().to_owned(),
            })),
            (Scheme::Http, None) => Ok(None),
            (Scheme::Http, Some(flag)) => Err(format!(
                "{flag} needs TLS, but `{}` is an http:// URL; write https://, or leave out {flag}",
                server.as_str()
            )),
        }
    }

    /// The same for requests that may trust any certificate, which means nothing without TLS.
    pub fn or_insecure(&self, server: &HttpUrl, is_insecure: bool) -> Self {
        let mut flags = self.clone();
        flags.insecure |= is_insecure && self.cacert.is_none() && server.scheme() == Scheme::Https;
        flags
    }

    fn first_given(&self) -> Option<&'static str> {
        let flags = [
            ("--insecure", self.insecure),
            ("--cacert", self.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--tls-min", self.tls_min.is_some()),
            ("--tls-max", self.tls_max.is_some()),
            ("--ciphers", !self.ciphers.is_empty()),
            ("--sni", self.sni.is_some()),
            ("--tls-resume", self.tls_resume),
        ];
        let given = flags.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag)
    }

    fn settings(&self) -> TlsSettings {
        let all = Versions::default();
        TlsSettings {
            trust: match &self.cacert {
                _ if self.insecure => Trust::Any,
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

/// The TLS of the connections to one server.
pub struct Tls {
    settings: TlsSettings,
    host: String,
}

impl Tls {
    /// Reads the files, and offers these versions of HTTP.
    pub fn client(&self, offer: Offer) -> Result<TlsClient, Box<dyn Error>> {
        let client = self.settings.client(&self.host, offer);
        client.map_err(|error| match error {
            TlsError::NoKey { .. } if self.key_is_with_certificate() => {
                usage(format!("{error}; give its file with --key"))
            }
            TlsError::NoRoots { .. } => {
                format!("{error}; trust the server's with --cacert FILE, or any with --insecure")
                    .into()
            }
            TlsError::NoVersion(_)
            | TlsError::UnknownCipherSuite(_)
            | TlsError::CipherSuiteVersion { .. }
            | TlsError::ServerName(_) => usage(error),
            error => error.into(),
        })
    }

    fn key_is_with_certificate(&self) -> bool {
        let identity = self.settings.identity.as_ref();
        identity.is_some_and(|identity| identity.key == identity.certificates)
    }
}

/// Who decides over which version of HTTP requests are sent.
#[derive(Clone, Copy, Debug)]
pub enum HttpChoice {
    /// The user, with flags.
    Flags,
    /// gRPC, which needs HTTP/2.
    Grpc,
}

impl HttpChoice {
    /// What to do if the server does not support the version that Prony offers.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Flags => "choose the version to offer with --http1.1 or --http2",
            Self::Grpc => "gRPC needs HTTP/2",
        }
    }
}

/// An error of an exchange, and which flag helps if TLS is its reason.
pub fn with_advice(error: ExchangeError, http: HttpChoice) -> Box<dyn Error> {
    let advice = match &error {
        ExchangeError::Fault(Fault::Tls(failure)) => advice(failure, http),
        _ => None,
    };
    match advice {
        Some(advice) => format!("{error}; {advice}").into(),
        None => error.into(),
    }
}

fn advice(failure: &Failure, http: HttpChoice) -> Option<&'static str> {
    Some(match failure {
        Failure::UnknownIssuer => "trust it with --cacert FILE, or any certificate with --insecure",
        Failure::WrongName { .. } => {
            "expect one of these names with --sni NAME, or accept any certificate with --insecure"
        }
        Failure::AuthorityAsServer
        | Failure::CertificateExpired(_)
        | Failure::CertificateNotYetValid(_)
        | Failure::InvalidCertificate(_) => "accept any certificate with --insecure",
        Failure::NotTls { .. } => "write http:// for plain HTTP",
        Failure::NoCommonVersion(_) => "choose the versions to offer with --tls-min and --tls-max",
        Failure::NoCommonCipherSuite(_) => "choose the cipher suites to offer with --ciphers",
        Failure::NoCommonHttpVersion(_) | Failure::OtherHttpVersion { .. } => http.advice(),
        Failure::Alert(alert) if alert == "certificate_required" => "give it one with --cert FILE",
        _ => return None,
    })
}

/// How long a server that is asked whether it speaks TLS has to respond.
const MOST_WAIT: Duration = Duration::from_secs(1);

/// Whether a server speaks TLS, as a handshake shows. Even its refusal, in an alert, shows that.
pub fn speaks_tls(endpoint: &Endpoint, timeout: Duration) -> bool {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let Ok(client) = settings.client("localhost", Offer::Both) else {
        return false;
    };
    match negotiate(endpoint, &client, timeout.min(MOST_WAIT)) {
        Ok(_) => true,
        Err(ExchangeError::Fault(Fault::Tls(failure))) => matches!(
            failure,
            Failure::Alert(_)
                | Failure::NoCommonVersion(_)
                | Failure::NoCommonCipherSuite(_)
                | Failure::NoCommonHttpVersion(_)
        ),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use prony_load::tls::HttpVersion;
    use prony_load::wire::tls::FoundBy;

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
        assert!(flags(&[]).of(&plain, None).unwrap().is_none());
        for words in [
            &["--insecure"][..],
            &["--cacert", "a"],
            &["--cert", "a", "--key", "b"],
            &["--tls-min", "1.3"],
            &["--tls-max", "1.2"],
            &["--ciphers", "a,b"],
            &["--sni", "a"],
            &["--tls-resume"],
        ] {
            let error = flags(words).of(&plain, None).err().unwrap();
            assert!(
                error.starts_with(&format!("{} needs TLS", words[0])),
                "{error}"
            );
        }
    }

    #[test]
    fn the_key_may_be_with_the_certificate() {
        let identity = |words: &[&str]| flags(words).settings().identity.unwrap();
        let both = identity(&["--cert", "a"]);
        assert_eq!(both.key, both.certificates);
        assert_eq!(
            identity(&["--cert", "a", "--key", "b"]).key,
            PathBuf::from("b")
        );
    }

    #[test]
    fn distrust_has_advice() {
        let failure = Failure::UnknownIssuer;
        let error =
            with_advice(ExchangeError::Fault(failure.into()), HttpChoice::Flags).to_string();
        assert!(
            error.contains("--cacert FILE") && error.contains("--insecure"),
            "{error}"
        );
        let failure = Failure::WrongName {
            expected: "a".into(),
            presented: vec!["b".into()],
        };
        let error =
            with_advice(ExchangeError::Fault(failure.into()), HttpChoice::Flags).to_string();
        assert!(
            error.contains("not for a but for b; expect one of these names with --sni"),
            "{error}"
        );
    }

    #[test]
    fn flags_that_grpc_does_not_have_are_not_advised() {
        let failures = [
            Failure::NoCommonHttpVersion(FoundBy::Server),
            Failure::OtherHttpVersion {
                speaks: HttpVersion::Http2,
                chosen: None,
            },
        ];
        for failure in failures {
            let error = |http| {
                let fault = ExchangeError::Fault(failure.clone().into());
                with_advice(fault, http).to_string()
            };
            let (by_flags, by_grpc) = (error(HttpChoice::Flags), error(HttpChoice::Grpc));
            assert!(by_flags.contains("--http1.1 or --http2"), "{by_flags}");
            assert!(by_grpc.ends_with("; gRPC needs HTTP/2"), "{by_grpc}");
        }
    }
}
