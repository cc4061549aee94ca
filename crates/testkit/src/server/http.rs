//! Requests and responses of HTTP/1.1.

use std::fmt::Write;
use std::io::BufRead;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Request line and headers as they came, each with a line feed.
    pub head: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Of the connections of this process, from 0.
    pub connection: usize,
    /// Of the requests of this process, from 1.
    pub number: usize,
    pub(super) socket: Option<Arc<TcpStream>>,
}

impl Request {
    /// `None` at the end, or if it is not one.
    pub(crate) fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut request = Self::default();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            request.head += &format!("{line}\n");
            if let Some((name, value)) = line.split_once(':') {
                let value = value.trim().to_owned();
                request.headers.push((name.to_ascii_lowercase(), value));
            }
        }
        let mut words = request.head.split(' ').map(str::to_owned);
        (request.method, request.path) = (words.next()?, words.next()?);
        let length = request
            .header("content-length")
            .and_then(|it| it.parse().ok());
        request.body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    /// The name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Whether the client has closed its end without waiting for the response.
    pub fn is_abandoned(&self) -> bool {
        let socket = self.socket.as_ref().unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let peeked = socket.peek(&mut [0]);
        socket.set_read_timeout(None).unwrap();
        matches!(peeked, Ok(0))
    }

    pub(crate) fn connection_is(&self, what: &str) -> bool {
        let connection = self.header("connection");
        connection.is_some_and(|value| value.eq_ignore_ascii_case(what))
    }
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// What is sent instead of all of this, if it is something.
    pub raw: Option<Vec<u8>>,
    /// What the server writes to its standard output before it responds.
    pub output: String,
    /// The same for standard error.
    pub errors: String,
    /// Whether it closes the connection; only a header says so to the client.
    pub closes: bool,
    /// What it does next.
    pub then: Option<fn()>,
}

impl Response {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            body: body.into(),
            raw: None,
            output: String::new(),
            errors: String::new(),
            closes: false,
            then: None,
        }
    }

    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/plain", body)
    }

    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "content-length: {}\r\n\r\n", self.body.len());
        [head.as_bytes(), &self.body].concat()
    }
}
