//! What a fleet counts.

use std::sync::atomic::{AtomicBool, Ordering};

use prony_model::{Arrivals, Ended, LatencyHistogram, LoadShape, Outcome, Schedule, Seconds};
use prony_traffic::{HttpVersion, Scenario, Sources, Traffic};

use super::*;

#[test]
fn a_load_is_divided_and_counts_equal_the_servers_own() {
    let rate = LoadShape::Rate(Schedule::constant(Arrivals::Even, 1000.0));
    for (shape, threads, requests) in [(LoadShape::Closed, 2, 3001), (rate, 1, 1000)] {
        for event_loop in LOOPS {
            let server = TestServer::start();
            let plan = server.plan_of(requests).with(|plan| {
                plan.load.shape = shape.clone();
                plan.load.threads = threads;
                plan.here.event_loop = event_loop;
            });
            let result = run(&launch(3), &plan).unwrap();
            let ok = result.outcomes[Outcome::Ok];
            let counted = [result.requests, ok, server.count()];
            assert_eq!(counted, [requests; 3], "{event_loop}");
            assert_eq!(result.ended, Ended::Requests);
            let histogram = LatencyHistogram::from_base64(&result.histogram).unwrap();
            assert_eq!(histogram.count(), requests);

            let fleet = result.fleet.unwrap();
            assert_eq!((&*fleet.on, fleet.agents.len()), ("local", 3));
            let of_agents = fleet.agents.iter().map(|agent| agent.requests);
            assert_eq!(of_agents.sum::<u64>(), requests);
            for agent in &fleet.agents {
                assert_eq!(agent.connections, 4);
                // Each thread rounds its share.
                let off = agent.requests.abs_diff(requests / 3);
                assert!(off <= threads as u64, "{event_loop}: {off}");
                assert!(!agent.host.is_empty() && agent.round_trip_ns > 0);
            }
        }
    }
}

#[test]
fn the_same_agents_run_several_loads() {
    let server = TestServer::start();
    let fleet = launch(2);
    let before = processes::with(fleet.id());
    assert_eq!(before.len(), 2);
    for load in 1..=3 {
        let result = run(&fleet, &server.plan_of(500)).unwrap();
        assert_eq!((result.requests, server.count()), (500, 500 * load));
    }
    assert_eq!(processes::with(fleet.id()), before);
    let id = fleet.id().to_owned();
    drop(fleet);
    assert!(processes::with(&id).is_empty());
}

#[test]
fn the_next_load_continues_after_the_flows_of_the_last() {
    let server = HttpServer::start();
    let address = server.address;
    let mut sources = Sources::default();
    sources.set("host", &address.to_string()).unwrap();
    sources.add_counter("n", 0).unwrap();
    let flow = "GET http://{{host}}/{{n}}\nHTTP 200\n";
    let scenario = Scenario::new("flow.hurl", flow, sources).unwrap();
    let request = Traffic::flows_of(scenario, HttpVersion::Http1);
    let fleet = launch(3);
    for (load, event_loop) in [LOOPS, LOOPS].concat().into_iter().enumerate() {
        let url = format!("http://{address}/");
        let plan = LoadPlan::new(address.into(), url, request.clone()).with(|plan| {
            plan.load.connections = 3;
            plan.load.max_connections = Some(3);
            plan.load.requests = Some(7);
            plan.here.event_loop = event_loop;
        });
        assert_eq!(run(&fleet, &plan).unwrap().flows.unwrap().ok, 7);
        let lines = server.lines();
        let number = |line: &String| line["GET /".len()..].parse::<u64>().unwrap();
        let mut numbers: Vec<u64> = lines[7 * load..].iter().map(number).collect();
        numbers.sort_unstable();
        // The agents have begun 3, 2 and 2 flows in turn, so two numbers are left out.
        let first = 9 * load as u64;
        let expected: Vec<u64> = (first..first + 7).collect();
        assert_eq!(numbers, expected, "load {load}, {event_loop}");
    }
}

#[test]
fn the_first_agents_run_a_load_of_fewer() {
    for event_loop in LOOPS {
        let server = TestServer::start();
        let fleet = launch(3);
        let mut total = 0;
        for agents in [1, 3, 2] {
            let plan = server.plan_of(30).with(|plan| {
                plan.agents = agents;
                plan.load.connections = agents;
                plan.load.max_connections = Some(agents);
                plan.here.event_loop = event_loop;
            });
            let result = fleet
                .run(&plan, &AtomicBool::new(false), &mut |_| {})
                .unwrap();
            total += 30;
            assert_eq!((result.requests, server.count()), (30, total));
            let rows = result.fleet.unwrap().agents;
            let requests: Vec<u64> = rows.iter().map(|agent| agent.requests).collect();
            assert_eq!(requests, vec![30 / agents as u64; agents], "{event_loop}");
        }
        assert_eq!(processes::with(fleet.id()).len(), 3);
    }
}

#[test]
fn a_load_of_more_agents_than_there_are_is_refused() {
    let server = TestServer::start();
    let fleet = launch(2);
    let plan = server.plan_of(10).with(|plan| plan.agents = 3);
    let error = fleet.run(&plan, &AtomicBool::new(false), &mut |_| {});
    let error = fleet_error(error.unwrap_err()).to_string();
    let expected = "the load is for 3 agents, and the fleet has 2: use fewer, or start more";
    assert_eq!(error, expected);
    // It is not lost.
    assert_eq!(run(&fleet, &server.plan_of(10)).unwrap().requests, 10);
}

#[test]
fn an_interrupt_gives_the_result_so_far() {
    for event_loop in LOOPS {
        let server = TestServer::start();
        let fleet = launch(2);
        let plan = server.plan().with(|plan| {
            plan.load.duration = Some(Seconds(LONG));
            plan.here.event_loop = event_loop;
        });
        let interrupt = AtomicBool::new(false);
        let mut seen = 0;
        let mut observe = |progress: prony_load::Progress| {
            if progress.ok > 0 {
                seen = progress.ok;
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let plan = of_all(&fleet, &plan);
        let result = fleet.run(&plan, &interrupt, &mut observe).unwrap();
        assert_eq!(result.ended, Ended::Interrupted);
        assert!(result.duration_s < 30.0);
        assert!(seen > 0 && result.outcomes[Outcome::Ok] >= seen);
        // What was in flight at the end may have had its response.
        assert!(result.outcomes[Outcome::Ok] <= server.count());
        assert!(server.count() <= result.requests);
    }
}

#[test]
fn an_interrupt_before_the_start_ends_the_load() {
    let server = TestServer::start();
    let fleet = launch(2);
    let plan = server
        .plan()
        .with(|plan| plan.load.duration = Some(Seconds(LONG)));
    let (plan, interrupted) = (of_all(&fleet, &plan), AtomicBool::new(true));
    let result = fleet.run(&plan, &interrupted, &mut |_| {}).unwrap();
    assert_eq!(result.ended, Ended::Interrupted);
    assert_eq!(result.outcomes[Outcome::Ok], server.count());
}
