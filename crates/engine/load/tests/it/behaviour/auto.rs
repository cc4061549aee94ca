//! An automatic event loop: a load starts with epoll, and continues with io_uring once its
//! responses have turned out to be short.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan, SampleChoice, Sampling};
use prony_model::{LoadResult, Outcome, Seconds};
use prony_testkit::slow_acceptor::slow_acceptor;
use prony_testkit::until;
use prony_traffic::Expected;
use prony_traffic::expected::{Amount, BodyRules};

use crate::plans::{self, assert_outcomes, even, get_from, plan_to};
use crate::scripted::{After, ScriptedServer};

const AUTO: EventLoopChoice = EventLoopChoice::Auto;

fn response(body_bytes: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n");
    [head.as_bytes(), &vec![b'x'; body_bytes]].concat()
}

fn server(body_bytes: usize) -> ScriptedServer {
    ScriptedServer::responding(response(body_bytes), After::Keep)
}

/// Runs a load that accepts every response of `server`; both sides must count the same.
fn load(plan: &LoadPlan, server: &ScriptedServer) -> LoadResult {
    let result = plans::load(plan);
    let requests = plan.load.requests.unwrap();
    assert_eq!(result.outcomes[Outcome::Ok], requests, "{result:?}");
    assert_eq!(server.requests(), requests);
    assert_eq!(result.connections_opened, server.connections());
    result
}

fn event_loop(plan: &LoadPlan, server: &ScriptedServer) -> String {
    load(plan, server).generator.event_loop
}

#[test]
fn the_first_responses_choose_the_event_loop() {
    for (body_bytes, expected) in [(0, "io_uring"), (1000, "io_uring"), (100 * 1024, "epoll")] {
        let server = server(body_bytes);
        let plan = get_from(AUTO, server.address(), 200);
        assert_eq!(event_loop(&plan, &server), expected, "{body_bytes}");
    }
}

#[test]
fn a_single_request_is_a_single_request() {
    let server = server(5);
    load(&get_from(AUTO, server.address(), 1), &server);
}

#[test]
fn a_given_loop_or_length_needs_no_response() {
    let (short, long) = (server(5), server(100 * 1024));
    for choice in [EventLoopChoice::IoUring, EventLoopChoice::Epoll] {
        for server in [&short, &long] {
            let result = plans::load(
                &get_from(AUTO, server.address(), 50).with(|plan| plan.here.event_loop = choice),
            );
            assert_eq!(result.generator.event_loop, choice.to_string());
        }
    }
    // All responses are wrong, and shorter than the load expects.
    let check = Arc::new(Expected {
        body: BodyRules {
            size: Some(Amount::exactly(100 * 1024)),
            ..BodyRules::default()
        },
        ..Expected::default()
    });
    let choice = SampleChoice::AtRandom;
    let result = plans::load(
        &get_from(AUTO, short.address(), 50)
            .with(|plan| plan.sampling = Some(Sampling { check, choice })),
    );
    assert_outcomes(&result, "50 wrong_body");
    assert_eq!(result.generator.event_loop, "epoll");
}

/// Requests are partly sent, and responses have partly arrived, when the event loop changes.
#[test]
fn exchanges_survive_a_change_of_the_loop() {
    let (is_first, has_changed) = (AtomicBool::new(true), AtomicBool::new(false));
    let server = ScriptedServer::start(move |stream, number| {
        if is_first.swap(false, SeqCst) {
            let _ = stream.write_all(&response(5));
            return After::Keep;
        }
        // The first response has chosen the loop before the whole second request on its connection is sent. Until then no
        // other response may be long.
        if number > 0 {
            has_changed.store(true, SeqCst);
        }
        // Head, body and end arrive separately.
        let response = response(60_000);
        let _ = stream.write_all(&response[..10]);
        until("a second request", || {
            has_changed.load(SeqCst).then_some(())
        });
        for piece in [&response[10..30_000], &response[30_000..]] {
            thread::sleep(Duration::from_millis(3));
            let _ = stream.write_all(piece);
        }
        After::Keep
    });
    // More than the sockets' buffers hold.
    let body = vec![b'b'; 8 * 1024 * 1024];
    let mut plan = plan_to(AUTO, server.address(), "POST", &[], &body, 24);
    (plan.load.connections, plan.load.threads) = (12, 1);
    let result = load(&plan, &server);
    assert_eq!(result.generator.event_loop, "io_uring");
    assert_eq!((result.reconnects, result.resent), (0, 0));
}

/// Connections are being opened when the event loop changes, and afterwards.
#[test]
fn connections_may_come_and_go_while_the_loop_changes() {
    let server = ScriptedServer::responding(response(5), After::Close);
    let mut plan = get_from(AUTO, server.address(), 2000);
    (plan.load.connections, plan.load.threads) = (64, 2);
    assert_eq!(event_loop(&plan, &server), "io_uring");
}

#[test]
fn pending_connects_survive_a_change_of_the_loop() {
    // 100 per second over new connections, of which only some find room in the server's queue.
    let closing = &["Connection: close"];
    let result = plans::load(
        &plan_to(AUTO, slow_acceptor(), "GET", closing, b"", 60).with(|plan| {
            plan.load.shape = even(100.0);
            plan.load.timeout = Seconds::from_millis(300);
            plan.load.connections = 20;
            plan.load.max_connections = Some(40);
            plan.load.threads = 1;
        }),
    );
    assert_eq!(result.requests, 60);
    let outcomes = [Outcome::Ok, Outcome::TimedOut].map(|it| result.outcomes[it]);
    assert!(!outcomes.contains(&0), "{:?}", result.outcomes);
    assert_eq!(result.generator.event_loop, "io_uring");
}
