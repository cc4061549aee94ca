//! Servers that close connections after whole responses, announced or not, cause no errors.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};

use crate::plans::{self, assert_outcomes, over_one_connection, plan_to};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    an_unannounced_close_is_no_error,
    only_an_idempotent_request_that_crossed_a_close_is_resent_and_only_once,
    reconnects_use_several_local_addresses
);

fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    method: &str,
    requests: u64,
) -> LoadPlan {
    plan_to(event_loop, server.address(), method, &[], b"", requests)
}

fn an_unannounced_close_is_no_error(event_loop: EventLoopChoice) {
    // wrk reported 1.35 million "read errors" for such a Rust server.
    let server = ScriptedServer::responding(HELLO, After::Close);
    let result = plans::load(&plan(event_loop, &server, "GET", 300));
    assert_outcomes(&result, "300 ok");
    server.catch_up(300, result.connections_opened);
    // The server never read requests that crossed a close, so each counts once on both sides.
    let counted = (server.requests(), server.connections());
    assert_eq!(counted, (300, result.connections_opened));
    assert!(result.reconnects >= 297, "{}", result.reconnects);
}

fn hello(stream: &mut TcpStream) -> After {
    stream.write_all(HELLO).unwrap();
    After::Keep
}

fn only_an_idempotent_request_that_crossed_a_close_is_resent_and_only_once(
    event_loop: EventLoopChoice,
) {
    let one_per_connection = ScriptedServer::start(|stream, number| match number {
        0 => hello(stream),
        _ => After::Close,
    });
    let responded = AtomicBool::new(false);
    let only_one = ScriptedServer::start(move |stream, _| {
        if responded.swap(true, SeqCst) {
            After::Close
        } else {
            hello(stream)
        }
    });
    let truncating = ScriptedServer::start(|stream, number| {
        if number == 0 {
            return hello(stream);
        }
        stream.write_all(&HELLO[..20]).unwrap();
        // Lets the client read the response before the close.
        thread::sleep(Duration::from_millis(5));
        After::Close
    });
    for (server, method, expected, resent, expected_reconnects) in [
        // Only the first one needs no new connection.
        (&one_per_connection, "GET", "30 ok", 29, 29..=29),
        (
            &one_per_connection,
            "POST",
            "15 ok and 15 reset",
            0,
            0..=u64::MAX,
        ),
        (&only_one, "GET", "1 ok and 29 reset", 1, 1..=u64::MAX),
        (
            &truncating,
            "GET",
            "15 ok and 15 truncated",
            0,
            0..=u64::MAX,
        ),
    ] {
        let before = server.requests();
        let plan = over_one_connection(plan(event_loop, server, method, 30));
        let result = plans::load(&plan);
        assert_outcomes(&result, expected);
        assert_eq!(result.resent, resent, "{expected}");
        let reconnects = result.reconnects;
        assert!(expected_reconnects.contains(&reconnects), "{reconnects}");
        assert_eq!(server.requests() - before, 30 + resent, "{expected}");
    }
}

fn reconnects_use_several_local_addresses(event_loop: EventLoopChoice) {
    let peers = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = peers.clone();
    let server = ScriptedServer::start(move |stream, _| {
        let peer = stream.peer_addr().unwrap().ip();
        seen.lock().unwrap().insert(peer);
        stream.write_all(HELLO).unwrap();
        After::Close
    });
    let result = plans::load(&plan(event_loop, &server, "GET", 200));
    assert_outcomes(&result, "200 ok");
    assert_eq!(result.port_waits, 0);
    let peers = peers.lock().unwrap();
    assert!(peers.len() > 10, "{peers:?}");
    assert!(peers.iter().all(|ip| ip.is_loopback()));
}
