//! Event streams over every wire of HTTP: Prony and the server count the same events.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan, run};
use prony_model::{Ended, LoadResult, Outcome, Protocol};

use super::events::GAP;
use super::server::CountingServer;
use super::{http_request, plan};

const PROTOCOLS: [Protocol; 4] = [
    Protocol::Http11,
    Protocol::Https11,
    Protocol::H2c,
    Protocol::H2,
];
const LOOPS: [EventLoopChoice; 2] = [EventLoopChoice::IoUring, EventLoopChoice::Epoll];
const ENDLESS: u64 = u64::MAX;

/// Runs `check` with a plan for responses of `events` events, over each wire and each event loop.
fn over_each(events: u64, check: impl Fn(&CountingServer, LoadPlan, &str)) {
    for protocol in PROTOCOLS {
        for event_loop in LOOPS {
            let server = CountingServer::start(protocol);
            let plan = LoadPlan {
                request: http_request(&server, protocol, &format!("events/{events}")).into(),
                events: true,
                ..plan(&server, protocol, event_loop)
            };
            let name = format!("{} and {event_loop}", protocol.name());
            check(&server, plan, &name);
        }
    }
}

fn load(plan: &LoadPlan, name: &str) -> LoadResult {
    let result = run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let wrong = &result.first_wrong;
    assert_eq!(result.requests, result.outcomes.total(), "{name}");
    assert_eq!(wrong.as_ref().map(|_| ()), None, "{name}: {wrong:?}");
    result
}

fn every_event_counts(in_flight: usize) {
    over_each(11, |server, plan, name| {
        let plan = LoadPlan {
            requests: Some(24),
            pipeline: in_flight,
            ..plan
        };
        let result = load(&plan, name);
        assert_eq!(result.outcomes[Outcome::Ok], 24, "{name}");
        let events = result.events.unwrap();
        assert_eq!(
            (events.count, server.events()),
            (24 * 11, 24 * 11),
            "{name}"
        );
        assert_eq!(server.requests(), 24, "{name}");
        let (first, latency) = (events.first_ns.unwrap().min, result.latency_ns.unwrap().min);
        let gaps = |count: u64| count * GAP.as_nanos() as u64;
        assert!(
            first >= gaps(1) && latency >= gaps(11),
            "{name}: {first} {latency}"
        );
        assert!(first < latency, "{name}: {first} {latency}");
        assert!(events.gap_ns.is_some(), "{name}");
    });
}

#[test]
fn every_event_counts_on_both_sides() {
    every_event_counts(1);
}

#[test]
fn every_event_counts_on_both_sides_with_several_requests_in_flight() {
    every_event_counts(4);
}

#[test]
fn streams_are_held_open_beside_the_load() {
    over_each(ENDLESS, |server, plan, name| {
        let plan = LoadPlan {
            connections: 2,
            streams: 5,
            requests: None,
            duration: Some(Duration::from_millis(600)),
            ..plan
        };
        let result = load(&plan, name);
        assert_eq!(result.ended, Ended::Duration, "{name}");
        assert_eq!(result.outcomes[Outcome::Unfinished], 2, "{name}");
        let streams = result.streams.unwrap();
        assert_eq!(
            (streams.planned, streams.open_at_end, streams.requests),
            (5, 5, 5),
            "{name}"
        );
        assert_eq!(streams.outcomes[Outcome::Unfinished], 5, "{name}");
        assert_eq!(server.requests(), 7, "{name}");
        let (own, held) = (result.events.unwrap().count, streams.events.count);
        assert!(own >= 2 && held >= 5, "{name}: {own} {held}");
        assert!(own + held <= server.events(), "{name}: {own} {held}");
    });
}

#[test]
fn streams_that_the_server_ends_are_reopened() {
    over_each(4, |server, plan, name| {
        let plan = LoadPlan {
            connections: 1,
            threads: 1,
            streams: 2,
            requests: Some(10),
            ..plan
        };
        let result = load(&plan, name);
        assert_eq!(result.outcomes[Outcome::Ok], 10, "{name}");
        assert_eq!(result.events.unwrap().count, 40, "{name}");
        let streams = result.streams.unwrap();
        let ended = streams.outcomes[Outcome::Ok];
        let in_flight = streams.outcomes[Outcome::Unfinished];
        assert!(ended >= 2, "{name}: {:?}", streams.outcomes);
        assert_eq!(streams.requests, ended + in_flight, "{name}");
        let counted = streams.events.count;
        let expected = ended * 4..=(ended + in_flight) * 4;
        assert!(expected.contains(&counted), "{name}: {counted}");
        assert!(40 + counted <= server.events(), "{name}: {counted}");
    });
}
