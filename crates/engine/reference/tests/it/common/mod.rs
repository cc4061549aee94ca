//! A server on its own port, and a client that sees every byte.
#![allow(dead_code)] // Not every test uses everything.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_reference::{Config, Server, Work};
use tempfile::NamedTempFile;

/// Long enough for any response; a server that never responds fails the test.
pub(crate) const PATIENCE: Duration = prony_testkit::PATIENCE;

pub(crate) const HELLO: &str = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    log: NamedTempFile,
}

pub(crate) fn config(cpus: usize) -> Config {
    Config {
        host: "127.0.0.1".to_owned(),
        port: 0,
        cpus: cpus.try_into().unwrap(),
        assets: assets(),
        work: Work::default(),
        tls: None,
    }
}

pub(crate) fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/assets")
}

pub(crate) fn asset(name: &str) -> String {
    std::fs::read_to_string(assets().join(name)).unwrap()
}

/// Starts a server; its threads end with the test process.
pub(crate) fn start(cpus: usize) -> Running {
    start_with(&config(cpus))
}

pub(crate) fn start_with(config: &Config) -> Running {
    let server = Server::bind(config).unwrap();
    let address = server.address();
    let log = NamedTempFile::new().unwrap();
    let file: File = log.reopen().unwrap();
    std::thread::spawn(move || server.run(&file));
    Running { address, log }
}

impl Running {
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }
}

pub(crate) struct Client<S = TcpStream> {
    pub(crate) socket: S,
    input: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Self::over(socket)
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn over(socket: S) -> Self {
        let input = Vec::new();
        Self { socket, input }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        self.response()
    }

    pub(crate) fn response(&mut self) -> Response {
        let mut response = self.head();
        let length: usize = response.field("content-length").unwrap().parse().unwrap();
        while self.input.len() < length {
            assert!(self.receive(), "the response was cut short");
        }
        response.body = String::from_utf8(self.input.drain(..length).collect()).unwrap();
        response
    }

    /// The head of a response; its body is left.
    pub(crate) fn head(&mut self) -> Response {
        let end = loop {
            match self.input.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => assert!(self.receive(), "the connection ended without a response"),
            }
        };
        let head = String::from_utf8(self.input.drain(..end).collect()).unwrap();
        let status = &head.strip_prefix("HTTP/1.1 ").unwrap()[..3];
        Response {
            status: status.parse().unwrap(),
            head,
            body: String::new(),
        }
    }

    /// Whether the connection ends here, without further bytes.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.input.is_empty() && !self.receive()
    }

    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.receive() {}
        std::mem::take(&mut self.input)
    }

    fn receive(&mut self) -> bool {
        let mut buffer = vec![0; 1 << 16];
        let length = self.socket.read(&mut buffer).unwrap();
        self.input.extend_from_slice(&buffer[..length]);
        length > 0
    }
}

/// Each fixed path with its media type and body.
pub(crate) fn workloads() -> [(&'static str, &'static str, String); 6] {
    let (page, page_20k) = (asset("page-100k.html"), asset("page-20k.html"));
    assert_eq!((page.len(), page_20k.len()), (102_400, 20_480));
    let html = "text/html; charset=utf-8";
    [
        ("/hello", "text/plain", "hello from prony\n".to_owned()),
        ("/byte", "text/plain", "r".to_owned()),
        ("/", html, page.clone()),
        ("/log", html, page.clone()),
        ("/sse", "text/event-stream", patch(&page)),
        ("/sse-20k", "text/event-stream", patch(&page_20k)),
    ]
}

/// The event of a page.
fn patch(page: &str) -> String {
    let lines = page.lines().map(|line| format!("data: elements {line}\n"));
    let lines: String = lines.collect();
    format!("event: datastar-patch-elements\n{lines}\n")
}
