//! Why TLS failed, in plain words.

use std::fmt;
use std::time::Duration;

use prony_traffic::HttpVersion;
use rustls::pki_types::UnixTime;
use rustls::{
    AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved,
};

use crate::tls::is_authority;

/// Why there is no TLS connection, or none any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the server does not speak TLS{}", if *is_http { ": it responds with plain HTTP" } else { "" })]
    NotTls { is_http: bool },
    #[error("the server closed the connection during the TLS handshake")]
    ClosedDuringHandshake,
    #[error(
        "the server closed the connection without a TLS close_notify: the response may be cut short"
    )]
    Truncated,

    #[error("the server's certificate expired {}", ago(*.0))]
    CertificateExpired(Option<Duration>),
    #[error("the server's certificate is not valid yet{}", in_future(*.0))]
    CertificateNotYetValid(Option<Duration>),
    #[error(
        "the server's certificate is not for {expected} but for {}",
        listed(presented)
    )]
    WrongName {
        expected: String,
        presented: Vec<String>,
    },
    #[error("the server's certificate is self-signed or from an unknown issuer")]
    UnknownIssuer,
    #[error("the server's certificate is a certificate authority's, not a server's")]
    AuthorityAsServer,
    #[error("the server's certificate is invalid: {0}")]
    InvalidCertificate(String),
    #[error("the server presented no certificate")]
    NoCertificate,

    #[error("the server supports none of the offered TLS versions{0}")]
    NoCommonVersion(FoundBy),
    #[error("the server supports none of the offered cipher suites{0}")]
    NoCommonCipherSuite(FoundBy),
    #[error("the server supports none of the offered HTTP versions{0}")]
    NoCommonHttpVersion(FoundBy),
    #[error("the server chose {}, but {speaks} is required", chosen_text(*chosen))]
    OtherHttpVersion {
        speaks: HttpVersion,
        chosen: Option<HttpVersion>,
    },

    #[error("the server ended the TLS connection with the alert {0}{hint}", hint = alert_hint(.0))]
    Alert(String),
    #[error("the server sent a record that cannot be decrypted")]
    Corrupt,
    #[error("the server sent an invalid TLS message: {0}")]
    InvalidMessage(String),
    #[error("the server sent a TLS message that is too long")]
    MessageTooLong,
    #[error("the server requested another renegotiation after Prony had refused one")]
    Renegotiation,
    #[error("the server violated the TLS protocol: {0}")]
    Misbehaved(String),
    #[error("the TLS connection has used up its keys: they may not encrypt another record")]
    KeysUsedUp,
    #[error("TLS failed: {0}")]
    Other(String),
}

/// The side that found nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// Prony did, from what the server chose.
    Prony,
    /// The server did, and said so in an alert.
    Server,
}

impl fmt::Display for FoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prony => Ok(()),
            Self::Server => f.write_str(", according to its alert"),
        }
    }
}

/// What a failure says about the certificate of a client that presented none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// The server requires one.
    Required,
    /// It may require one: the failure can have other causes.
    PerhapsRequired,
}

/// The alerts of servers that require one. Only TLS 1.3 has an alert for that alone.
const ALERTS_WITHOUT_CERTIFICATE: [(&str, ClientCertificate); 3] = [
    ("certificate_required", ClientCertificate::Required),
    ("bad_certificate", ClientCertificate::Required),
    ("handshake_failure", ClientCertificate::PerhapsRequired),
];

impl Failure {
    /// Whether the server requires a client certificate, if it got none.
    pub fn without_certificate(&self) -> Option<ClientCertificate> {
        let Self::Alert(alert) = self else {
            return None;
        };
        let mut alerts = ALERTS_WITHOUT_CERTIFICATE.into_iter();
        alerts.find(|(name, _)| name == alert).map(|(_, it)| it)
    }

    /// The same of the failure with this text, which is all that the result of a load keeps of it.
    pub fn without_certificate_in(text: &str) -> Option<ClientCertificate> {
        let mut alerts = ALERTS_WITHOUT_CERTIFICATE.into_iter();
        let has_text = |alert: &str| Self::Alert(alert.to_owned()).to_string() == text;
        alerts.find(|(name, _)| has_text(name)).map(|(_, it)| it)
    }

    /// Whether the failure is one of trust in the server's certificate.
    pub fn is_distrust(&self) -> bool {
        matches!(
            self,
            Self::CertificateExpired(_)
                | Self::CertificateNotYetValid(_)
                | Self::WrongName { .. }
                | Self::UnknownIssuer
                | Self::AuthorityAsServer
                | Self::InvalidCertificate(_)
        )
    }

    /// What an error means if `bytes` are the first that the server sent.
    #[cold]
    pub(super) fn of_first_bytes(bytes: &[u8], error: Error) -> Self {
        const HTTP: &[u8] = b"HTTP/";
        match error {
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => Self::NotTls {
                is_http: bytes.starts_with(HTTP) || HTTP.starts_with(bytes),
            },
            error => error.into(),
        }
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::AlertReceived(alert) => of_alert(alert),
            Error::DecryptError => Self::Corrupt,
            Error::EncryptError => Self::KeysUsedUp,
            Error::PeerSentOversizedRecord
            | Error::InvalidMessage(
                InvalidMessage::MessageTooLarge
                | InvalidMessage::HandshakePayloadTooLarge
                | InvalidMessage::CertificatePayloadTooLarge,
            ) => Self::MessageTooLong,
            Error::InvalidMessage(reason) => Self::InvalidMessage(words(&format!("{reason:?}"))),
            Error::PeerIncompatible(reason) => of_incompatible(&reason),
            Error::PeerMisbehaved(reason) => of_misbehaved(&reason),
            Error::InappropriateMessage { got_type, .. } => {
                Self::Misbehaved(format!("{got_type:?} arrived out of order"))
            }
            Error::InappropriateHandshakeMessage { got_type, .. } => {
                Self::Misbehaved(format!("{got_type:?} arrived out of order"))
            }
            error => Self::Other(error.to_string()),
        }
    }
}

fn of_certificate(error: CertificateError) -> Failure {
    match error {
        CertificateError::Expired => Failure::CertificateExpired(None),
        CertificateError::ExpiredContext { time, not_after } => {
            Failure::CertificateExpired(Some(between(not_after, time)))
        }
        CertificateError::NotValidYet => Failure::CertificateNotYetValid(None),
        CertificateError::NotValidYetContext { time, not_before } => {
            Failure::CertificateNotYetValid(Some(between(time, not_before)))
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => Failure::WrongName {
            expected: expected.to_str().into_owned(),
            presented: presented.iter().map(|name| bare_name(name)).collect(),
        },
        CertificateError::UnknownIssuer => Failure::UnknownIssuer,
        CertificateError::BadEncoding => Failure::InvalidCertificate("it is damaged".into()),
        CertificateError::BadSignature => {
            Failure::InvalidCertificate("the issuer that it names did not sign it".into())
        }
        error if is_authority(&error) => Failure::AuthorityAsServer,
        error => Failure::InvalidCertificate(error.to_string()),
    }
}

fn of_incompatible(reason: &PeerIncompatible) -> Failure {
    match reason {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::Tls12NotOfferedOrEnabled => Failure::NoCommonVersion(FoundBy::Prony),
        PeerIncompatible::NoCipherSuitesInCommon => Failure::NoCommonCipherSuite(FoundBy::Prony),
        reason => Failure::Other(words(&format!("{reason:?}"))),
    }
}

fn of_misbehaved(reason: &PeerMisbehaved) -> Failure {
    match reason {
        PeerMisbehaved::TooManyRenegotiationRequests => Failure::Renegotiation,
        PeerMisbehaved::SelectedUnofferedCipherSuite
        | PeerMisbehaved::SelectedUnusableCipherSuiteForVersion => {
            Failure::NoCommonCipherSuite(FoundBy::Prony)
        }
        PeerMisbehaved::SelectedUnofferedApplicationProtocol => {
            Failure::NoCommonHttpVersion(FoundBy::Prony)
        }
        PeerMisbehaved::TooManyEmptyFragments => Failure::Misbehaved("empty records".into()),
        reason => Failure::Misbehaved(words(&format!("{reason:?}"))),
    }
}

fn of_alert(alert: AlertDescription) -> Failure {
    match alert {
        AlertDescription::ProtocolVersion => Failure::NoCommonVersion(FoundBy::Server),
        AlertDescription::InsufficientSecurity => Failure::NoCommonCipherSuite(FoundBy::Server),
        AlertDescription::NoApplicationProtocol => Failure::NoCommonHttpVersion(FoundBy::Server),
        alert => Failure::Alert(match alert.as_str() {
            Some(name) => snake_case(name),
            None => u8::from(alert).to_string(),
        }),
    }
}

/// What an alert that has several causes may mean.
fn alert_hint(alert: &str) -> &'static str {
    match alert {
        "certificate_required" => ": it requires a client certificate",
        "handshake_failure" => {
            ": perhaps it supports none of the offered cipher suites, or requires a client certificate"
        }
        "bad_certificate" => ": it requires a client certificate, or does not accept this one",
        "unknown_ca" | "certificate_unknown" | "certificate_expired" => {
            ": it does not accept the client certificate"
        }
        "unrecognized_name" => ": it has no certificate for this name",
        _ => "",
    }
}

/// The name of an alert in the RFCs.
fn snake_case(name: &str) -> String {
    match name {
        "UnknownCA" => "unknown_ca".into(),
        "UnrecognisedName" => "unrecognized_name".into(),
        "UnknownPSKIdentity" => "unknown_psk_identity".into(),
        name => words(name).replace(' ', "_"),
    }
}

/// `CamelCase` as words.
fn words(name: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_lower {
            words.push(' ');
        }
        was_lower = letter.is_ascii_lowercase();
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// `DnsName("a")` and `IpAddress(::1)` without what is around them.
fn bare_name(name: &str) -> String {
    let inside = name
        .split_once('(')
        .map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inside.trim_matches('"').to_owned()
}

fn between(earlier: UnixTime, later: UnixTime) -> Duration {
    Duration::from_secs(later.as_secs().saturating_sub(earlier.as_secs()))
}

fn ago(time: Option<Duration>) -> String {
    match time {
        Some(time) => format!("{} ago", roughly(time)),
        None => "before it became valid".into(),
    }
}

fn in_future(time: Option<Duration>) -> String {
    time.map_or(String::new(), |time| {
        format!(": it becomes valid in {}", roughly(time))
    })
}

fn roughly(time: Duration) -> String {
    let (number, unit) = match time.as_secs() {
        seconds @ ..120 => (seconds, "second"),
        seconds @ ..7200 => (seconds / 60, "minute"),
        seconds @ ..172_800 => (seconds / 3600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

fn listed(names: &[String]) -> String {
    /// A certificate may have thousands of names.
    const MOST: usize = 5;
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len() {
        0 => "no name at all".into(),
        1..=MOST => shown,
        more => format!("{shown} and {} other names", more - MOST),
    }
}

fn chosen_text(chosen: Option<HttpVersion>) -> String {
    match chosen {
        Some(version) => version.to_string(),
        None => "no HTTP version".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_tell_whether_a_client_certificate_is_missing() {
        use ClientCertificate::{PerhapsRequired, Required};
        for (alert, expected) in [
            ("certificate_required", Some(Required)),
            ("bad_certificate", Some(Required)),
            ("handshake_failure", Some(PerhapsRequired)),
            ("unknown_ca", None),
            ("internal_error", None),
        ] {
            let failure = Failure::Alert(alert.into());
            assert_eq!(failure.without_certificate(), expected, "{alert}");
            let of_text = Failure::without_certificate_in(&failure.to_string());
            assert_eq!(of_text, expected, "{alert}");
        }
        assert_eq!(Failure::UnknownIssuer.without_certificate(), None);
        assert_eq!(
            Failure::without_certificate_in("certificate_required"),
            None
        );
    }
}
