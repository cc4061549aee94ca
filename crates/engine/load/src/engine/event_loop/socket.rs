//! The sockets of connections.

use std::io;
use std::net::SocketAddr;

use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::target::Endpoint;

/// Enough for the head of a response; the rest of a long body is thrown away unread.
pub(super) const SMALL_LOOK: usize = 4 * 1024;
pub(super) const LARGE_LOOK: usize = 64 * 1024;
/// Bodies from this length on, in bytes, are cheaper to throw away in the kernel than to copy.
pub(super) const WORTH_SKIPPING: u64 = 8 * 1024;

/// How a socket waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For io_uring, which would otherwise give up instead of waiting.
    Blocking,
    Nonblocking,
}

/// A socket for a connection to `endpoint`, bound to the local address `source` if given, and the address to connect it
/// to.
pub(crate) fn socket_for(
    endpoint: &Endpoint,
    source: Option<SocketAddr>,
    mode: Mode,
) -> io::Result<(Socket, SockAddr)> {
    let kind = match mode {
        Mode::Blocking => Type::STREAM.cloexec(),
        Mode::Nonblocking => Type::STREAM.cloexec().nonblocking(),
    };
    match endpoint {
        Endpoint::Tcp(address) => {
            let domain = Domain::for_address(*address);
            let socket = Socket::new(domain, kind, Some(Protocol::TCP))?;
            socket.set_tcp_nodelay(true)?;
            if let Some(source) = source {
                // Let the connect choose the port: then the same port can serve connections to different servers.
                setsockopt(&socket, IpBindAddressNoPort, &true)?;
                socket.bind(&source.into())?;
            }
            Ok((socket, SockAddr::from(*address)))
        }
        Endpoint::Unix(path) => {
            let socket = Socket::new(Domain::UNIX, kind, None)?;
            Ok((socket, SockAddr::unix(path)?))
        }
    }
}

pub(super) fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
