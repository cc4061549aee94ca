//! Servers that close connections after whole responses, announced or not, cause no errors.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_load::run;
use prony_model::{LoadResult, Outcome};

use super::plans::plan_to;
use super::scripted::{After, ScriptedServer};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn load(server: &ScriptedServer, method: &str, requests: u64) -> LoadResult {
    load_over(3, server, method, requests)
}

fn load_over(
    connections: usize,
    server: &ScriptedServer,
    method: &str,
    requests: u64,
) -> LoadResult {
    let mut plan = plan_to(server.address(), method, &[], b"", requests);
    (plan.connections, plan.threads) = (connections, connections.min(2));
    let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(result.requests, requests);
    assert_eq!(result.outcomes.total(), requests);
    result
}

/// Responds to the first request on a connection, and closes on the second.
fn one_response_per_connection() -> ScriptedServer {
    ScriptedServer::start(|stream, number| {
        if number == 1 {
            return After::Close;
        }
        stream.write_all(HELLO.as_bytes()).unwrap();
        After::Keep
    })
}

#[test]
fn an_unannounced_close_is_no_error() {
    // wrk reported 1.35 million "read errors" for such a Rust server.
    let server = ScriptedServer::responding(HELLO, After::Close);
    let result = load(&server, "GET", 300);
    assert_eq!(
        result.outcomes[Outcome::Ok],
        300,
        "{:?}",
        result.first_wrong
    );
    server.catch_up(300, result.connections_opened);
    // The server never read requests that crossed a close, so each counts once on both sides.
    assert_eq!(server.requests(), 300);
    assert_eq!(server.connections(), result.connections_opened);
    assert!(result.reconnects >= 297, "{}", result.reconnects);
}

#[test]
fn a_request_that_crossed_the_close_is_resent_once() {
    let server = one_response_per_connection();
    let result = load(&server, "GET", 30);
    assert_eq!(result.outcomes[Outcome::Ok], 30, "{:?}", result.first_wrong);
    // Three connections serve one request each, and every other request needs a new connection.
    assert_eq!((result.resent, result.reconnects), (27, 27));
    assert_eq!(server.requests(), 30 + 27);
}

#[test]
fn a_request_that_is_not_idempotent_is_not_resent() {
    let server = one_response_per_connection();
    let result = load_over(1, &server, "POST", 30);
    assert_eq!(result.resent, 0);
    assert_eq!(server.requests(), 30);
    assert_eq!(result.outcomes[Outcome::Ok], 15);
    assert_eq!(result.outcomes[Outcome::Reset], 15);
}

#[test]
fn a_server_that_never_responds_gets_no_resent_request() {
    let server = ScriptedServer::responding("", After::Close);
    let result = load(&server, "GET", 30);
    assert_eq!((result.outcomes[Outcome::Reset], result.resent), (30, 0));
    assert_eq!(server.requests(), 30);
}

#[test]
fn a_request_is_resent_only_once() {
    // The first response is the only one ever.
    let responded = Arc::new(AtomicBool::new(false));
    let server = ScriptedServer::start(move |stream, _| {
        if responded.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return After::Close;
        }
        stream.write_all(HELLO.as_bytes()).unwrap();
        After::Keep
    });
    let result = load_over(1, &server, "GET", 5);
    assert_eq!(result.outcomes[Outcome::Ok], 1);
    assert_eq!((result.outcomes[Outcome::Reset], result.resent), (4, 1));
    assert_eq!(server.requests(), 6);
}

#[test]
fn a_truncated_response_is_not_requested_again() {
    let server = ScriptedServer::start(|stream, number| {
        let response = if number == 0 { HELLO } else { &HELLO[..20] };
        stream.write_all(response.as_bytes()).unwrap();
        // Lets the client read the response before the close.
        thread::sleep(Duration::from_millis(5));
        if number == 0 {
            After::Keep
        } else {
            After::Close
        }
    });
    let result = load_over(1, &server, "GET", 12);
    assert_eq!(result.outcomes[Outcome::Ok], 6);
    assert_eq!((result.outcomes[Outcome::Truncated], result.resent), (6, 0));
}

#[test]
fn reconnects_use_several_local_addresses() {
    let peers = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = peers.clone();
    let server = ScriptedServer::start(move |stream, _| {
        seen.lock()
            .unwrap()
            .insert(stream.peer_addr().unwrap().ip());
        stream.write_all(HELLO.as_bytes()).unwrap();
        After::Close
    });
    let result = load(&server, "GET", 200);
    assert_eq!(
        result.outcomes[Outcome::Ok],
        200,
        "{:?}",
        result.first_wrong
    );
    assert_eq!(result.port_waits, 0);
    let peers = peers.lock().unwrap();
    assert!(peers.len() > 10, "{peers:?}");
    assert!(peers.iter().all(|ip| ip.is_loopback()));
}
