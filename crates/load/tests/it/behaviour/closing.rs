//! Servers that close connections after whole responses, announced or not, cause no errors.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_load::EventLoopChoice;
use prony_model::{LoadResult, Outcome};

use crate::plans::{self, assert_outcome, plan_to};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    an_unannounced_close_is_no_error,
    a_request_that_crossed_the_close_is_resent_once,
    a_request_that_is_not_idempotent_is_not_resent,
    a_server_that_never_responds_gets_no_resent_request,
    a_request_is_resent_only_once,
    a_truncated_response_is_not_requested_again,
    reconnects_use_several_local_addresses
);

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn load(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    method: &str,
    requests: u64,
) -> LoadResult {
    load_over(event_loop, 3, server, method, requests)
}

fn load_over(
    event_loop: EventLoopChoice,
    connections: usize,
    server: &ScriptedServer,
    method: &str,
    requests: u64,
) -> LoadResult {
    let mut plan = plan_to(event_loop, server.address(), method, &[], b"", requests);
    (plan.connections, plan.threads) = (connections, connections.min(2));
    let result = plans::load(&plan);
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

fn an_unannounced_close_is_no_error(event_loop: EventLoopChoice) {
    // wrk reported 1.35 million "read errors" for such a Rust server.
    let server = ScriptedServer::responding(HELLO, After::Close);
    let result = load(event_loop, &server, "GET", 300);
    assert_outcome(&result, Outcome::Ok, 300);
    server.catch_up(300, result.connections_opened);
    // The server never read requests that crossed a close, so each counts once on both sides.
    assert_eq!(server.requests(), 300);
    assert_eq!(server.connections(), result.connections_opened);
    assert!(result.reconnects >= 297, "{}", result.reconnects);
}

fn a_request_that_crossed_the_close_is_resent_once(event_loop: EventLoopChoice) {
    let server = one_response_per_connection();
    let result = load(event_loop, &server, "GET", 30);
    assert_outcome(&result, Outcome::Ok, 30);
    // Three connections serve one request each, and every other request needs a new connection.
    assert_eq!((result.resent, result.reconnects), (27, 27));
    assert_eq!(server.requests(), 30 + 27);
}

fn a_request_that_is_not_idempotent_is_not_resent(event_loop: EventLoopChoice) {
    let server = one_response_per_connection();
    let result = load_over(event_loop, 1, &server, "POST", 30);
    assert_eq!(result.resent, 0);
    assert_eq!(server.requests(), 30);
    assert_outcome(&result, Outcome::Ok, 15);
    assert_outcome(&result, Outcome::Reset, 15);
}

fn a_server_that_never_responds_gets_no_resent_request(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding("", After::Close);
    let result = load(event_loop, &server, "GET", 30);
    assert_eq!((result.outcomes[Outcome::Reset], result.resent), (30, 0));
    assert_eq!(server.requests(), 30);
}

fn a_request_is_resent_only_once(event_loop: EventLoopChoice) {
    // The first response is the only one ever.
    let responded = Arc::new(AtomicBool::new(false));
    let server = ScriptedServer::start(move |stream, _| {
        if responded.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return After::Close;
        }
        stream.write_all(HELLO.as_bytes()).unwrap();
        After::Keep
    });
    let result = load_over(event_loop, 1, &server, "GET", 5);
    assert_outcome(&result, Outcome::Ok, 1);
    assert_eq!((result.outcomes[Outcome::Reset], result.resent), (4, 1));
    assert_eq!(server.requests(), 6);
}

fn a_truncated_response_is_not_requested_again(event_loop: EventLoopChoice) {
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
    let result = load_over(event_loop, 1, &server, "GET", 12);
    assert_outcome(&result, Outcome::Ok, 6);
    assert_eq!((result.outcomes[Outcome::Truncated], result.resent), (6, 0));
}

fn reconnects_use_several_local_addresses(event_loop: EventLoopChoice) {
    let peers = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = peers.clone();
    let server = ScriptedServer::start(move |stream, _| {
        seen.lock()
            .unwrap()
            .insert(stream.peer_addr().unwrap().ip());
        stream.write_all(HELLO.as_bytes()).unwrap();
        After::Close
    });
    let result = load(event_loop, &server, "GET", 200);
    assert_outcome(&result, Outcome::Ok, 200);
    assert_eq!(result.port_waits, 0);
    let peers = peers.lock().unwrap();
    assert!(peers.len() > 10, "{peers:?}");
    assert!(peers.iter().all(|ip| ip.is_loopback()));
}
