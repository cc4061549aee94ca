//! Flows of a scenario: every shape of load sends them whole and in order, from one process or several agents.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, Outcome};
use prony_traffic::Keep;

use super::server::CountingServer;
use super::{HTTP, REQUESTS, SHAPES, in_agents, loops_and_agents, over_each, plan};
use crate::parts_of::load;
use crate::scenarios::{Step, flows_of};

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

fn check(server: &CountingServer, plans: &[LoadPlan], name: &str) {
    let before = server.requests();
    server.take_targets();
    let result = load(plans, name);
    let wrong = &result.first_wrong;
    let requests = REQUESTS * ENTRIES;
    assert_eq!(result.outcomes[Outcome::Ok], requests, "{name}: {wrong:?}");
    assert_eq!(result.requests, requests, "{name}");
    assert_eq!(server.requests() - before, requests, "{name}");
    assert_eq!(result.ended, Ended::Requests, "{name}");
    check_flows(&result, name);
    let targets = server.take_targets();
    check_order(&targets, name);
    check_rows(&targets, name);
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
        assert!(
            entry.name.ends_with(&format!(" /flow/{number}")),
            "{}",
            entry.name
        );
        let counts = (entry.requests, entry.outcomes[Outcome::Ok]);
        assert_eq!(counts, (REQUESTS, REQUESTS), "{name}: {}", entry.name);
    }
}

/// As the server sees it, each flow goes through all entries in order.
fn check_order(targets: &[String], name: &str) {
    let mut flows: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for target in targets {
        let (path, row) = target.split_once('?').unwrap();
        let entry = path.strip_prefix("/flow/").unwrap();
        flows.entry(row).or_default().push(entry.parse().unwrap());
    }
    for (row, entries) in flows {
        assert!(
            entries.iter().copied().eq(0..ENTRIES),
            "{name}: {row}: {entries:?}"
        );
    }
}

/// Each flow has its own number, whichever agent begins it: those of one process, from the first on.
fn check_rows(targets: &[String], name: &str) {
    let row = |target: &String| target.split_once("?row=").unwrap().1.parse().unwrap();
    let rows: BTreeSet<u64> = targets.iter().map(row).collect();
    assert_eq!(rows, (0..REQUESTS).collect(), "{name}");
}

#[test]
fn every_shape_of_flows_works_over_every_wire_of_http() {
    let think_time = Duration::from_micros(500);
    over_each(&HTTP, |protocol| {
        let server = CountingServer::start(protocol);
        let url = format!("{}://{}/", protocol.scheme(), server.address());
        for (number, (shape, change)) in SHAPES.iter().enumerate() {
            for (event_loop, agents) in loops_and_agents(protocol, number) {
                let mut plan = plan(&server, protocol, event_loop);
                change(&mut plan);
                in_agents(&mut plan, agents);
                // A user has one request in flight.
                plan.load.pipeline = 1;
                let waits = event_loop == EventLoopChoice::Epoll;
                plan.flow_think_time = waits.then_some(think_time);
                let of_agent = |_| {
                    plan.clone()
                        .with(|plan| plan.request = flows_of(&url, &steps(), protocol.into()).0)
                };
                let plans: Vec<_> = (0..agents).map(of_agent).collect();
                let protocol = protocol.name();
                let name =
                    format!("flows, {shape} over {protocol} and {event_loop}, {agents} agents");
                check(&server, &plans, &name);
            }
        }
    });
}
