//! A server that checks what it receives, and responds compressed and differently each time.

use std::io::Write;
use std::net::SocketAddr;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Response;

use crate::scripted::{self, Received};

pub(super) fn start() -> SocketAddr {
    scripted::start(respond)
}

fn respond(received: Received) -> Response<Bytes> {
    let (request, number) = (&received.request, received.number);
    let is_right = request.method() == "POST"
        && request.uri().path() == "/orders"
        && received.header("x-team") == "prony"
        && received.header("cookie") == "session=abc"
        && received.header("authorization") == "Basic YW5uOnN3b3JkZmlzaA=="
        && received.header("content-type") == "application/json"
        && request.body() == "{\"n\":1}";
    let builder = Response::builder();
    let response = match (is_right, request.uri().query()) {
        (true, Some("q=a%20b")) => {
            let text = format!("{{\"id\":{number},\"items\":[1,2],\"user\":\"ann:swordfish\"}}");
            builder
                .status(200 + (number % 2) as u16)
                .header("content-type", "application/json; charset=utf-8")
                .header("content-encoding", "gzip")
                .body(gzip(text.as_bytes()))
        }
        (true, Some("q=bomb")) => builder
            .header("content-encoding", "gzip")
            .body(gzip(&vec![b'x'; 100_000])),
        _ => builder.status(400).body(format!("{request:?}").into()),
    };
    response.unwrap()
}

fn gzip(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap().into()
}
