//! HTTP/2 servers that allow no stream: the requests wait, but not for ever.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, Outcome};

use crate::h2_frames::{HEADERS, read_frame, read_preface, server};
use crate::plans::{self, assert_outcome, even, http2_plan_to};

over_each_loop!(
    a_load_ends_if_the_server_allows_no_more_streams,
    a_request_that_waits_for_a_stream_until_its_deadline_is_shed,
    requests_wait_until_the_server_allows_streams
);

/// `:status: 200`, and the end of the stream.
const RESPONSE: [u8; 2] = [1 | 4, 0x88];

/// Settings that allow no stream, and one after `pause` if there is a pause. The server responds to requests that were
/// sent before its settings arrived.
fn converse(mut stream: TcpStream, pause: Option<Duration>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    read_preface(&mut stream)?;
    writer.write_all(&limit(0)).ok()?;
    if let Some(pause) = pause {
        let mut writer = stream.try_clone().ok()?;
        thread::spawn(move || {
            thread::sleep(pause);
            writer.write_all(&limit(1))
        });
    }
    loop {
        let (kind, number) = read_frame(&mut stream)?;
        if kind == HEADERS {
            let [flags, block] = RESPONSE;
            let head = [&[0, 0, 1, HEADERS, flags][..], &number, &[block]].concat();
            writer.write_all(&head).ok()?;
        }
    }
}

/// SETTINGS with MAX_CONCURRENT_STREAMS.
fn limit(streams: u8) -> Vec<u8> {
    vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, streams]
}

/// Ten requests over three connections.
fn load(event_loop: EventLoopChoice, pause: Option<Duration>, timeout: Duration) -> LoadResult {
    load_as(event_loop, pause, |plan| LoadPlan { timeout, ..plan })
}

fn load_as(
    event_loop: EventLoopChoice,
    pause: Option<Duration>,
    change: impl FnOnce(LoadPlan) -> LoadPlan,
) -> LoadResult {
    let address = server(move |stream| converse(stream, pause));
    let plan = change(LoadPlan {
        ..http2_plan_to(event_loop, address, 10)
    });
    plans::load(&plan)
}

fn a_load_ends_if_the_server_allows_no_more_streams(event_loop: EventLoopChoice) {
    let result = load(event_loop, None, Duration::from_millis(20));
    let outcomes = result.outcomes;
    assert_eq!(result.ended, Ended::Requests);
    assert_eq!(outcomes.total(), 10, "{outcomes:?}");
    // Each connection sends a request before it knows the limit.
    assert!(outcomes[Outcome::TimedOut] >= 7, "{outcomes:?}");
    assert_eq!(
        outcomes[Outcome::TimedOut] + outcomes[Outcome::Ok],
        10,
        "{outcomes:?}"
    );
}

fn a_request_that_waits_for_a_stream_until_its_deadline_is_shed(event_loop: EventLoopChoice) {
    let shape = even(50.0);
    let result = load_as(event_loop, None, |plan| LoadPlan {
        shape,
        deadline: Some(Duration::from_millis(100)),
        ..plan
    });
    let outcomes = result.outcomes;
    assert_eq!(outcomes.total(), 10, "{outcomes:?}");
    assert!(outcomes[Outcome::Shed] >= 7, "{outcomes:?}");
    assert_eq!(outcomes[Outcome::TimedOut], 0, "{outcomes:?}");
}

fn requests_wait_until_the_server_allows_streams(event_loop: EventLoopChoice) {
    let result = load(
        event_loop,
        Some(Duration::from_millis(30)),
        Duration::from_secs(20),
    );
    assert_outcome(&result, Outcome::Ok, 10);
}
