//! Whether a server speaks the scheme of its URL, and what to write if it does not.

use std::fmt;
use std::time::Duration;

use prony_load::tls::{Offer, TlsSettings, Trust};
use prony_load::wire::Fault;
use prony_load::wire::tls::Failure;
use prony_load::{Endpoint, ExchangeError, negotiate};
use prony_server::ServerUrl;
use prony_traffic::Scheme;

/// The time that a server has to show which scheme it speaks.
const MOST_WAIT: Duration = Duration::from_secs(5);

/// The scheme that a server speaks instead of the one of its URL, as a TLS handshake shows; `None` if nothing shows that.
/// For servers that did not respond as they should: the handshake means nothing to one that speaks plain HTTP.
pub fn other_scheme(endpoint: &Endpoint, of_url: Scheme, timeout: Duration) -> Option<Scheme> {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let client = settings.client("localhost", Offer::Both).ok()?;
    let failure = match negotiate(endpoint, &client, timeout.min(MOST_WAIT)) {
        Ok(_) => None,
        Err(ExchangeError::Fault(Fault::Tls(failure))) => Some(failure),
        Err(_) => return None,
    };
    match (of_url, failure) {
        // Even a refusal, in an alert, shows that it speaks TLS.
        (
            Scheme::Http,
            None
            | Some(
                Failure::Alert(_)
                | Failure::NoCommonVersion(_)
                | Failure::NoCommonCipherSuite(_)
                | Failure::NoCommonHttpVersion(_),
            ),
        ) => Some(Scheme::Https),
        (Scheme::Https, Some(Failure::NotTls { .. })) => Some(Scheme::Http),
        _ => None,
    }
}

/// The URL of a server has the wrong scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongScheme {
    url: String,
    right_url: String,
    speaks: Scheme,
}

impl WrongScheme {
    /// Asks the server, which did not respond as it should; `None` if nothing shows that its URL is wrong.
    pub fn find(url: &ServerUrl, endpoint: &Endpoint) -> Option<Self> {
        let of_url = if url.is_tls() {
            Scheme::Https
        } else {
            Scheme::Http
        };
        let speaks = other_scheme(endpoint, of_url, MOST_WAIT)?;
        Some(Self {
            url: url.to_string(),
            right_url: url.with_scheme(speaks.name()),
            speaks,
        })
    }

    /// The URL with the scheme that the server speaks.
    pub fn right_url(&self) -> &str {
        &self.right_url
    }

    /// What to write in `prony.toml`.
    pub(crate) fn in_project_file(&self) -> String {
        let requests = match self.speaks {
            Scheme::Https => {
                "and `tls = true` in the requests of its workloads (for a Hurl file: https:// in its URLs, and scenario = { file = \"…\", tls = true })"
            }
            Scheme::Http => {
                "and remove `tls = true` from the requests of its workloads (for a Hurl file: from `scenario`, and write http:// in its URLs)"
            }
        };
        format!(
            "{self}; write `url = \"{}\"` in prony.toml, {requests}",
            self.right_url
        )
    }
}

impl fmt::Display for WrongScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speaks = match self.speaks {
            Scheme::Https => "speaks TLS",
            Scheme::Http => "does not speak TLS",
        };
        write!(f, "the server at {} {speaks}", self.url)
    }
}
