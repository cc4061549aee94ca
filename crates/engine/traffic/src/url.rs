//! URLs of HTTP.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::uri::{InvalidUri, PathAndQuery};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use prony_model::{Authority, AuthorityError, Protocol};
use serde::{Deserialize, Serialize};

/// Why a text is not a URL.
#[derive(Debug, thiserror::Error)]
pub enum UrlError {
    #[error("the URL is empty; write for instance http://localhost:8080/")]
    Empty,
    #[error(
        "`{url}` is not a URL: two slashes follow `{scheme}:`; did you mean `{scheme}://{rest}`?"
    )]
    Slashes {
        url: String,
        scheme: &'static str,
        rest: String,
    },
    #[error("`{url}` has no scheme; did you mean `http://{}`?", url.trim_start_matches('/'))]
    NoScheme { url: String },
    #[error("`{scheme}` is not supported: Prony loads http:// and https:// URLs")]
    Scheme { scheme: String },
    #[error("`{url}` is not a URL: {reason}")]
    Syntax { url: String, reason: String },
}

/// Whether a URL is of HTTP in the clear or over TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    const ALL: [Self; 2] = [Self::Http, Self::Https];

    pub fn of(protocol: Protocol) -> Self {
        if protocol.is_tls() {
            Self::Https
        } else {
            Self::Http
        }
    }

    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        let is_meant = |scheme: &Self| name.eq_ignore_ascii_case(scheme.name());
        Self::ALL.into_iter().find(is_meant)
    }
}

/// Characters that must be encoded in the path and the query of a URL (RFC 3986): at least those that browsers encode.
pub(crate) const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'^')
    .add(b'|')
    .add(b'\\');

/// An `http://` or `https://` URL. As data it has no user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpUrl {
    text: String,
    /// Where the path begins in the text.
    origin_end: usize,
    scheme: Scheme,
    authority: Authority,
    authorization: Option<HeaderValue>,
    path: String,
}

impl HttpUrl {
    /// The path and query, as in the request line.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of the `Host` header.
    pub fn host_header(&self) -> &str {
        self.authority.header()
    }

    /// The value of the `Authorization` header for the user in the URL, if it has one.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The URL as it was given, without a user, or with the path that it was changed to. The path is encoded.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The scheme, the host and the port, as they were given.
    pub fn origin(&self) -> &str {
        &self.text[..self.origin_end]
    }

    /// The host, without the brackets of an IPv6 address, but with its zone.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    pub fn port(&self) -> u16 {
        let port = self.authority.port();
        port.unwrap_or(self.scheme.default_port())
    }

    /// The URL of another path (with its query) on the same server.
    ///
    /// # Errors
    ///
    /// If no URL may have that path.
    pub fn with_path(&self, path: &str) -> Result<Self, UrlError> {
        let mut url = self.clone();
        url.set_path(path).map_err(|error| UrlError::Syntax {
            url: url.text.clone(),
            reason: error.to_string(),
        })?;
        Ok(url)
    }

    /// Goes to another path (with its query) on the same server. What no URL has is encoded.
    ///
    /// # Errors
    ///
    /// If no URL may have that path.
    pub(crate) fn set_path(&mut self, path: &str) -> Result<(), InvalidUri> {
        let path = path.split('#').next().unwrap_or_default();
        self.path.clear();
        if !path.starts_with('/') {
            self.path.push('/');
        }
        self.path.extend(utf8_percent_encode(path, NOT_IN_URLS));
        self.text.truncate(self.origin_end);
        self.text.push_str(&self.path);
        PathAndQuery::try_from(self.path.as_str()).map(drop)
    }

    /// Whether both name the same server: the same scheme, the same host, ignoring case, and the same port.
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.host().eq_ignore_ascii_case(other.host())
            && self.port() == other.port()
    }
}

impl TryFrom<String> for HttpUrl {
    type Error = UrlError;

    fn try_from(text: String) -> Result<Self, UrlError> {
        text.parse()
    }
}

impl From<HttpUrl> for String {
    fn from(url: HttpUrl) -> Self {
        url.text
    }
}

impl FromStr for HttpUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let text = text.trim_matches(|character| character <= ' ');
        let Some((scheme_name, rest)) = text.split_once("://") else {
            return Err(without_scheme(text));
        };
        let scheme = Scheme::of_name(scheme_name).ok_or_else(|| UrlError::Scheme {
            scheme: without_user(scheme_name),
        })?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let authority = host.parse().map_err(|error| wrong_host(text, &error))?;
        let origin = format!("{scheme_name}://{host}");
        let mut url = Self {
            origin_end: origin.len(),
            text: origin,
            scheme,
            authority,
            authorization: user.map(basic),
            path: String::new(),
        };
        url.set_path(rest).map_err(|error| UrlError::Syntax {
            url: without_user(text),
            reason: error.to_string(),
        })?;
        // As it was given, without a slash that is only implied.
        url.text.truncate(url.origin_end);
        url.text.extend(utf8_percent_encode(rest, NOT_IN_URLS));
        Ok(url)
    }
}

/// The value of `Authorization` for the user of a URL, as curl sends it: without a password, that is empty.
fn basic(user: &str) -> HeaderValue {
    let mut decoded: Vec<u8> = percent_decode_str(user).collect();
    if !user.contains(':') {
        decoded.push(b':');
    }
    let value = format!("Basic {}", STANDARD.encode(decoded));
    let mut value = HeaderValue::from_str(&value).expect("base64 is visible ASCII");
    value.set_sensitive(true);
    value
}

/// A URL in a message, which must not show a password.
fn without_user(url: &str) -> String {
    let Some((before, rest)) = url.rsplit_once('@') else {
        return url.to_owned();
    };
    let scheme = before.split_once("://").map(|(scheme, _)| scheme);
    let scheme = scheme.map_or(String::new(), |scheme| format!("{scheme}://"));
    format!("{scheme}***@{rest}")
}

fn no_host(url: &str) -> UrlError {
    UrlError::Syntax {
        url: without_user(url),
        reason: "it names no host; write for instance http://localhost:8080/".into(),
    }
}

fn wrong_host(url: &str, error: &AuthorityError) -> UrlError {
    match error {
        AuthorityError::NoHost => no_host(url),
        error => UrlError::Syntax {
            url: without_user(url),
            reason: error.to_string(),
        },
    }
}

/// Why a text without `://` is not a URL.
fn without_scheme(text: &str) -> UrlError {
    if text.is_empty() {
        return UrlError::Empty;
    }
    let url = without_user(text);
    let named = text.split_once(':');
    let Some((scheme, rest)) = named.and_then(|(name, rest)| Some((Scheme::of_name(name)?, rest)))
    else {
        return UrlError::NoScheme { url };
    };
    match rest.trim_start_matches('/') {
        "" => no_host(text),
        rest => UrlError::Slashes {
            rest: without_user(rest),
            scheme: scheme.name(),
            url,
        },
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    fn error(text: &str) -> String {
        text.parse::<HttpUrl>().unwrap_err().to_string()
    }

    #[test]
    fn a_url_has_its_parts() {
        let url: HttpUrl = "http://[::1]:8080/a/b?c=d#e".parse().unwrap();
        assert_eq!((url.host(), url.port()), ("::1", 8080));
        assert_eq!((url.host_header(), url.path()), ("[::1]:8080", "/a/b?c=d"));
        let url: HttpUrl = "HTTP://example.test".parse().unwrap();
        assert_eq!((url.port(), url.path()), (80, "/"));
        let url: HttpUrl = "http://example.test?x".parse().unwrap();
        assert_eq!((url.scheme(), url.path()), (Scheme::Http, "/?x"));
        let url: HttpUrl = "https://example.test/".parse().unwrap();
        assert_eq!((url.scheme(), url.port()), (Scheme::Https, 443));
        let url: HttpUrl = "http://[fe80::1%25eth0]:81/a".parse().unwrap();
        assert_eq!(
            (url.host(), url.host_header()),
            ("fe80::1%eth0", "[fe80::1]:81")
        );
        assert_eq!(url.with_path("/b").unwrap().host(), "fe80::1%eth0");
    }

    #[test]
    fn what_no_url_has_is_encoded() {
        for [url, path, shown] in rows(
            r#"
            http://a/ü | /%C3%BC | http://a/%C3%BC
            http://a/a b?q=a|b"c' | /a%20b?q=a%7Cb%22c' | http://a/a%20b?q=a%7Cb%22c'
            http://bücher.test/<%20{>%zz | /%3C%20%7B%3E%zz | http://bücher.test/%3C%20%7B%3E%zz
            \x20http://a/b\n | /b | http://a/b
            http://a | / | http://a
            http://a?ü#ö | /?%C3%BC | http://a?%C3%BC#%C3%B6
            "#,
        ) {
            let url: HttpUrl = url.parse().unwrap();
            assert_eq!((url.path(), url.as_str()), (path, shown));
            let again: HttpUrl = url.as_str().parse().unwrap();
            assert_eq!(again.path(), path);
        }
        let url: HttpUrl = "http://bücher.test:81/".parse().unwrap();
        assert_eq!(url.host_header(), "xn--bcher-kva.test:81");
        assert!(url.is_same_server(&"http://XN--BCHER-KVA.test:81".parse().unwrap()));
    }

    #[test]
    fn a_user_becomes_basic_and_is_not_shown() {
        for [url, expected] in rows(
            r"
            http://me:secret@a/b | me:secret
            http://me@a/b | me:
            http://m%40e:s%3A%20@a/b | m@e:s:\x20
            http://a/@b | none
            ",
        ) {
            let url: HttpUrl = url.parse().unwrap();
            let value = url.authorization();
            let value = value.map(|value| value.to_str().unwrap().to_owned());
            let basic = format!("Basic {}", STANDARD.encode(expected));
            assert_eq!(value, (expected != "none").then_some(basic));
            assert!(!url.as_str().contains("me") && !format!("{url:?}").contains("bWU"));
            assert!(url.with_path("/c").unwrap().authorization() == url.authorization());
        }
        for wrong in [
            "http://me:secret@",
            "http://me:secret@a b",
            "http://me:secret@a:0/",
            "http://me:sec/secret@a/",
            "http://me:a?secret@a/",
            "me:secret@a/",
            "http:/me:secret@a/",
            "ftp:me:secret@a",
            "me:secret@a://b",
        ] {
            let error = error(wrong);
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn another_path_is_on_the_same_server() {
        let url: HttpUrl = "http://[::1]:8080/a?b".parse().unwrap();
        let other = url.with_path("/c?d").unwrap();
        assert_eq!(other.as_str(), "http://[::1]:8080/c?d");
        assert!(url.is_same_server(&other));
        assert!(!url.is_same_server(&"http://[::1]/".parse().unwrap()));
        let secure: HttpUrl = "https://[::1]:8080/".parse().unwrap();
        assert!(!url.is_same_server(&secure));
        assert_eq!(
            secure.with_path("/b").unwrap().as_str(),
            "https://[::1]:8080/b"
        );
        assert_eq!(url.with_path("/a b").unwrap().path(), "/a%20b");
        assert!(url.with_path(&format!("/{}", "a".repeat(70_000))).is_err());
        let mut changed = url.clone();
        changed.set_path("/c?d#e").unwrap();
        assert_eq!((changed.as_str(), changed.path()), (other.as_str(), "/c?d"));
        changed.set_path("?f").unwrap();
        assert_eq!(changed.as_str(), "http://[::1]:8080/?f");
        let upper: HttpUrl = "http://A/".parse().unwrap();
        assert!(upper.is_same_server(&"http://a:80/x".parse().unwrap()));
    }

    #[test]
    fn an_invalid_url_is_refused_with_a_hint() {
        assert!(error("localhost:8080/x").contains("did you mean `http://localhost:8080/x`"));
        assert!(error("ftp://a/").contains("`ftp` is not supported"));
        assert!(error("https:/a").contains("did you mean `https://a`?"));
        assert!(error("").contains("the URL is empty; write for instance http://"));
        assert!(error("http:/127.0.0.1/x").contains("did you mean `http://127.0.0.1/x`?"));
        assert!(error("HTTP:a").contains("did you mean `http://a`?"));
        for no_host in [
            "http:",
            "http:/",
            "http://",
            "http:///x",
            "http://?",
            "http://:80/",
        ] {
            assert!(error(no_host).contains("it names no host"), "{no_host}");
        }
        for port in ["http://a:99999/", "http://a:0/"] {
            assert!(error(port).contains("is not a URL: its port is not 1 to 65535"));
        }
        let expected = "`http://a b/` is not a URL: its host may not contain a blank";
        assert_eq!(error("http://a b/"), expected);
    }
}
