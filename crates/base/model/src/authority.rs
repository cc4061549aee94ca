//! The host and port of a URL.

use std::borrow::Cow;
use std::net::Ipv6Addr;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

/// The host and port of a URL, without a user: as they are resolved, and as requests name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    host: String,
    port: Option<u16>,
    header: String,
}

/// Why a text is not the host and port of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    #[error("it names no host")]
    NoHost,
    #[error("its port is not 1 to 65535")]
    Port,
    #[error("its host may not contain {}", named(*.0))]
    Character(char),
    #[error("`{0}` is not an IPv6 address in brackets")]
    Address(String),
    #[error("its host `{0}` is not a name in DNS")]
    Name(String),
}

impl Authority {
    /// The host, to resolve: in ASCII (IDNA), or an IPv6 address without brackets, with its zone: `fe80::1%eth0`.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The value of the header `Host`: without the zone, which only this machine knows (RFC 6874, section 4).
    pub fn header(&self) -> &str {
        &self.header
    }
}

impl FromStr for Authority {
    type Err = AuthorityError;

    fn from_str(text: &str) -> Result<Self, AuthorityError> {
        let (host, written, rest) = match text.strip_prefix('[') {
            Some(rest) => {
                let wrong = || AuthorityError::Address(text.to_owned());
                let (inside, rest) = rest.split_once(']').ok_or_else(wrong)?;
                let (bare, zone) = inside.split_once('%').unwrap_or((inside, ""));
                bare.parse::<Ipv6Addr>().map_err(|_| wrong())?;
                (with_zone(bare, zone), format!("[{bare}]"), rest)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let host = ascii(&text[..end])?;
                (host.clone(), host, &text[end..])
            }
        };
        Ok(Self {
            port: port(rest)?,
            header: written + rest,
            host,
        })
    }
}

/// An IPv6 address with its zone, which a URL introduces with `%25` (RFC 6874); `%` alone is what users write, too.
fn with_zone(address: &str, zone: &str) -> String {
    let encoded = zone.strip_prefix("25").filter(|rest| !rest.is_empty());
    let zone = percent_decode_str(encoded.unwrap_or(zone)).decode_utf8_lossy();
    if zone.is_empty() {
        return address.to_owned();
    }
    format!("{address}%{zone}")
}

/// A name of DNS in ASCII, as browsers write it (UTS 46).
fn ascii(host: &str) -> Result<String, AuthorityError> {
    let decoded = percent_decode_str(host).decode_utf8();
    let decoded = decoded.unwrap_or(Cow::Borrowed(host));
    if let Some(wrong) = decoded.chars().find(|&it| it.is_ascii() && !is_of_host(it)) {
        return Err(AuthorityError::Character(wrong));
    }
    match &*decoded {
        "" => Err(AuthorityError::NoHost),
        name if name.is_ascii() => Ok(name.to_owned()),
        name => idna::domain_to_ascii(name).map_err(|_| AuthorityError::Name(name.to_owned())),
    }
}

/// Whether a name of a host may have a character of ASCII (RFC 3986, section 3.2.2).
fn is_of_host(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(character)
}

/// The port of `:8080`, or of nothing.
fn port(text: &str) -> Result<Option<u16>, AuthorityError> {
    let Some(digits) = text.strip_prefix(':') else {
        let next = text.chars().next();
        return next.map_or(Ok(None), |wrong| Err(AuthorityError::Character(wrong)));
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.parse().ok().filter(|&port| is_number && port > 0);
    port.map(Some).ok_or(AuthorityError::Port)
}

/// A character in a message.
fn named(character: char) -> String {
    match character {
        ' ' => "a blank".to_owned(),
        '`' => "a backquote".to_owned(),
        other => format!("`{}`", other.escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_resolved_and_named_in_ascii() {
        for (text, host, port, header) in [
            ("a", "a", None, "a"),
            ("A.test:81", "A.test", Some(81), "A.test:81"),
            ("a_b.test", "a_b.test", None, "a_b.test"),
            (
                "bücher.test:80",
                "xn--bcher-kva.test",
                Some(80),
                "xn--bcher-kva.test:80",
            ),
            (
                "B%C3%BCcher.test",
                "xn--bcher-kva.test",
                None,
                "xn--bcher-kva.test",
            ),
            // Two characters for the ü, and a full stop of Japanese.
            (
                "bu\u{308}cher。test",
                "xn--bcher-kva.test",
                None,
                "xn--bcher-kva.test",
            ),
            ("[::1]", "::1", None, "[::1]"),
            (
                "[fe80::1%25eth0]:80",
                "fe80::1%eth0",
                Some(80),
                "[fe80::1]:80",
            ),
            ("[fe80::1%eth0]", "fe80::1%eth0", None, "[fe80::1]"),
            ("[fe80::1%25a%2Db]", "fe80::1%a-b", None, "[fe80::1]"),
            ("[fe80::1%25]", "fe80::1%25", None, "[fe80::1]"),
        ] {
            let found: Authority = text.parse().expect(text);
            assert_eq!(
                (found.host(), found.port(), found.header()),
                (host, port, header)
            );
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_what_is_wrong() {
        for (text, reason) in [
            ("", "it names no host"),
            (":80", "it names no host"),
            ("a:0", "its port is not 1 to 65535"),
            ("a:", "its port is not 1 to 65535"),
            ("a:+1", "its port is not 1 to 65535"),
            ("a:65536", "its port is not 1 to 65535"),
            ("a b", "its host may not contain a blank"),
            ("a|b:80", "its host may not contain `|`"),
            ("a%0Ab", "its host may not contain `\\n`"),
            ("a%b", "its host may not contain `%`"),
            ("[::1", "`[::1` is not an IPv6 address in brackets"),
            ("[a]", "`[a]` is not an IPv6 address in brackets"),
            ("[::1]a", "its host may not contain `a`"),
            ("ü\u{378}", "its host `ü\u{378}` is not a name in DNS"),
        ] {
            let error = text.parse::<Authority>().expect_err(text).to_string();
            assert_eq!(error, reason, "{text}");
        }
    }
}
