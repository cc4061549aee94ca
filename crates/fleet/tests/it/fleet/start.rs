//! Agents start together, by the target's own record, whatever their clocks show.

use std::collections::BTreeMap;
use std::process::Command;

use prony_fleet::{Launch, LaunchError, Launcher, Processes};

use super::*;

/// A machine may be busy for a moment, but not in every attempt.
const ATTEMPTS: usize = 5;
/// How long after the previous one each agent starts, so how far their clocks are apart. A busy machine may take a second to
/// start a shell.
const APART_S: f64 = 2.0;

/// Agents that start one after the other.
struct Staggered;

impl Launcher for Staggered {
    fn name(&self) -> &'static str {
        "staggered"
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<Processes, LaunchError> {
        let commands = (0..launch.agents).map(|index| {
            let (pause_s, id) = (index as f64 * APART_S, launch.id);
            let agent = env!("CARGO_BIN_EXE_prony-agent");
            let agent = format!("{agent} agent --fleet {id} --index {index}");
            let mut command = Command::new("/bin/sh");
            command
                .arg("-c")
                .arg(format!("sleep {pause_s}; exec {agent}"));
            (Some(index), command)
        });
        let grace = Duration::from_secs(1);
        Processes::start(commands, grace)
    }
}

/// How far apart the first requests of agents arrived whose clocks are apart.
fn spread(fleet: &Fleet, event_loop: EventLoopChoice) -> Duration {
    let server = TestServer::start();
    let plan = server.plan_of(30).with(|plan| {
        plan.load.connections = 3;
        plan.here.event_loop = event_loop;
    });
    let result = run(fleet, &plan).unwrap();
    // When the first request of each connection arrived.
    let mut arrivals = BTreeMap::new();
    for request in server.0.all() {
        arrivals.entry(request.peer).or_insert(request.at);
    }
    assert_eq!(arrivals.len(), 3);
    let agents = result.fleet.unwrap().agents;
    let clocks: Vec<i64> = agents.iter().map(|agent| agent.clock_offset_ns).collect();
    // The later an agent starts, the less its clock shows.
    let is_descending = clocks.windows(2).all(|two| two[0] > two[1]);
    assert!(is_descending, "{event_loop}: {clocks:?}");
    *arrivals.values().max().unwrap() - *arrivals.values().min().unwrap()
}

fn staggered() -> Fleet {
    launch_of(&Staggered, 3, patient()).unwrap()
}

#[test]
fn agents_with_clocks_apart_start_together() {
    let fleet = staggered();
    for event_loop in LOOPS {
        spread(&fleet, event_loop);
    }
}

#[test]
#[ignore = "full check: measures when agents start"]
fn agents_with_clocks_apart_start_within_5_ms() {
    let most = Duration::from_millis(5);
    let fleet = staggered();
    for event_loop in LOOPS {
        let mut spreads = Vec::new();
        while spreads.iter().all(|spread| *spread > most) {
            assert!(spreads.len() < ATTEMPTS, "{event_loop}: {spreads:?}");
            spreads.push(spread(&fleet, event_loop));
        }
        println!("{event_loop}: the first requests arrived within {spreads:?}");
    }
}

#[test]
fn an_agent_that_begins_late_is_named() {
    let server = TestServer::start();
    let limits = Limits {
        // No thread wakes up at the very instant.
        start_lag: Duration::ZERO,
        ..Limits::default()
    };
    let fleet = launch_within(2, limits);
    let error = run(&fleet, &server.plan_of(10)).unwrap_err();
    assert!(matches!(error, FleetError::LateStart { .. }), "{error}");
    contains(&error.to_string(), "agent ");
    contains(&error.to_string(), "after the agreed instant");
}

#[test]
fn agents_that_begin_apart_are_named_in_the_result() {
    let server = TestServer::start();
    let limits = Limits {
        // No two clocks are known that well.
        start_spread: Duration::ZERO,
        start_lag: LONG,
        ..Limits::default()
    };
    let fleet = launch_within(2, limits);
    let result = run(&fleet, &server.plan_of(10)).unwrap();
    let late = result.fleet.unwrap().late_start.unwrap();
    assert!(late.starts_with("agent "), "{late}");
    contains(&late, " ms after agent ");
}

#[test]
fn a_launch_shows_how_many_agents_have_replied() {
    let mut seen = Vec::new();
    let mut observe = |replied, of| seen.push((replied, of));
    let never = AtomicBool::new(false);
    Fleet::launch(&Staggered, 2, Limits::default(), &never, &mut observe).unwrap();
    assert_eq!(seen.first(), Some(&(0, 2)));
    assert_eq!(seen.last(), Some(&(2, 2)));
    assert!(seen.windows(2).all(|two| two[0].0 < two[1].0), "{seen:?}");
}
