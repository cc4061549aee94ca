//! Servers inside the test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A server that does this with each connection, in a thread of its own, until the test's process ends. What it returns
/// matters to nobody: `?` may end a connection.
pub fn serve<T: Send + 'static>(
    converse: impl Fn(TcpStream) -> T + Clone + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let converse = converse.clone();
            thread::spawn(move || converse(stream));
        }
    });
    address
}
