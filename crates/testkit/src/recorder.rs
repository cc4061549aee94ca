//! A server inside the test that records its requests.

use std::io::{BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::connections::serve_at;
use crate::server::Request;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Request line and headers, each with a line feed.
    pub head: String,
    pub body: Vec<u8>,
    /// Who sent it.
    pub peer: SocketAddr,
    /// Of the connections of this server, from 0.
    pub connection: usize,
    /// When it had come.
    pub at: Instant,
}

/// Responds to everything with 200, over connections that stay open unless the request says otherwise.
pub struct HttpServer {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl HttpServer {
    pub fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into())
    }

    /// The same at another address of this host.
    pub fn start_at(address: IpAddr) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let (all, next) = (Arc::clone(&received), Arc::new(AtomicUsize::new(0)));
        let address = serve_at(address, move |stream| {
            let connection = next.fetch_add(1, Ordering::Relaxed);
            // The rest of what was read belongs to the next request.
            let mut reader = BufReader::new(&stream);
            while response(&mut reader, connection, &all).is_some() {}
        });
        Self { address, received }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// All requests so far, in the order of their arrival.
    pub fn all(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Their first lines, without the version.
    pub fn lines(&self) -> Vec<String> {
        let line = |received: &Received| {
            let line = received.head.lines().next().unwrap();
            line.strip_suffix(" HTTP/1.1").unwrap().to_owned()
        };
        self.received.lock().unwrap().iter().map(line).collect()
    }

    pub fn first(&self) -> Received {
        self.received.lock().unwrap()[0].clone()
    }
}

/// `None` at the end.
fn response(
    reader: &mut BufReader<&TcpStream>,
    connection: usize,
    all: &Mutex<Vec<Received>>,
) -> Option<()> {
    let request = Request::read(reader)?;
    let at = Instant::now();
    let peer = reader.get_ref().peer_addr().ok()?;
    // An HTTP/1.0 connection stays open only if both sides say so.
    let is_http10 = request.head.contains(" HTTP/1.0\n");
    let header = if is_http10 && request.connection_is("keep-alive") {
        "Connection: keep-alive\r\n"
    } else if is_http10 || request.connection_is("close") {
        "Connection: close\r\n"
    } else {
        ""
    };
    all.lock().unwrap().push(Received {
        head: request.head,
        body: request.body,
        peer,
        connection,
        at,
    });
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{header}\r\nok");
    let mut writer = *reader.get_ref();
    writer.write_all(text.as_bytes()).ok()?;
    (!header.contains("close")).then_some(())
}
