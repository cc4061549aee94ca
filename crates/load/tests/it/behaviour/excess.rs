//! Bytes beyond a response make one request malformed, in every shape of load.

use std::io::Write;
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{LoadShape, Outcome};

use crate::plans::{even, get_from, load};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    excess_bytes_with_a_response_make_it_malformed,
    excess_bytes_after_a_response_make_the_next_request_malformed,
    excess_bytes_after_a_skipped_body_are_noticed,
    excess_bytes_are_noticed_although_other_connections_are_free,
    a_408_on_an_idle_connection_is_no_outcome
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A request every 25 ms: the connection is idle in between.
fn rate() -> LoadShape {
    rate_of(40.0)
}

fn rate_of(per_s: f64) -> LoadShape {
    even(per_s)
}

fn shapes() -> [LoadShape; 4] {
    [
        LoadShape::Closed,
        rate(),
        LoadShape::UsersOpen { think_time_s: 0.02 },
        LoadShape::UsersClosed { think_time_s: 0.02 },
    ]
}

/// A load of 12 GETs over one connection at a time.
fn plan(event_loop: EventLoopChoice, server: &ScriptedServer, shape: LoadShape) -> LoadPlan {
    let mut plan = get_from(event_loop, server.address(), 12);
    (plan.connections, plan.max_connections, plan.threads) = (1, 1, 1);
    plan.shape = shape;
    plan
}

/// A server that sends `excess` after each response and a pause.
fn server(excess: &'static [u8], after: After) -> ScriptedServer {
    ScriptedServer::start(move |stream, _| {
        let _ = stream.write_all(HELLO);
        thread::sleep(Duration::from_millis(3));
        let _ = stream.write_all(excess);
        after
    })
}

fn excess_bytes_with_a_response_make_it_malformed(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding([HELLO, b"!"].concat(), After::Keep);
    for shape in shapes() {
        let result = load(&plan(event_loop, &server, shape));
        assert_eq!(result.outcomes[Outcome::Malformed], 12, "{result:?}");
        let detail = result.first_wrong.unwrap().detail;
        assert!(detail.contains("more bytes than"), "{detail}");
    }
}

/// Every other request finds the excess of the one before it. If some of it is read together with the response, there
/// are more.
fn at_least_every_other_is_malformed(event_loop: EventLoopChoice, server: &ScriptedServer) {
    for shape in shapes() {
        let result = load(&plan(event_loop, server, shape));
        let malformed = result.outcomes[Outcome::Malformed];
        assert!((6..=12).contains(&malformed), "{result:?}");
        assert_eq!(malformed + result.outcomes[Outcome::Ok], 12);
    }
}

fn excess_bytes_after_a_response_make_the_next_request_malformed(event_loop: EventLoopChoice) {
    at_least_every_other_is_malformed(event_loop, &server(b"!!", After::Keep));
}

fn excess_bytes_after_a_skipped_body_are_noticed(event_loop: EventLoopChoice) {
    const BODY: usize = 200_000;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n");
    let response = [head.as_bytes(), &[b'x'; BODY + 2]].concat();
    at_least_every_other_is_malformed(
        event_loop,
        &ScriptedServer::responding(response, After::Keep),
    );
}

fn excess_bytes_are_noticed_although_other_connections_are_free(event_loop: EventLoopChoice) {
    let server = server(b"!!", After::Keep);
    let mut plan = plan(event_loop, &server, rate());
    (plan.connections, plan.max_connections) = (12, 12);
    let result = load(&plan);
    let malformed = result.outcomes[Outcome::Malformed];
    // Half of them, but a busy machine may delay some of the excess until after the next arrival.
    assert!((3..=12).contains(&malformed), "{result:?}");
    assert_eq!(malformed + result.outcomes[Outcome::Ok], 12);
}

fn a_408_on_an_idle_connection_is_no_outcome(event_loop: EventLoopChoice) {
    let notice = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    let server = server(notice, After::Close);
    // Slow enough that the 408 always finds the connection idle.
    let mut plan = plan(event_loop, &server, rate_of(5.0));
    plan.requests = Some(4);
    let result = load(&plan);
    assert_eq!(result.outcomes[Outcome::Ok], 4, "{result:?}");
    assert_eq!(result.reconnects, 3);
}
