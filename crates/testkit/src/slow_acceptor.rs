//! A server whose accept queue overflows, shared with the tests of `prony load`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Accepts a connection every 25 ms, with a queue of one.
pub fn slow_acceptor() -> SocketAddr {
    let socket = acceptor(1, || Duration::from_millis(25));
    socket.local_addr().unwrap().as_socket().unwrap()
}

/// Pauses after it has accepted a connection, and responds to one request on each, until the test process ends. Returns
/// the socket that listens.
pub fn acceptor(queue: i32, pause: impl Fn() -> Duration + Send + 'static) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(queue).unwrap();
    let listener = TcpListener::from(socket.try_clone().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::sleep(pause());
            let timeout = Some(Duration::from_millis(500));
            stream.set_read_timeout(timeout).unwrap();
            // The client may have given up.
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    socket
}
