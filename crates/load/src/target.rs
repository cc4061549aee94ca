//! The target of a load: a URL, and the address behind it.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::Uri;
use http::uri::{Authority, InvalidUri, PathAndQuery};
use nix::errno::Errno;
use serde::{Deserialize, Serialize};

/// Why a target is unusable.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum TargetError {
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
    #[error("the host `{host}` cannot be resolved: {source}; is it spelled correctly?")]
    Unresolved { host: String, source: io::Error },
    #[error("cannot connect to {endpoint}: {source}; is the server running and listening there?")]
    Unreachable {
        endpoint: Endpoint,
        source: io::Error,
    },
}

/// Where connections go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A Unix-domain socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Whether `error`, from an attempt to connect, means that the server accepted the connection and reset it at once.
/// Without an established connection the system reports a refusal instead.
pub(crate) fn was_reset(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    // ECONNABORTED: the socket's error was already read once.
    matches!(
        errno,
        Some(Errno::ECONNRESET | Errno::ECONNABORTED | Errno::EPIPE)
    )
}

impl Endpoint {
    /// Returns itself if it accepts a connection within `timeout`, whatever the server does next.
    pub fn connectable(self, timeout: Duration) -> Result<Self, TargetError> {
        let connected = match &self {
            Self::Tcp(address) => TcpStream::connect_timeout(address, timeout).map(drop),
            Self::Unix(path) => UnixStream::connect(path).map(drop),
        };
        match connected {
            Ok(()) => Ok(self),
            Err(error) if was_reset(&error) => Ok(self),
            Err(source) => Err(TargetError::Unreachable {
                endpoint: self,
                source,
            }),
        }
    }
}

/// Whether a URL is of HTTP in the clear or over TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

impl Scheme {
    const ALL: [Self; 2] = [Self::Http, Self::Https];

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

/// An `http://` or `https://` URL.
#[derive(Clone, Debug)]
pub struct HttpUrl {
    text: String,
    scheme: Scheme,
    host: String,
    port: u16,
    host_header: String,
    path: String,
}

impl HttpUrl {
    /// The path and query, as in the request line.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of the `Host` header.
    pub fn host_header(&self) -> &str {
        &self.host_header
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The URL as it was given, or with the path that it was changed to.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of another path (with its query) on the same server.
    ///
    /// # Errors
    ///
    /// If no URL may have that path.
    pub fn with_path(&self, path: &str) -> Result<Self, TargetError> {
        format!("{}://{}{path}", self.scheme.name(), self.host_header).parse()
    }

    /// Goes to another path (with its query) on the same server.
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
        self.path.push_str(path);
        self.text.clear();
        let parts = [self.scheme.name(), "://", &self.host_header, &self.path];
        parts.iter().for_each(|part| self.text.push_str(part));
        PathAndQuery::try_from(self.path.as_str()).map(drop)
    }

    /// Whether both name the same server: the same scheme, the same host, ignoring case, and the same port.
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.host.eq_ignore_ascii_case(&other.host)
            && self.port == other.port
    }

    /// The first of the host's addresses that accepts a connection within `timeout`.
    pub fn connectable_endpoint(&self, timeout: Duration) -> Result<Endpoint, TargetError> {
        let unresolved = |source| TargetError::Unresolved {
            host: self.host.clone(),
            source,
        };
        let addresses = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(unresolved)?;
        let mut failure = unresolved(io::Error::other("it has no address"));
        for address in addresses {
            match Endpoint::Tcp(address).connectable(timeout) {
                Ok(endpoint) => return Ok(endpoint),
                Err(refused) => failure = refused,
            }
        }
        Err(failure)
    }
}

impl FromStr for HttpUrl {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let syntax = |reason: &str| TargetError::Syntax {
            url: text.into(),
            reason: reason.into(),
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(without_scheme(text));
        };
        let scheme = Scheme::of_name(scheme).ok_or_else(|| TargetError::Scheme {
            scheme: scheme.into(),
        })?;
        if rest.is_empty() || rest.starts_with(['/', '?', '#']) {
            return Err(no_host(text));
        }
        let without_fragment = text.split('#').next().unwrap_or(text);
        let uri: Uri = without_fragment
            .parse()
            .map_err(|error: http::uri::InvalidUri| syntax(&error.to_string()))?;
        let authority = uri.authority().ok_or_else(|| no_host(text))?;
        if authority.as_str().contains('@') {
            return Err(syntax(
                "Prony does not send the user name in it; use -H 'Authorization: …'",
            ));
        }
        if authority.host().is_empty() {
            return Err(no_host(text));
        }
        let port =
            port_of(authority, scheme).ok_or_else(|| syntax("its port is not 1 to 65535"))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            text: text.into(),
            scheme,
            host: authority.host().trim_matches(['[', ']']).into(),
            port,
            host_header: authority.as_str().into(),
            path: if path.starts_with('/') {
                path.into()
            } else {
                format!("/{path}")
            },
        })
    }
}

fn no_host(url: &str) -> TargetError {
    TargetError::Syntax {
        url: url.into(),
        reason: "it names no host; write for instance http://localhost:8080/".into(),
    }
}

/// Why a text without `://` is not a URL.
fn without_scheme(text: &str) -> TargetError {
    let url = text.to_owned();
    if text.trim().is_empty() {
        return TargetError::Empty;
    }
    let named = text.split_once(':');
    let Some((scheme, rest)) = named.and_then(|(name, rest)| Some((Scheme::of_name(name)?, rest)))
    else {
        return TargetError::NoScheme { url };
    };
    match rest.trim_start_matches('/') {
        "" => no_host(text),
        rest => TargetError::Slashes {
            rest: rest.to_owned(),
            scheme: scheme.name(),
            url,
        },
    }
}

/// The port of an authority without a user name; that of the scheme by default.
fn port_of(authority: &Authority, scheme: Scheme) -> Option<u16> {
    match authority.as_str().strip_prefix(authority.host())? {
        "" => Some(scheme.default_port()),
        port => port
            .strip_prefix(':')?
            .parse()
            .ok()
            .filter(|&port| port > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<HttpUrl>().unwrap_err().to_string()
    }

    #[test]
    fn a_url_has_its_parts() {
        let url: HttpUrl = "http://[::1]:8080/a/b?c=d#e".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 8080));
        assert_eq!((url.host_header(), url.path()), ("[::1]:8080", "/a/b?c=d"));
        let url: HttpUrl = "HTTP://example.test".parse().unwrap();
        assert_eq!((url.port, url.path()), (80, "/"));
        let url: HttpUrl = "http://example.test?x".parse().unwrap();
        assert_eq!((url.scheme(), url.path()), (Scheme::Http, "/?x"));
        let url: HttpUrl = "https://example.test/".parse().unwrap();
        assert_eq!((url.scheme(), url.port), (Scheme::Https, 443));
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
        assert!(url.with_path("/a b").is_err());
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
        for no_host in ["http:", "http:/", "http://", "http:///x", "http://?"] {
            assert!(error(no_host).contains("it names no host"), "{no_host}");
        }
        assert!(error("http://:80/").contains("is not a URL"));
        assert!(error("http://a:99999/").contains("is not a URL"));
        assert!(error("http://a:0/").contains("1 to 65535"));
        assert!(error("http://me:secret@a/").contains("Authorization"));
        assert!(error("http://a b/").contains("is not a URL"));
    }

    #[test]
    fn a_closed_port_is_reported() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let url: HttpUrl = format!("http://{address}/").parse().unwrap();
        let wait = Duration::from_secs(5);
        assert_eq!(url.connectable_endpoint(wait).unwrap(), address.into());
        drop(listener);
        let refused = url.connectable_endpoint(wait).unwrap_err();
        assert!(
            matches!(refused, TargetError::Unreachable { .. }),
            "{refused}"
        );
    }
}
