//! When the events of a stream arrive.

use prony_model::LatencySummary;

use super::*;

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENT: &[u8] = b"9\r\ndata: x\n\n\r\n";
const END: &[u8] = b"0\r\n\r\n";

/// A response whose parts come after that many milliseconds.
fn in_parts<const N: usize>(parts: [(u64, &'static [u8]); N]) -> Vec<ResponsePart> {
    let part = |(at, bytes)| ResponsePart {
        after: at * MS,
        bytes,
    };
    parts.map(part).into()
}

/// Within the 0.1 % of a histogram.
#[track_caller]
fn assert_time(found: Option<&LatencySummary>, expected_ms: f64) {
    let found = found.unwrap();
    for time in [found.min as f64, found.max as f64, found.mean] {
        assert!(
            (time / (expected_ms * 1e6) - 1.0).abs() < 0.001,
            "{found:?}"
        );
    }
}

#[test]
fn the_first_byte_the_first_event_and_the_gaps_are_timed() {
    let plan = plan(LoadShape::Closed, 2, ms(10_000)).with(|plan| {
        plan.load.events = true;
        plan.load.first_byte = true;
        plan.load.requests = Some(10);
    });
    let server = SimulatedServer::new(Box::new(|_| {
        in_parts([(5, HEAD), (10, EVENT), (30, EVENT), (50, EVENT), (60, END)])
    }));
    let result = run(&plan, server);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 10)]);
    assert_eq!(result.duration_s, 0.3);
    assert_latencies(&result, 60, 60);
    assert_time(result.first_byte_ns.as_ref(), 5.0);
    let events = result.events.as_ref().unwrap();
    assert_eq!((events.count, events.per_s), (30, 100.0));
    assert_time(events.first_ns.as_ref(), 10.0);
    assert_time(events.gap_ns.as_ref(), 20.0);
}

#[test]
fn the_first_bytes_of_ok_responses_are_timed_as_their_latency_is() {
    const WRONG: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n";
    let plan = plan(LoadShape::Closed, 1, ms(10_000)).with(|plan| {
        plan.load.first_byte = true;
        plan.load.requests = Some(10);
    });
    let server = SimulatedServer::new(Box::new(|it| {
        in_parts(match it.number % 2 {
            0 => [(5, HEAD), (60, END)],
            _ => [(1, WRONG), (2, b"no")],
        })
    }));
    let result = run(&plan, server);
    assert_eq!(
        outcomes(&result),
        [(Outcome::Ok, 5), (Outcome::WrongStatus, 5)]
    );
    assert_latencies(&result, 60, 60);
    assert_time(result.first_byte_ns.as_ref(), 5.0);
}

#[test]
fn the_slowest_of_the_held_streams_is_named() {
    let plan = plan(LoadShape::Closed, 1, ms(1000)).with(|plan| {
        plan.load.events = true;
        plan.load.streams = 3;
    });
    // The load's own request gets no response. One stream has an event every 400 ms, the others every 100 ms.
    let server = SimulatedServer::new(Box::new(|it| {
        let every = match it.number {
            0 => 100,
            1 => 400,
            2 => 100,
            _ => return Vec::new(),
        };
        let head = ResponsePart {
            after: MS,
            bytes: HEAD,
        };
        let events = (1..=999 / every).map(|nth| ResponsePart {
            after: nth * every * MS,
            bytes: EVENT,
        });
        std::iter::once(head).chain(events).collect()
    }));
    let result = run(&plan, server);
    assert_eq!(outcomes(&result), [(Outcome::Unfinished, 1)]);
    let held = result.streams.unwrap();
    assert_eq!(
        (held.planned, held.open_at_end, held.events.count),
        (3, 3, 9 + 2 + 9)
    );
    let slowest = held.slowest.unwrap();
    assert_eq!((slowest.events, slowest.held_s), (2, 1.0));
}
