//! What a fleet counts.

use std::sync::atomic::{AtomicBool, Ordering};

use prony_model::{Arrivals, Ended, LatencyHistogram, LoadShape, Outcome, Schedule};

use super::*;

#[test]
fn counts_equal_the_servers_own() {
    for event_loop in LOOPS {
        let server = TestServer::start();
        let fleet = launch(3);
        let plan = LoadPlan {
            threads: 2,
            requests: Some(3001),
            event_loop,
            ..server.plan()
        };
        let result = run(&fleet, &plan).unwrap();
        assert_eq!(result.requests, 3001, "{event_loop}");
        assert_eq!(result.outcomes[Outcome::Ok], 3001, "{event_loop}");
        assert_eq!(result.requests, server.count(), "{event_loop}");
        assert_eq!(result.ended, Ended::Requests);
        let histogram = LatencyHistogram::from_base64(&result.histogram).unwrap();
        assert_eq!(histogram.count(), 3001);

        let fleet = result.fleet.unwrap();
        assert_eq!(fleet.on, "local");
        let requests: Vec<u64> = fleet.agents.iter().map(|agent| agent.requests).collect();
        assert_eq!(requests.len(), 3);
        assert_eq!(requests.iter().sum::<u64>(), 3001);
        for agent in &fleet.agents {
            assert_eq!(agent.connections, 4);
            assert!(agent.requests.abs_diff(1000) <= 2, "{requests:?}");
            assert!(!agent.host.is_empty());
            assert!(agent.round_trip_ns > 0);
        }
    }
}

#[test]
fn a_rate_is_divided_exactly() {
    for event_loop in LOOPS {
        let server = TestServer::start();
        let fleet = launch(3);
        let plan = LoadPlan {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, 1000.0)),
            requests: Some(1000),
            event_loop,
            ..server.plan()
        };
        let result = run(&fleet, &plan).unwrap();
        assert_eq!(result.requests, 1000, "{event_loop}");
        assert_eq!(server.count(), 1000, "{event_loop}");
        let agents = result.fleet.unwrap().agents;
        for agent in &agents {
            assert!(
                agent.requests.abs_diff(333) <= 1,
                "{event_loop}: {}",
                agent.requests
            );
        }
    }
}

#[test]
fn the_same_agents_run_several_loads() {
    let server = TestServer::start();
    let fleet = launch(2);
    let before = processes(fleet.id());
    assert_eq!(before.len(), 2);
    for load in 1..=3 {
        let plan = LoadPlan {
            requests: Some(500),
            ..server.plan()
        };
        assert_eq!(run(&fleet, &plan).unwrap().requests, 500);
        assert_eq!(server.count(), 500 * load);
    }
    assert_eq!(processes(fleet.id()), before);
    let id = fleet.id().to_owned();
    drop(fleet);
    assert_eq!(processes(&id), []);
}

#[test]
fn an_interrupt_gives_the_result_so_far() {
    for event_loop in LOOPS {
        let server = TestServer::start();
        let fleet = launch(2);
        let plan = LoadPlan {
            duration: Some(LONG),
            event_loop,
            ..server.plan()
        };
        let interrupt = AtomicBool::new(false);
        let mut seen = 0;
        let mut observe = |progress: prony_load::Progress| {
            if progress.ok > 0 {
                seen = progress.ok;
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let result = fleet
            .run(&of_all(&fleet, &plan), &interrupt, &mut observe)
            .unwrap();
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
    let plan = LoadPlan {
        duration: Some(LONG),
        ..server.plan()
    };
    let result = fleet
        .run(&of_all(&fleet, &plan), &AtomicBool::new(true), &mut |_| {})
        .unwrap();
    assert_eq!(result.ended, Ended::Interrupted);
    assert_eq!(result.outcomes[Outcome::Ok], server.count());
}
