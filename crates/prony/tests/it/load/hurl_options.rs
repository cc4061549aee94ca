//! Options of the entries of Hurl files.

use std::fs;
use std::net::TcpListener;

use crate::common::run;
use crate::load::{load, outcome, result};
use prony_testkit::recorder::HttpServer;

#[test]
fn an_entry_may_take_less_time_than_the_others() {
    // The system accepts the connection, and nobody responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = format!("GET http://{address}/\n[Options]\nmax-time: 50ms\n");
    fs::write(folder.path().join("slow.hurl"), text).unwrap();
    let flags = ["slow.hurl", "--sequential", "-n2", "--timeout", "10m"];
    run(load(
        folder.path(),
        &[&flags[..], &["--json", "result.json"]].concat(),
    ))
    .with(1);
    let result = result(folder.path(), "result.json");
    assert_eq!(outcome(&result, "timed_out"), 2);
    let detail = &result["flows"]["entries"][0]["first_wrong"]["detail"];
    assert_eq!(detail, "no whole response within 50ms");
}

#[test]
fn requests_are_those_of_hurl_but_for_the_name_of_the_client() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let text = format!(
        "GET http://bob:secret@{0}/a/../b?c=d\nHTTP 200\n[Asserts]\nurl == \"http://{0}/b?c=d\"\n",
        server.address
    );
    fs::write(folder.path().join("one.hurl"), text).unwrap();
    run(load(folder.path(), &["one.hurl", "--sequential", "-n1"]))
        .with(0)
        .prints("1 ok flow");
    let sent = server.first();
    let mut lines: Vec<&str> = sent.head.lines().collect();
    lines[1..].sort_unstable();
    let host = format!("Host: {}", server.address);
    let expected = [
        "GET /b?c=d HTTP/1.1",
        &host,
        "accept: */*",
        "authorization: Basic Ym9iOnNlY3JldA==",
        concat!("user-agent: prony/", env!("CARGO_PKG_VERSION")),
    ];
    assert_eq!(lines, expected);
}
