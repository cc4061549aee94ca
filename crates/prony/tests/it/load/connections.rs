//! Connections: how long they last, and their addresses.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use crate::load::{Ceiling, Folder, Holds, loaded, loads};
use prony_testkit::recorder::HttpServer;
use prony_testkit::{contains, starts_with};

#[test]
fn connections_last_as_long_as_the_flags_say() {
    let ceiling = Ceiling::start();
    loads(
        &ceiling.url("hello"),
        "
        --pipeline 16 -c2 -t1 -n1000 --expect-length 17 | pipelined 16 deep | load.pipeline=16 outcomes.ok=1000 connections_opened=2
        --no-keepalive -c2 -n60 | closed loop | outcomes.ok=60 connections_opened=60
        --requests-per-connection 5 -c1 -t1 -n20 | a new connection every 5 requests | load.requests_per_connection=5 outcomes.ok=20 connections_opened=4
    ",
    );
    let server = HttpServer::start();
    loaded(format!("--no-keepalive -c1 -n3 {}", server.url()));
    contains(&server.first().head, "\nconnection: close\n");
}

#[test]
fn a_name_resolves_to_the_given_address() {
    let server = HttpServer::start();
    let port = server.address.port();
    // This name never resolves (RFC 6761).
    let url = format!("http://shop.invalid:{port}/");
    let (ended, result) = loaded(format!(
        "--resolve Shop.invalid:{port}:127.0.0.1 -n5 -c1 {url}"
    ));
    starts_with(&ended.stdout, &format!("GET {url} (127.0.0.1:{port})\n"));
    result.holds("outcomes.ok=5");
    let host = format!("\nHost: shop.invalid:{port}\n");
    contains(&server.first().head, &host);
}

#[test]
fn connections_come_from_the_given_addresses() {
    let server = HttpServer::start();
    let flags = "--source 127.0.0.7,127.0.0.9 -c4 -t1 -n40";
    let (_, result) = loaded(format!("{flags} {}", server.url()));
    result.holds("outcomes.ok=40");
    let all = server.all();
    let seen: BTreeSet<String> = all.iter().map(|it| it.peer.ip().to_string()).collect();
    assert!(seen.iter().eq(["127.0.0.7", "127.0.0.9"]), "{seen:?}");
}

#[test]
fn a_unix_socket_is_loaded() {
    let folder = Folder::new();
    let path = folder.path("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // It ends with the test's process.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || while response(&mut stream).is_some() {});
        }
    });
    let path = path.display();
    let (ended, result) = loaded(format!(
        "--unix-socket {path} -c2 -n30 http://shop.invalid/x"
    ));
    ended.prints(&format!("unix:{path}"));
    result.holds(&format!("target.address=unix:{path} outcomes.ok=30"));
}

/// Responds to a request; `None` if there is none.
fn response(stream: &mut (impl Read + Write)) -> Option<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    stream.write_all(response).ok()
}
