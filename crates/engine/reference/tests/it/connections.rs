//! Connections: cut requests, bodies, ends, errors, and clients that misbehave.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use crate::common::{Client, HELLO, asset, start};

#[test]
fn a_request_may_come_in_pieces() {
    let server = start(1);
    let mut client = server.connect();
    for cut in 0..=HELLO.len() {
        client.send(&HELLO[..cut]);
        client.send(&HELLO[cut..]);
        assert_eq!(client.response().body, "hello from prony\n", "cut at {cut}");
    }
    for byte in HELLO.bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().body, "hello from prony\n");
}

#[test]
fn bodies_are_skipped() {
    const LENGTH: usize = 10 << 20;
    let server = start(1);
    let mut client = server.connect();
    let body = vec![b'x'; LENGTH];
    let mut chunked = Vec::new();
    for chunk in body.chunks(100_003) {
        chunked.extend_from_slice(format!("{:x};a=b\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
    let length = format!("Content-Length: {LENGTH}");
    for (method, status) in [("GET", 200), ("POST", 405)] {
        for (field, body) in [(&*length, &body), ("Transfer-Encoding: chunked", &chunked)] {
            client.send(format!(
                "{method} /hello HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"
            ));
            client.send(body);
            client.send(HELLO);
            assert_eq!(client.response().status, status);
            assert_eq!(client.response().body, "hello from prony\n");
        }
    }
}

#[test]
fn a_client_that_expects_100_continue_gets_it() {
    let server = start(1);
    let mut client = server.connect();
    client
        .send("GET /byte HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("abc");
    assert_eq!(client.response().body, "r");
    assert_eq!(client.get("/byte").body, "r");
}

#[test]
fn connections_stay_or_end_as_requested() {
    let server = start(1);
    for request in [
        "GET /byte HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /byte HTTP/1.0\r\n\r\n",
        "GET /byte HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n",
    ] {
        let mut client = server.connect();
        // Requests after the last one get no response.
        client.send(format!("{request}{HELLO}"));
        let response = client.response();
        let connection = response.field("connection");
        assert_eq!((&*response.body, connection), ("r", Some("close")));
        assert!(client.has_ended(), "{request:?}");
    }
    let mut client = server.connect();
    for _ in 0..2 {
        client.send("GET /byte HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(client.response().field("connection"), Some("keep-alive"));
    }
}

#[test]
fn a_page_is_complete_even_if_either_side_closes_after_it() {
    let server = start(1);
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.response().body, asset("page-100k.html"));
    assert!(client.has_ended());
    let mut client = server.connect();
    client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{HELLO}"));
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.response().body, asset("page-100k.html"));
    assert_eq!(client.response().body, "hello from prony\n");
    assert!(client.has_ended());
}

#[test]
fn other_paths_and_methods_are_refused_and_the_connection_stays() {
    let server = start(1);
    let mut client = server.connect();
    for target in ["/nothing", "*", "/hello/"] {
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(client.response().status, 404, "{target}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
        client.send(format!("{method} /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
        let response = client.response();
        let allow = response.field("allow");
        let expected = (405, Some("GET, HEAD"));
        assert_eq!((response.status, allow), expected, "{method}");
    }
    assert_eq!(client.get("http://b/hello?c").body, "hello from prony\n");
}

#[test]
fn bytes_that_are_no_request_are_refused_and_the_connection_ends() {
    let server = start(1);
    let head = "POST / HTTP/1.1\r\nHost: a\r\n";
    for (bytes, status) in [
        ("garbage\r\n\r\n", 400),
        ("GET /hello HTTP/1.1\r\n\r\n", 400),
        (&format!("{head}Transfer-Encoding: chunked\r\n\r\nno"), 400),
        (&format!("{head}Transfer-Encoding: gzip\r\n\r\n"), 501),
        (&format!("{head}X: {}\r\n\r\n", "x".repeat(100_000)), 431),
    ] {
        let mut client = server.connect();
        client.send(format!("{HELLO}{bytes}"));
        assert_eq!(client.response().status, 200);
        let response = client.response();
        let connection = response.field("connection");
        assert_eq!((response.status, connection), (status, Some("close")));
        assert!(client.has_ended(), "{status}");
    }
}

#[test]
fn a_client_that_never_reads_blocks_no_other() {
    let server = start(1);
    let mut deaf = server.connect();
    let requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
    deaf.socket.set_nonblocking(true).unwrap();
    let mut sent = 0;
    // Until the server takes no more requests, or more are sent than any buffer holds.
    while sent < 64 << 20 {
        let rest = &requests.as_bytes()[sent % requests.len()..];
        match deaf.socket.write(rest) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    let mut others: Vec<Client> = (0..10).map(|_| server.connect()).collect();
    for other in &mut others {
        assert_eq!(other.get("/hello").body, "hello from prony\n");
        assert_eq!(other.get("/").body.len(), 102_400);
    }
    // Once it reads, it gets every response.
    deaf.socket.set_nonblocking(false).unwrap();
    deaf.socket.shutdown(Shutdown::Write).unwrap();
    let whole = sent / (requests.len() / 1000);
    for number in 0..whole.min(500) {
        let length = deaf.response().body.len();
        assert_eq!(length, 102_400, "response {number} of {whole}");
    }
}

#[test]
fn a_client_that_disconnects_early_affects_no_other() {
    let server = start(1);
    for _ in 0..20 {
        let mut client = server.connect();
        let requests = "GET /sse HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50);
        client.send(requests + "GET /he");
        client.socket.read_exact(&mut [0]).unwrap();
        // Closed with responses unread: the server's next send fails with a reset.
    }
    assert_eq!(server.connect().get("/hello").status, 200);
}

#[test]
fn all_workers_serve() {
    let server = start(4);
    let mut clients: Vec<Client> = (0..64).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(HELLO);
    }
    for client in &mut clients {
        assert_eq!(client.response().body, "hello from prony\n");
    }
}
