//! Making the socket of a connection.

use std::io;
use std::net::SocketAddr;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::target::Endpoint;

/// Whether a call on the socket waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It does: io_uring then waits for it, instead of giving up.
    Blocking,
    /// It does not.
    Nonblocking,
}

/// A socket for a connection to `endpoint`, and the address to connect it to. It comes from the local
/// address `source`, where one is given.
pub(super) fn socket_towards(
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
                bind_without_port(&socket, source)?;
            }
            Ok((socket, SockAddr::from(*address)))
        }
        Endpoint::Unix(path) => {
            let socket = Socket::new(Domain::UNIX, kind, None)?;
            Ok((socket, SockAddr::unix(path)?))
        }
    }
}

/// Takes the local address now and leaves the port to the connect: then the same port can serve
/// connections to different servers.
fn bind_without_port(socket: &Socket, source: SocketAddr) -> io::Result<()> {
    setsockopt(socket, IpBindAddressNoPort, &true)?;
    socket.bind(&source.into())
}
