//! Bytes beyond a response make one request malformed, in every shape of load.

use std::io::Write;
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{LoadShape, Outcome};
use prony_testkit::{contains, until};

use crate::plans::{assert_outcomes, even, get_from, load, over_one_connection, shapes};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    excess_bytes_with_a_response_make_it_malformed,
    excess_bytes_after_a_response_make_the_next_request_malformed,
    excess_bytes_are_noticed_although_other_connections_are_free,
    a_408_on_an_idle_connection_is_no_outcome
);

/// Between two arrivals: connections are idle then.
const MEAN_S: f64 = 0.02;

/// A load of 12 GETs over one connection at a time.
fn plan(event_loop: EventLoopChoice, server: &ScriptedServer, shape: LoadShape) -> LoadPlan {
    over_one_connection(get_from(event_loop, server.address(), 12))
        .with(|plan| plan.load.shape = shape)
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
    for excess in [b"!".as_slice(), HELLO] {
        let server = ScriptedServer::responding([HELLO, excess].concat(), After::Keep);
        for shape in shapes(MEAN_S) {
            let result = load(&plan(event_loop, &server, shape));
            assert_outcomes(&result, "12 malformed");
            contains(&result.first_wrong.unwrap().detail, "more bytes than");
        }
    }
}

/// At least as many are malformed, and the others are ok.
#[track_caller]
fn assert_malformed(plan: &LoadPlan, server: &ScriptedServer, least: u64) {
    let before = server.requests();
    let result = load(plan);
    // Each of them was a request. The last may be malformed before the server has read it.
    until("every request", || {
        (server.requests() - before >= 12).then_some(())
    });
    assert_eq!(server.requests() - before, 12);
    let malformed = result.outcomes[Outcome::Malformed];
    assert!((least..=12).contains(&malformed), "{result:?}");
    assert_eq!(malformed + result.outcomes[Outcome::Ok], 12);
}

fn excess_bytes_after_a_response_make_the_next_request_malformed(event_loop: EventLoopChoice) {
    // A single byte: a second one that came after the client has closed the connection would reset it, with the next request.
    let late = server(b"!", After::Keep);
    // The engine skips a body of this length.
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n";
    let skipped = [&head[..], &[b'x'; 200_001]].concat();
    for server in [late, ScriptedServer::responding(skipped, After::Keep)] {
        for shape in shapes(MEAN_S) {
            // Every other request finds the excess of the one before it. If some of it is read together with the
            // response, there are more.
            assert_malformed(&plan(event_loop, &server, shape), &server, 6);
        }
    }
}

fn excess_bytes_are_noticed_although_other_connections_are_free(event_loop: EventLoopChoice) {
    let server = server(b"!!", After::Keep);
    let plan = plan(event_loop, &server, even(10.0)).with(|plan| {
        plan.load.connections = 12;
        plan.load.max_connections = Some(12);
    });
    // Half of them or more, but a busy machine may delay some of the excess until after the next arrivals, for which there are enough
    // other connections.
    assert_malformed(&plan, &server, 1);
}

fn a_408_on_an_idle_connection_is_no_outcome(event_loop: EventLoopChoice) {
    let notice = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    let server = server(notice, After::Close);
    let result =
        load(&plan(event_loop, &server, even(0.5)).with(|plan| plan.load.requests = Some(2)));
    assert_outcomes(&result, "2 ok");
    assert_eq!(result.reconnects, 1);
}
