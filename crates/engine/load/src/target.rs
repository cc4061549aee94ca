//! Where connections go: the address behind a URL.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use nix::errno::Errno;
use prony_traffic::HttpUrl;
use serde::{Deserialize, Serialize};

/// Why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("the host `{host}` cannot be resolved: {source}; is it spelled correctly?")]
    Unresolved { host: String, source: io::Error },
    #[error(
        "cannot connect to {0}: a link-local address needs the interface that leads to it; write it after the address, for \
         instance http://[{ip}%25eth0]:{port}/ (`ip link` lists the interfaces)",
        ip = .0.ip(), port = .0.port()
    )]
    NoInterface(SocketAddrV6),
    #[error("cannot connect to {endpoint}: {source}; {}", advice(source))]
    Unreachable {
        endpoint: Endpoint,
        source: io::Error,
    },
}

/// What to do if a connection cannot be made.
fn advice(error: &io::Error) -> &'static str {
    if is_port_shortage(error) {
        "no local port is free for it: those of closed connections are free again after a minute, and the system setting \
         net.ipv4.ip_local_port_range says how many there are"
    } else {
        "is the server running and listening there?"
    }
}

/// Whether `error`, from an attempt to connect, means that every local port is taken.
pub(crate) fn is_port_shortage(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EADDRNOTAVAIL as i32)
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
    /// The address of the server; `None` behind a Unix-domain socket.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip()),
            Self::Unix(_) => None,
        }
    }

    /// The first of the addresses of a URL's host that accepts a connection within `timeout`.
    pub fn of(url: &HttpUrl, timeout: Duration) -> Result<Self, TargetError> {
        let unresolved = |source| TargetError::Unresolved {
            host: url.host().to_owned(),
            source,
        };
        let addresses = (url.host(), url.port())
            .to_socket_addrs()
            .map_err(unresolved)?;
        let mut failure = unresolved(io::Error::other("it has no address"));
        for address in addresses {
            match Self::Tcp(address).connectable(timeout) {
                Ok(endpoint) => return Ok(endpoint),
                Err(refused) => failure = refused,
            }
        }
        Err(failure)
    }

    /// Returns itself if it accepts a connection within `timeout`, whatever the server does next.
    pub fn connectable(self, timeout: Duration) -> Result<Self, TargetError> {
        if let Self::Tcp(SocketAddr::V6(address)) = self
            && address.ip().is_unicast_link_local()
            && address.scope_id() == 0
        {
            return Err(TargetError::NoInterface(address));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_connection_names_its_cause() {
        let error = |errno: Errno| {
            let unreachable = TargetError::Unreachable {
                endpoint: Endpoint::Tcp(SocketAddr::from(([127, 0, 0, 1], 80))),
                source: errno.into(),
            };
            unreachable.to_string()
        };
        let no_port = error(Errno::EADDRNOTAVAIL);
        assert!(no_port.contains("no local port is free"), "{no_port}");
        let refused = error(Errno::ECONNREFUSED);
        assert!(refused.contains("is the server running"), "{refused}");
    }

    #[test]
    fn a_link_local_address_needs_its_interface() {
        let url: HttpUrl = "http://[fe80::1]:8080/".parse().unwrap();
        let error = Endpoint::of(&url, Duration::from_secs(5)).unwrap_err();
        let error = error.to_string();
        assert!(
            error
                .contains("write it after the address, for instance http://[fe80::1%25eth0]:8080/"),
            "{error}"
        );
    }

    #[test]
    fn a_closed_port_is_reported() {
        let (bound, address) = prony_testkit::connections::refusing();
        let url: HttpUrl = format!("http://{address}/").parse().unwrap();
        let wait = Duration::from_secs(30);
        let refused = Endpoint::of(&url, wait).unwrap_err();
        assert!(
            matches!(refused, TargetError::Unreachable { .. }),
            "{refused}"
        );
        bound.listen(1).unwrap();
        assert_eq!(Endpoint::of(&url, wait).unwrap(), address.into());
    }
}
