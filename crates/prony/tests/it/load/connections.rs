//! Connections: how long they last, and their addresses.

use prony_testkit::contains;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use crate::load::{Ceiling, loaded, outcome};
use prony_testkit::recorder::HttpServer;

#[test]
fn requests_are_pipelined() {
    let ceiling = Ceiling::start();
    let flags = words!("--pipeline 16 -c2 -t1 -n1000 --expect-length 17");
    let (shown, result) = loaded(&[&flags[..], &[&ceiling.url("hello")]].concat());
    assert!(shown.contains("pipelined 16 deep"), "{shown}");
    assert_eq!(result["load"]["pipeline"], 16);
    assert_eq!(outcome(&result, "ok"), 1000);
    assert_eq!(result["connections_opened"], 2);
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let ceiling = Ceiling::start();
    let (_, result) = loaded(&["--no-keepalive", "-c2", "-n60", &ceiling.url("hello")]);
    assert_eq!(outcome(&result, "ok"), 60);
    assert_eq!(result["connections_opened"], 60);

    let server = HttpServer::start();
    loaded(&["--no-keepalive", "-c1", "-n3", &server.url()]);
    let head = server.first().head;
    assert!(head.contains("\nconnection: close\n"), "{head}");
}

#[test]
fn a_connection_ends_after_n_requests() {
    let ceiling = Ceiling::start();
    let flags = ["--requests-per-connection", "5", "-c1", "-t1", "-n20"];
    let (shown, result) = loaded(&[&flags[..], &[&ceiling.url("hello")]].concat());
    contains(&shown, "a new connection every 5 requests");
    assert_eq!(result["load"]["requests_per_connection"], 5);
    assert_eq!(outcome(&result, "ok"), 20);
    assert_eq!(result["connections_opened"], 4);
}

#[test]
fn a_name_resolves_to_the_given_address() {
    let server = HttpServer::start();
    let port = server.address.port();
    // This name never resolves (RFC 6761).
    let url = format!("http://shop.invalid:{port}/");
    let resolve = format!("Shop.invalid:{port}:127.0.0.1");
    let (shown, result) = loaded(&["--resolve", &resolve, "-n5", "-c1", &url]);
    assert!(
        shown.starts_with(&format!("GET {url} (127.0.0.1:{port})\n")),
        "{shown}"
    );
    assert_eq!(outcome(&result, "ok"), 5);
    let head = server.first().head;
    contains(&head, &format!("\nHost: shop.invalid:{port}\n"));
}

#[test]
fn connections_come_from_the_given_addresses() {
    let server = HttpServer::start();
    let url = server.url();
    let (_, result) = loaded(&words!("--source 127.0.0.7,127.0.0.9 -c4 -t1 -n40", &url));
    assert_eq!(outcome(&result, "ok"), 40);
    let all = server.all();
    let seen: BTreeSet<String> = all.iter().map(|it| it.peer.ip().to_string()).collect();
    let seen: Vec<String> = seen.into_iter().collect();
    assert_eq!(seen, ["127.0.0.7", "127.0.0.9"]);
}

#[test]
fn a_unix_socket_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // It ends with the test's process.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || while response(&mut stream) {});
        }
    });
    let flags = ["--unix-socket", path.to_str().unwrap(), "-c2", "-n30"];
    let (shown, result) = loaded(&[&flags[..], &["http://shop.invalid/x"]].concat());
    let address = format!("unix:{}", path.display());
    assert!(shown.contains(&address), "{shown}");
    assert_eq!(result["target"]["address"], address);
    assert_eq!(outcome(&result, "ok"), 30);
}

/// Responds to a request whose head arrives in one piece; `false` if there is none.
fn response(stream: &mut (impl Read + Write)) -> bool {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(length) => head.extend_from_slice(&buffer[..length]),
        }
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        .is_ok()
}
