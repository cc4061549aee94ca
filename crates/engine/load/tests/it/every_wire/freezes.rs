//! Rates over every wire against a server that freezes: latencies begin at the due time, so those of the requests that
//! were due in the freeze have the rest of it, wherever they waited.

use std::thread;
use std::time::Duration;

use prony_load::EventLoopChoice;
use prony_model::{LatencyHistogram, Outcome, Protocol};
use prony_traffic::CallKind;

use super::server::{CountingServer, FREEZE};
use super::{ALL, over_each, plan, request};
use crate::plans::{even, load};

/// One request every 5 ms.
const RATE: f64 = 200.0;
const BETWEEN: Duration = Duration::from_millis(5);
const REQUESTS: u64 = 240;
/// The server freezes when it receives this one; there is time for all of the freeze even if it receives it late.
const FROZEN_BY: u64 = 60;
/// How many connections the load has, and how many requests each of them may have in flight.
const ROOM: [(&str, usize, usize); 2] = [
    ("room for few requests", 2, 4),
    ("room for all requests", 1, 100),
];

/// However busy the machine is, the n-th request that is due in the freeze is due at most n intervals after its start
/// and has no response before its end.
fn check_latencies(latencies: &LatencyHistogram, name: &str) {
    let due_in_freeze = FREEZE.as_millis() / BETWEEN.as_millis();
    for number in 1..due_in_freeze as u32 {
        let left = FREEZE - BETWEEN * number;
        let rank = (REQUESTS - u64::from(number)) as f64 + 0.5;
        let latency = Duration::from_nanos(latencies.value_at(rank / REQUESTS as f64));
        // The histogram's precision.
        let is_long = latency >= left.mul_f64(0.99);
        assert!(
            is_long,
            "{name}: {latency:?}, the {number}. longest, of at least {left:?}"
        );
    }
}

fn check(
    protocol: Protocol,
    event_loop: EventLoopChoice,
    (room, connections, in_flight): (&str, usize, usize),
) {
    let server = CountingServer::start(protocol);
    let path = format!("freeze/{FROZEN_BY}");
    let request = request(&server, protocol, CallKind::Unary, &path);
    let result = load(&plan(&server, protocol, event_loop).with(|plan| {
        plan.request = request;
        plan.load.shape = even(RATE);
        plan.load.requests = Some(REQUESTS);
        plan.load.connections = connections;
        plan.load.max_connections = Some(connections);
        plan.load.threads = connections;
        plan.load.pipeline = in_flight;
    }));
    let name = format!("{room} over {} and {event_loop}", protocol.name());
    let wrong = &result.first_wrong;
    assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{name}: {wrong:?}");
    let open = result.open.unwrap();
    assert_eq!((open.due, open.sent), (REQUESTS, REQUESTS), "{name}");
    assert_eq!(server.requests(), REQUESTS, "{name}");
    let latencies = LatencyHistogram::from_base64(&result.histogram).unwrap();
    check_latencies(&latencies, &name);
}

/// At the same time: all that these loads do is wait.
#[test]
fn latencies_over_every_wire_have_the_freeze() {
    let loops = [EventLoopChoice::IoUring, EventLoopChoice::Epoll];
    over_each(&ALL, |protocol| {
        thread::scope(|scope| {
            for (event_loop, room) in loops.into_iter().flat_map(|it| ROOM.map(|room| (it, room))) {
                scope.spawn(move || check(protocol, event_loop, room));
            }
        });
    });
}
