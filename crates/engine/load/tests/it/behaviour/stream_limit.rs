//! HTTP/2 connections without room for another stream: at first, for a while, or for ever.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use http::Method;
use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, Outcome, Seconds};
use prony_testkit::connections::serve;
use prony_testkit::until;

use crate::h2_frames::{HEADERS, SETTINGS, converse, go_away, most_streams, ok};
use crate::plans::{assert_outcomes, even, http2_plan_to, load, over_one_connection};

over_each_loop!(
    a_load_ends_if_the_server_allows_no_more_streams,
    a_request_that_waits_for_a_stream_until_its_deadline_is_shed,
    requests_wait_until_the_server_allows_streams,
    arrivals_go_to_connections_with_room,
    a_connection_that_has_room_again_takes_arrivals_again,
    no_request_times_out_in_line_for_a_stream
);

/// A server that allows no stream, and one after `pause` if there is a pause. It responds to requests that were sent
/// before its settings arrived.
fn without_streams(stream: TcpStream, mut pause: Option<Duration>) -> Option<()> {
    let writer = stream.try_clone().ok()?;
    converse(stream, &most_streams(0), |frame| {
        if let Some(pause) = pause.take() {
            let mut writer = writer.try_clone().unwrap();
            thread::spawn(move || {
                thread::sleep(pause);
                writer.write_all(&most_streams(1))
            });
        }
        match frame.kind {
            HEADERS => ok(frame.stream),
            _ => vec![],
        }
    })
}

/// Ten requests over three connections.
fn plan(event_loop: EventLoopChoice, pause: Option<Duration>) -> LoadPlan {
    let address = serve(move |stream| without_streams(stream, pause));
    http2_plan_to(event_loop, address, Method::GET, b"", 10)
}

fn a_load_ends_if_the_server_allows_no_more_streams(event_loop: EventLoopChoice) {
    let result =
        load(&plan(event_loop, None).with(|plan| plan.load.timeout = Seconds::from_millis(20)));
    assert_eq!(result.ended, Ended::Requests);
    // Each connection sends a request before it knows the limit.
    let timed_out = result.outcomes[Outcome::TimedOut];
    assert!(timed_out >= 7, "{:?}", result.outcomes);
    assert_eq!(timed_out + result.outcomes[Outcome::Ok], 10);
}

fn a_request_that_waits_for_a_stream_until_its_deadline_is_shed(event_loop: EventLoopChoice) {
    let result = load(&plan(event_loop, None).with(|plan| {
        plan.load.shape = even(50.0);
        plan.load.deadline = Some(Seconds::from_millis(100));
    }));
    let outcomes = result.outcomes;
    assert_eq!(outcomes.total(), 10, "{outcomes:?}");
    assert!(outcomes[Outcome::Shed] >= 7, "{outcomes:?}");
    assert_eq!(outcomes[Outcome::TimedOut], 0, "{outcomes:?}");
}

fn requests_wait_until_the_server_allows_streams(event_loop: EventLoopChoice) {
    let result = load(&plan(event_loop, Some(Duration::from_millis(30))));
    assert_outcomes(&result, "10 ok");
}

/// Ten requests over two connections. The server sends `notice` after the first request of the first one, and responds to
/// that request before it responds to the last of `others` ones. All requests succeed. Returns how many others the first
/// connection has had.
fn load_of_two(event_loop: EventLoopChoice, notice: &'static [u8], others: u64) -> u64 {
    let connections = Arc::new(AtomicU64::new(0));
    let counts: Arc<[AtomicU64; 2]> = Arc::default();
    let (counted, held) = (counts.clone(), Arc::new(Mutex::new(None)));
    let address = serve(move |stream| {
        let connection = connections.fetch_add(1, SeqCst) as usize;
        let mut first = (connection == 0).then(|| stream.try_clone().unwrap());
        converse(stream, &SETTINGS, |frame| {
            if frame.kind != HEADERS {
                return vec![];
            }
            if let Some(mut first) = first.take() {
                let _ = first.write_all(notice);
                *held.lock().unwrap() = Some(first);
                return vec![];
            }
            // A third connection may replace the first one.
            counted[connection.min(1)].fetch_add(1, SeqCst);
            let all: u64 = counted.iter().map(|count| count.load(SeqCst)).sum();
            if all >= others
                && let Some(mut first) = held.lock().unwrap().take()
            {
                let _ = first.write_all(&ok([0, 0, 0, 1]));
            }
            if connection == 0 && notice == GO_AWAY {
                // It was sent before the notice arrived, and will be sent again.
                return vec![];
            }
            ok(frame.stream)
        })
    });
    let result = load(
        &http2_plan_to(event_loop, address, Method::GET, b"", 10).with(|plan| {
            plan.load.connections = 2;
            plan.load.max_connections = Some(2);
            plan.load.pipeline = 2;
            plan.load.threads = 1;
            // The notice arrives before the third request, unless the machine is very busy.
            plan.load.shape = even(10.0);
        }),
    );
    assert_outcomes(&result, "10 ok");
    counts[0].load(SeqCst)
}

const ONE_STREAM: &[u8] = &most_streams(1);
/// No stream after the first is processed.
const GO_AWAY: &[u8] = &go_away(1);

fn arrivals_go_to_connections_with_room(event_loop: EventLoopChoice) {
    for notice in [GO_AWAY, ONE_STREAM] {
        // None of the other requests waits for the first one, which would have no response.
        load_of_two(event_loop, notice, 9);
    }
}

fn a_connection_that_has_room_again_takes_arrivals_again(event_loop: EventLoopChoice) {
    let of_first = load_of_two(event_loop, ONE_STREAM, 4);
    assert!(of_first > 0, "{of_first}");
}

fn no_request_times_out_in_line_for_a_stream(event_loop: EventLoopChoice) {
    let heads = Arc::new(AtomicU64::new(0));
    let counted = heads.clone();
    // A server that reads requests, and never says how many streams it takes.
    let address = serve(move |stream| {
        converse(stream, b"", |frame| {
            counted.fetch_add(u64::from(frame.kind == HEADERS), SeqCst);
            vec![]
        })
    });
    let result = load(
        &over_one_connection(http2_plan_to(event_loop, address, Method::GET, b"", 300)).with(
            |plan| {
                plan.load.pipeline = 300;
                plan.load.timeout = Seconds::from_secs(1);
            },
        ),
    );
    assert_outcomes(&result, "300 timed_out");
    until("each request", || (heads.load(SeqCst) == 300).then_some(()));
}
