//! Event streams and streams of messages over every wire: Prony and the server count the same events.

use std::cell::OnceCell;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, Outcome, Protocol, Seconds};
use prony_traffic::CallKind;

use super::server::CountingServer;
use super::{GRPC, HTTP, REQUESTS, in_agents, loops_and_agents, plan, request};
use crate::parts_of;

const ENDLESS: u64 = u64::MAX;

/// Runs `check` with a plan for responses of `events` events, over each of these wires and each event loop, for one
/// process and for several agents.
fn of_events(protocols: &[Protocol], events: u64, check: impl Fn(&CountingServer, LoadPlan, &str)) {
    for (number, &protocol) in protocols.iter().enumerate() {
        // TLS does not always go with the same loop.
        for (event_loop, agents) in loops_and_agents(protocol, number / 2) {
            let server = CountingServer::start(protocol);
            let path = format!("events/{events}");
            let request = request(&server, protocol, CallKind::ServerStreaming, &path);
            let mut plan = plan(&server, protocol, event_loop).with(|plan| {
                plan.request = request;
                plan.load.events = true;
            });
            in_agents(&mut plan, agents);
            let name = format!("{} and {event_loop}, {agents} agents", protocol.name());
            check(&server, plan, &name);
        }
    }
}

fn load(plan: &LoadPlan, name: &str) -> LoadResult {
    let result = parts_of::load(&vec![plan.clone(); plan.agents], name);
    let wrong = &result.first_wrong;
    assert_eq!(result.requests, result.outcomes.total(), "{name}");
    assert_eq!(wrong.as_ref().map(|_| ()), None, "{name}: {wrong:?}");
    result
}

/// How many events each response has, and how many responses there are.
const EVENTS: u64 = 11;
const RESPONSES: u64 = 12;

fn every_event_counts(protocols: &[Protocol], in_flight: usize) {
    of_events(protocols, EVENTS, |server, plan, name| {
        let plan = plan.with(|plan| {
            plan.load.requests = Some(RESPONSES);
            plan.load.pipeline = in_flight;
            plan.load.first_byte = true;
        });
        let before = [server.requests(), server.events()];
        let result = load(&plan, name);
        assert_eq!(result.outcomes[Outcome::Ok], RESPONSES, "{name}");
        assert_eq!(server.requests() - before[0], RESPONSES, "{name}");
        let (events, all) = (result.events.as_ref().unwrap(), RESPONSES * EVENTS);
        let counts = (events.count, server.events() - before[1]);
        assert_eq!(counts, (all, all), "{name}");
        let counted = events.per_s * result.duration_s;
        assert!((counted - all as f64).abs() < 1e-6, "{name}: {counted}");
        // What holds however busy the machine is. `engine/tests/events.rs` has exact times.
        let (first, gap) = (
            events.first_ns.as_ref().unwrap(),
            events.gap_ns.as_ref().unwrap(),
        );
        let (byte, whole) = (
            result.first_byte_ns.as_ref().unwrap(),
            result.latency_ns.as_ref().unwrap(),
        );
        assert!(
            byte.min <= first.min && first.min <= whole.min,
            "{name}: {first:?}"
        );
        assert!(
            byte.max <= first.max && first.max <= whole.max,
            "{name}: {first:?}"
        );
        let last = first.mean + gap.mean * (EVENTS - 1) as f64;
        // The histograms' precision.
        assert!(last <= whole.mean * 1.01, "{name}: {last} of {whole:?}");
    });
}

#[test]
fn every_event_and_every_message_of_a_stream_counts_on_both_sides() {
    for (protocols, in_flight) in [(&HTTP[..], 1), (&HTTP, 4), (&GRPC, 1), (&GRPC, 4)] {
        every_event_counts(protocols, in_flight);
    }
}

#[test]
fn events_and_first_bytes_are_reported_only_on_request() {
    of_events(&HTTP[..1], 3, |_, plan, name| {
        let plan = plan.with(|plan| plan.load.events = false);
        let result = load(&plan, name);
        assert_eq!((result.events, result.first_byte_ns), (None, None));
        assert_eq!(result.streams, None);
    });
}

#[test]
fn a_response_of_one_event_has_no_gap() {
    of_events(&HTTP[..1], 1, |_, plan, name| {
        let plan = plan.with(|plan| plan.here.event_loop = EventLoopChoice::Auto);
        let events = load(&plan, name).events.unwrap();
        assert_eq!((events.count, events.gap_ns), (REQUESTS, None), "{name}");
    });
}

/// Whether a server has had `streams` requests, and has since then sent many events to each.
fn streaming(streams: u64, seen: impl Fn() -> (u64, u64)) -> impl Fn() -> bool {
    let all_open = OnceCell::new();
    move || {
        let (requests, events) = seen();
        requests == streams && events >= all_open.get_or_init(|| events) + 20 * streams
    }
}

#[test]
fn streams_are_held_open_beside_the_load() {
    of_events(&HTTP, ENDLESS, |server, plan, name| {
        let plan = plan.with(|plan| {
            plan.load.threads = 1;
            plan.load.streams = 5;
            plan.load.requests = None;
            plan.load.duration = Some(Seconds::from_secs(60));
        });
        let connections = plan.load.connections as u64;
        let is_enough = streaming(connections + 5, || (server.requests(), server.events()));
        let plans = vec![plan.clone(); plan.agents];
        let result = parts_of::interrupted_load(&plans, name, is_enough);
        assert_eq!(result.ended, Ended::Interrupted, "{name}");
        let unfinished = result.outcomes[Outcome::Unfinished];
        assert_eq!(unfinished, connections, "{name}");
        let streams = result.streams.unwrap();
        let counts = [streams.planned, streams.open_at_end, streams.requests];
        assert_eq!(counts, [5; 3], "{name}");
        assert_eq!(streams.outcomes[Outcome::Unfinished], 5, "{name}");
        assert_eq!(server.requests(), connections + 5, "{name}");
        let (own, held) = (result.events.unwrap().count, streams.events.count);
        let enough = own >= connections && held >= 5;
        assert!(enough, "{name}: {own} {held}");
        assert!(own + held <= server.events(), "{name}: {own} {held}");
        let times = (streams.events.first_ns, streams.events.gap_ns);
        assert!(times.0.is_some() && times.1.is_some(), "{name}: {times:?}");
    });
}

#[test]
fn streams_that_the_server_ends_are_reopened() {
    of_events(&HTTP, 4, |server, plan, name| {
        let plan = plan.with(|plan| {
            plan.load.connections = plan.agents;
            plan.load.threads = 1;
            plan.load.streams = 2;
            plan.load.requests = Some(10);
        });
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
