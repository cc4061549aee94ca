//! Agents that share a load: when they start, and what they do if they do not.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{
    EventLoopChoice, LoadError, LoadPlan, PartResult, PlanError, Start, assemble, run, run_part,
};
use prony_model::{Arrivals, Ended, LoadShape, Schedule, Seconds, parse_stages};
use prony_testkit::connections::serve;
use prony_testkit::table::rows;
use prony_testkit::until;
use prony_traffic::HttpVersion;

use crate::parts_of::{Together, load, run_parts, through_json};
use crate::plans::{assert_outcomes, get_from, summary};
use crate::scenarios::{Step, flows_of};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    no_request_leaves_before_the_start,
    every_shape_of_agents_sends_what_the_plan_says,
    agents_have_the_arrivals_of_one_process_with_all_their_threads,
    the_next_load_continues_after_the_flows_of_all_agents,
    progress_counts_from_the_start,
    a_load_that_does_not_begin_has_an_empty_result,
    a_load_can_be_interrupted_after_the_start,
    connections_that_the_server_closes_before_the_start_are_reopened,
    results_of_other_agents_and_loads_are_recognized
);

/// Each has two threads.
const AGENTS: usize = 3;
/// Between the arrival of the last agent and the start.
const NOTICE: Duration = Duration::from_millis(30);

fn plan(event_loop: EventLoopChoice, address: SocketAddr, requests: u64) -> LoadPlan {
    get_from(event_loop, address, requests).with(|plan| {
        plan.agents = AGENTS;
        plan.load.connections = 6;
        plan.load.max_connections = Some(12);
    })
}

fn rate(arrivals: Arrivals, per_s: f64) -> LoadShape {
    LoadShape::Rate(Schedule::constant(arrivals, per_s))
}

fn shapes() -> [(&'static str, LoadShape); 6] {
    let stages = parse_stages("500/s..3k/s:20ms,3k/s").unwrap();
    let even = Schedule::constant(Arrivals::Even, 1.0);
    let think_time = Seconds::from_millis(2);
    [
        ("closed", LoadShape::Closed),
        ("even", rate(Arrivals::Even, 2000.0)),
        ("poisson", rate(Arrivals::Poisson, 2000.0)),
        ("stages", LoadShape::Rate(Schedule { stages, ..even })),
        ("users-closed", LoadShape::UsersClosed { think_time }),
        ("users-open", LoadShape::UsersOpen { think_time }),
    ]
}

fn no_request_leaves_before_the_start(event_loop: EventLoopChoice) {
    for (name, shape) in shapes() {
        for streams in [0, 6] {
            let arrivals = Arc::new(Mutex::new(Vec::new()));
            let recorded = arrivals.clone();
            let server = ScriptedServer::start(move |stream, _| {
                recorded.lock().unwrap().push(Instant::now());
                let _ = stream.write_all(HELLO);
                After::Keep
            });
            let plan = plan(event_loop, server.address(), 60).with(|plan| {
                plan.load.shape = shape.clone();
                plan.load.streams = streams;
            });
            let start = Together::of(AGENTS, NOTICE);
            let parts = run_parts(&vec![plan.clone(); AGENTS], &start);
            let start = start.instant().unwrap();
            let first = arrivals.lock().unwrap().iter().min().copied().unwrap();
            assert!(first >= start, "{name}: {:?} early", start - first);
            // Nobody wakes up at the very instant.
            let mut lags = parts.iter().map(PartResult::start_lag);
            assert!(lags.all(|lag| lag > Duration::ZERO), "{name}");
            let result = assemble(&plan, &parts);
            assert_eq!(summary(&result.outcomes), "60 ok", "{name}");
            assert_eq!(result.ended, Ended::Requests, "{name}");
        }
    }
}

fn every_shape_of_agents_sends_what_the_plan_says(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    for (name, shape) in shapes() {
        let of = |requests| {
            plan(event_loop, server.address(), requests)
                .with(|plan| plan.load.shape = shape.clone())
        };
        // Fewer than workers, a number that does not divide, and many.
        for requests in [4, 61, 100] {
            let before = server.requests();
            let result = load(&vec![of(requests); AGENTS], name);
            let expected = format!("{requests} ok");
            assert_eq!(summary(&result.outcomes), expected, "{name}");
            assert_eq!(server.requests() - before, requests, "{name}");
            if let Some(open) = result.open {
                assert_eq!((open.due, open.sent), (requests, requests), "{name}");
            }
        }
        let plan = of(50);
        let parts = run_parts(&vec![plan.clone(); AGENTS], &Together::of(AGENTS, NOTICE));
        let parts = parts.chunks(1).map(|part| assemble(&plan, part).requests);
        assert_eq!(parts.collect::<Vec<_>>(), [17, 17, 16], "{name}");
    }
}

fn agents_have_the_arrivals_of_one_process_with_all_their_threads(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    for (name, shape) in shapes().into_iter().filter(|(_, it)| it.is_open()) {
        let several = plan(event_loop, server.address(), 1).with(|plan| {
            plan.load.shape = shape;
            plan.load.seed = 5;
            plan.load.duration = Some(Seconds::from_millis(50));
            plan.load.requests = None;
        });
        let one = several.clone().with(|plan| {
            plan.agents = 1;
            plan.load.threads = several.all_threads();
        });
        let due = |plan: LoadPlan| {
            let result = load(&vec![plan.clone(); plan.agents], name);
            assert_eq!(result.ended, Ended::Duration, "{name}");
            let due = result.open.unwrap().due;
            assert_eq!(result.requests, due, "{name}");
            due
        };
        let (several, one) = (due(several), due(one));
        assert_eq!(several, one, "{name}");
        if name == "even" {
            assert_eq!(one, 100);
        }
    }
}

fn the_next_load_continues_after_the_flows_of_all_agents(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let url = format!("http://{}/", server.address());
    // Each agent has a process, and so a scenario, of its own; none of them is the fleet's.
    let plan = || {
        let (request, counts) = flows_of(&url, &[Step::GET], HttpVersion::Http1);
        let plan = plan(event_loop, server.address(), 61);
        (plan.with(|plan| plan.request = request), counts)
    };
    let (of_fleet, begun) = plan();
    let plans: Vec<LoadPlan> = (0..AGENTS).map(|_| plan().0).collect();
    let parts = run_parts(&plans, &Together::of(AGENTS, NOTICE));
    assert_eq!(assemble(&of_fleet, &parts).flows.unwrap().ok, 61);
    of_fleet.continue_after(&parts);
    // The agents have begun 21, 20 and 20 flows.
    assert_eq!(begun.begun(), 63);
}

fn progress_counts_from_the_start(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, server.address(), u64::MAX)
        .with(|plan| plan.load.duration = Some(Seconds::from_millis(100)));
    let mut last = 0.0;
    let (began, before) = (Instant::now(), Duration::from_millis(200));
    let start = Never(before);
    run_part(&plan, 0, &start, &AtomicBool::new(false), &mut |progress| {
        last = progress.at_s;
    })
    .unwrap();
    let most = (began.elapsed() - before).as_secs_f64();
    assert!(last > 0.0 && last <= most, "{last} of {most}");
}

/// Does not begin, or not for a long time.
struct Never(Duration);

impl Start for Never {
    fn at(&self, _: &AtomicBool) -> Option<Instant> {
        (!self.0.is_zero()).then(|| Instant::now() + self.0)
    }
}

fn a_load_that_does_not_begin_has_an_empty_result(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    for (name, shape) in shapes() {
        for start in [Never(Duration::ZERO), Never(Duration::from_secs(3600))] {
            let plan = plan(event_loop, server.address(), 60).with(|plan| {
                plan.load.shape = shape.clone();
                plan.load.streams = 6;
                plan.load.duration = Some(Seconds::from_millis(10));
            });
            let interrupt = AtomicBool::new(false);
            let part = thread::scope(|scope| {
                let part = scope.spawn(|| run_part(&plan, 0, &start, &interrupt, &mut |_| {}));
                // The one that is called off ends by itself.
                if !start.0.is_zero() {
                    thread::sleep(Duration::from_millis(30));
                    interrupt.store(true, SeqCst);
                }
                part.join().unwrap().unwrap()
            });
            let part = through_json(&part);
            let result = assemble(&plan, &[part]);
            assert_eq!(result.ended, Ended::Interrupted, "{name}");
            assert_eq!(result.requests, 0, "{name}");
            assert_eq!(result.streams.unwrap().requests, 0, "{name}");
            assert_eq!(result.latency_ns, None, "{name}");
            assert!(result.open.is_none_or(|open| open.due == 0), "{name}");
        }
    }
    assert_eq!(server.requests(), 0);
}

fn a_load_can_be_interrupted_after_the_start(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, server.address(), u64::MAX);
    let start = Never(Duration::from_millis(1));
    let interrupt = AtomicBool::new(false);
    let part = run_part(&plan, 0, &start, &interrupt, &mut |progress| {
        interrupt.store(progress.ok > 0, SeqCst);
    });
    let result = assemble(&plan, &[part.unwrap()]);
    assert_eq!(result.ended, Ended::Interrupted);
    assert!(result.latency_ns.is_some(), "{:?}", result.outcomes);
}

/// Waits while the server closes connections, and begins when it no longer does.
#[derive(Clone, Default)]
struct AfterCloses {
    begun: Arc<AtomicBool>,
    closed: Arc<AtomicU64>,
}

impl Start for AfterCloses {
    fn at(&self, _: &AtomicBool) -> Option<Instant> {
        until("six closes", || {
            (self.closed.load(SeqCst) >= 6).then_some(())
        });
        self.begun.store(true, SeqCst);
        Some(Instant::now() + NOTICE)
    }
}

/// A server that closes connections over which no request comes, as long as the load has not begun.
fn impatient_server(start: AfterCloses) -> SocketAddr {
    serve(move |mut stream| {
        let patience = Duration::from_millis(20);
        stream.set_read_timeout(Some(patience)).unwrap();
        loop {
            match stream.read(&mut [0; 4096]) {
                Ok(0) => return,
                Ok(_) => stream.write_all(HELLO).unwrap_or(()),
                Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                Err(_) if start.begun.load(SeqCst) => {}
                Err(_) => {
                    drop(stream);
                    start.closed.fetch_add(1, SeqCst);
                    return;
                }
            }
        }
    })
}

fn connections_that_the_server_closes_before_the_start_are_reopened(event_loop: EventLoopChoice) {
    let start = AfterCloses::default();
    let plan = plan(event_loop, impatient_server(start.clone()), 200).with(|plan| {
        plan.agents = 1;
        plan.load.shape = rate(Arrivals::Even, 1000.0);
    });
    let part = run_part(&plan, 0, &start, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let result = assemble(&plan, &[part]);
    assert_outcomes(&result, "200 ok");
    assert!(result.reconnects >= 1);
}

#[test]
fn a_part_needs_its_agent_and_a_process_cannot_be_several() {
    let event_loop = EventLoopChoice::Auto;
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, server.address(), 6);
    let never = AtomicBool::new(false);
    let error = run(&plan, &never, &mut |_| {}).unwrap_err();
    let message = "one process cannot run a load of 3 agents";
    assert_eq!(error.to_string(), message);
    let start = Never(Duration::ZERO);
    let error = run_part(&plan, 3, &start, &never, &mut |_| {}).unwrap_err();
    let expected = PlanError::NoSuchAgent {
        agent: 3,
        agents: 3,
    };
    assert!(matches!(error, LoadError::Plan(error) if error == expected));
    assert_eq!(server.connections(), 0);
}

fn results_of_other_agents_and_loads_are_recognized(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, server.address(), 6);
    let start = Never(Duration::from_millis(1));
    let part = run_part(&plan, 0, &start, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(part.check(&plan, 0), Ok(()));
    for [agents, connections, agent, message] in rows(
        "3 | 6 | 1 | it is the result of agent 0 of 3, not of agent 1 of 3
         2 | 6 | 0 | it is the result of agent 0 of 3, not of agent 0 of 2
         3 | 7 | 0 | it has 2 connections instead of 3",
    ) {
        let number = |text: &str| text.parse().unwrap();
        let plan = plan.clone().with(|plan| {
            plan.agents = number(agents);
            plan.load.connections = number(connections);
        });
        let foreign = part.check(&plan, number(agent)).unwrap_err();
        assert_eq!(foreign.to_string(), message);
    }
}
