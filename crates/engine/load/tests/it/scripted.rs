//! A server that responds by a script, and counts its requests.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_testkit::until;

pub(crate) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// What the server does with one request, given the request's number on its connection.
pub(crate) type Script = dyn Fn(&mut TcpStream, u64) -> After + Send + Sync;

/// What happens to the connection after a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
}

pub(crate) struct ScriptedServer {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    pub(crate) fn start(
        script: impl Fn(&mut TcpStream, u64) -> After + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let stop = Arc::new(AtomicBool::new(false));
        let script: Arc<Script> = Arc::new(script);
        let counts = (requests.clone(), connections.clone(), stop.clone());
        let acceptor = thread::spawn(move || {
            let (requests, connections, stop) = counts;
            for stream in listener.incoming() {
                if stop.load(SeqCst) {
                    break;
                }
                connections.fetch_add(1, SeqCst);
                let (script, requests) = (script.clone(), requests.clone());
                thread::spawn(move || converse(stream.unwrap(), &*script, &requests));
            }
        });
        ScriptedServer {
            address,
            requests,
            connections,
            stop,
            acceptor: Some(acceptor),
        }
    }

    /// A server that gives every request the same response.
    pub(crate) fn responding(response: impl Into<Vec<u8>>, after: After) -> ScriptedServer {
        let response = response.into();
        Self::start(move |stream, _| {
            let _ = stream.write_all(&response);
            after
        })
    }

    /// A server that responds to every request with [`HELLO`].
    pub(crate) fn hello() -> ScriptedServer {
        Self::responding(HELLO, After::Keep)
    }

    /// The same after a pause.
    pub(crate) fn slow(pause: Duration) -> ScriptedServer {
        Self::start(move |stream, _| {
            thread::sleep(pause);
            let _ = stream.write_all(HELLO);
            After::Keep
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests whose head it has read whole.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(SeqCst)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(SeqCst)
    }

    /// Waits until it has seen what the client has sent and opened: it may be behind.
    pub(crate) fn catch_up(&self, requests: u64, connections: u64) {
        until("what the client has sent", || {
            let has_all = self.requests() >= requests && self.connections() >= connections;
            has_all.then_some(())
        });
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn converse(mut stream: TcpStream, script: &Script, requests: &AtomicU64) {
    stream.set_nodelay(true).unwrap();
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    let mut number = 0;
    loop {
        while let Some(length) = request_length(&pending) {
            pending.drain(..length);
            requests.fetch_add(1, SeqCst);
            if script(&mut stream, number) == After::Close {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
            number += 1;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(length) => pending.extend_from_slice(&buffer[..length]),
        }
    }
}

/// The length of the request at the start of `bytes`, once it is whole.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes);
    let httparse::Status::Complete(head) = parsed.expect("the client sends valid requests") else {
        return None;
    };
    let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
    let length = request.headers.iter().find(|it| is_length(it.name));
    let body = length.map_or(0, |length| {
        std::str::from_utf8(length.value).unwrap().parse().unwrap()
    });
    (bytes.len() >= head + body).then_some(head + body)
}
