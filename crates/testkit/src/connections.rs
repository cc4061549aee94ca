//! Servers inside the test, and an address without one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use socket2::{Domain, Socket, Type};

/// An address that refuses connections. Nobody else gets it as long as the socket exists.
pub fn refusing() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// A server that does this with each connection, in a thread of its own, until the test's process ends. What it returns
/// matters to nobody: `?` may end a connection.
pub fn serve<T: Send + 'static>(
    converse: impl Fn(TcpStream) -> T + Clone + Send + 'static,
) -> SocketAddr {
    serve_at(Ipv4Addr::LOCALHOST.into(), converse)
}

/// The same at an address of this host.
///
/// # Panics
///
/// If this host does not have it.
pub fn serve_at<T: Send + 'static>(
    address: IpAddr,
    converse: impl Fn(TcpStream) -> T + Clone + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let converse = converse.clone();
            thread::spawn(move || converse(stream));
        }
    });
    address
}
