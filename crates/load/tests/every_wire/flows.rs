//! Flows of a scenario: every shape of load sends them whole and in order.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{EventLoopChoice, Keep, LoadPlan, run};
use prony_model::{Ended, LoadResult, Outcome, Protocol};

use super::scenarios::{Step, Steps};
use super::server::CountingServer;
use super::{REQUESTS, SHAPES, plan};

/// How many requests a flow has.
const ENTRIES: u64 = 3;

fn steps() -> [Step; ENTRIES as usize] {
    let post = Step {
        method: "POST",
        body: 5000,
        keep: Keep::All,
        ..Step::GET
    };
    let last = Step {
        keep: Keep::Head,
        pause: Duration::from_millis(1),
        ..Step::GET
    };
    [Step::GET, post, last]
}

fn check(server: &CountingServer, plan: &LoadPlan, name: &str) {
    let before = server.requests();
    server.take_targets();
    let result = run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let wrong = &result.first_wrong;
    let requests = REQUESTS * ENTRIES;
    assert_eq!(result.outcomes[Outcome::Ok], requests, "{name}: {wrong:?}");
    assert_eq!(result.requests, requests, "{name}");
    assert_eq!(server.requests() - before, requests, "{name}");
    assert_eq!(result.ended, Ended::Requests, "{name}");
    check_flows(&result, name);
    check_order(&server.take_targets(), name);
    if let Some(open) = &result.open {
        assert_eq!((open.due, open.sent), (REQUESTS, REQUESTS), "{name}");
    }
}

fn check_flows(result: &LoadResult, name: &str) {
    let flows = result.flows.as_ref().unwrap();
    let counts = (flows.ok, flows.failed, flows.unfinished);
    assert_eq!(counts, (REQUESTS, 0, 0), "{name}");
    assert!(flows.duration_ns.is_some(), "{name}");
    assert_eq!(flows.entries.len() as u64, ENTRIES, "{name}");
    for (number, entry) in flows.entries.iter().enumerate() {
        assert_eq!(entry.name, format!("entry {number}"));
        let counts = (entry.requests, entry.outcomes[Outcome::Ok]);
        assert_eq!(counts, (REQUESTS, REQUESTS), "{name}: {}", entry.name);
    }
}

/// As the server sees it, each user goes through all entries in order, flow after flow.
fn check_order(targets: &[String], name: &str) {
    let mut users: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for target in targets {
        let (path, query) = target.split_once('?').unwrap();
        let entry = path.strip_prefix("/flow/").unwrap();
        let (user, flow) = query.split_once('&').unwrap();
        let flow = flow.strip_prefix("flow=").unwrap();
        let place = (flow.parse().unwrap(), entry.parse().unwrap());
        users.entry(user).or_default().push(place);
    }
    for (user, places) in users {
        let in_order = (0..places.len() as u64).map(|at| (at / ENTRIES + 1, at % ENTRIES));
        assert!(
            places.iter().copied().eq(in_order),
            "{name}: {user}: {places:?}"
        );
    }
}

fn every_shape_over(protocol: Protocol) {
    let server = CountingServer::start(protocol);
    let think_time = Duration::from_micros(500);
    for (event_loop, think_time) in [
        (EventLoopChoice::IoUring, None),
        (EventLoopChoice::Epoll, Some(think_time)),
    ] {
        for shape in &SHAPES {
            let mut plan = plan(&server, protocol, event_loop);
            (shape.apply)(&mut plan);
            // A user has one request in flight.
            plan.pipeline = 1;
            plan.flow_think_time = think_time;
            let url = format!("{}://{}/", protocol.scheme(), server.address());
            let steps = Steps::of(&url, &steps()).echoed_over(protocol.into());
            plan.request = steps.request().0;
            let (shape, protocol) = (shape.name, protocol.name());
            let name = format!("flows, {shape} over {protocol} and {event_loop}");
            check(&server, &plan, &name);
        }
    }
}

#[test]
fn every_shape_of_flows_works_over_http_1() {
    every_shape_over(Protocol::Http11);
}

#[test]
fn every_shape_of_flows_works_over_http_1_and_tls() {
    every_shape_over(Protocol::Https11);
}

#[test]
fn every_shape_of_flows_works_over_http_2() {
    every_shape_over(Protocol::H2c);
}

#[test]
fn every_shape_of_flows_works_over_http_2_and_tls() {
    every_shape_over(Protocol::H2);
}
