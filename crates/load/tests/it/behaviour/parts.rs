//! Agents that share a load: when they start, and what they do if they do not.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{
    EventLoopChoice, LoadError, LoadPlan, PartResult, PlanError, Start, assemble, run, run_part,
};
use prony_model::{Arrivals, Ended, LoadShape, Outcome, Schedule, parse_stages};

use crate::parts_of::{Together, load, run_parts, through_json};
use crate::plans::get_from;
use crate::scenarios::{Step, Steps};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    no_request_leaves_before_the_start,
    every_shape_of_agents_sends_what_the_plan_says,
    the_shares_of_agents_differ_by_one_request_at_most,
    agents_have_the_arrivals_of_one_process_with_all_their_threads,
    the_next_load_continues_after_the_flows_of_all_agents,
    progress_counts_from_the_start,
    a_load_that_does_not_begin_has_an_empty_result,
    a_load_can_be_interrupted_after_the_start,
    connections_that_the_server_closes_before_the_start_are_reopened,
    results_of_other_agents_and_loads_are_recognized
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
/// Each has two threads.
const AGENTS: usize = 3;
/// Between the arrival of the last agent and the start.
const NOTICE: Duration = Duration::from_millis(30);

fn plan(event_loop: EventLoopChoice, address: SocketAddr, requests: u64) -> LoadPlan {
    LoadPlan {
        agents: AGENTS,
        connections: 6,
        max_connections: 12,
        ..get_from(event_loop, address, requests)
    }
}

fn rate(arrivals: Arrivals, per_s: f64) -> LoadShape {
    LoadShape::Rate(Schedule::constant(arrivals, per_s))
}

fn shapes() -> [(&'static str, LoadShape); 6] {
    let stages = parse_stages("500/s..3k/s:20ms,3k/s").unwrap();
    let even = Schedule::constant(Arrivals::Even, 1.0);
    let think_time_s = 0.002;
    [
        ("closed", LoadShape::Closed),
        ("even", rate(Arrivals::Even, 2000.0)),
        ("poisson", rate(Arrivals::Poisson, 2000.0)),
        ("stages", LoadShape::Rate(Schedule { stages, ..even })),
        ("users-closed", LoadShape::UsersClosed { think_time_s }),
        ("users-open", LoadShape::UsersOpen { think_time_s }),
    ]
}

/// A server that keeps the instants at which it received requests.
fn timing_server() -> (ScriptedServer, Arc<Mutex<Vec<Instant>>>) {
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let recorded = arrivals.clone();
    let server = ScriptedServer::start(move |stream, _| {
        recorded.lock().unwrap().push(Instant::now());
        let _ = stream.write_all(HELLO);
        After::Keep
    });
    (server, arrivals)
}

fn no_request_leaves_before_the_start(event_loop: EventLoopChoice) {
    let (server, arrivals) = timing_server();
    for (name, shape) in shapes() {
        for streams in [0, 6] {
            arrivals.lock().unwrap().clear();
            let plan = LoadPlan {
                shape: shape.clone(),
                streams,
                ..plan(event_loop, server.address(), 60)
            };
            let start = Together::of(AGENTS, NOTICE);
            let parts = run_parts(&vec![plan.clone(); AGENTS], &start);
            let start = start.instant().unwrap();
            let first = arrivals.lock().unwrap().iter().min().copied().unwrap();
            assert!(first >= start, "{name}: {:?} early", start - first);
            for part in &parts {
                let lag = part.start_lag();
                // Nobody wakes up at the very instant.
                assert!(lag > Duration::ZERO, "{name}");
            }
            let result = assemble(&plan, &parts);
            assert_eq!(
                result.outcomes[Outcome::Ok],
                60,
                "{name}: {:?}",
                result.first_wrong
            );
            assert_eq!(result.ended, Ended::Requests, "{name}");
        }
    }
}

fn every_shape_of_agents_sends_what_the_plan_says(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for (name, shape) in shapes() {
        // Fewer than workers, a number that does not divide, and many.
        for requests in [4, 61, 100] {
            let before = server.requests();
            let plan = LoadPlan {
                shape: shape.clone(),
                ..plan(event_loop, server.address(), requests)
            };
            let result = load(&vec![plan; AGENTS], name);
            assert_eq!(result.outcomes[Outcome::Ok], requests, "{name}");
            assert_eq!(result.requests, requests, "{name}");
            assert_eq!(server.requests() - before, requests, "{name}");
            if let Some(open) = result.open {
                assert_eq!((open.due, open.sent), (requests, requests), "{name}");
            }
        }
    }
}

fn the_shares_of_agents_differ_by_one_request_at_most(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for (name, shape) in shapes() {
        let plan = LoadPlan {
            shape,
            ..plan(event_loop, server.address(), 50)
        };
        let parts = run_parts(&vec![plan.clone(); AGENTS], &Together::of(AGENTS, NOTICE));
        let requests = |part| assemble(&plan, std::slice::from_ref(part)).requests;
        let requests: Vec<u64> = parts.iter().map(requests).collect();
        assert_eq!(requests, [17, 17, 16], "{name}");
    }
}

fn agents_have_the_arrivals_of_one_process_with_all_their_threads(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for (name, shape) in shapes() {
        if !shape.is_open() {
            continue;
        }
        let several = LoadPlan {
            shape,
            seed: 5,
            duration: Some(Duration::from_millis(50)),
            requests: None,
            ..plan(event_loop, server.address(), 1)
        };
        let one = LoadPlan {
            agents: 1,
            threads: several.all_threads(),
            ..several.clone()
        };
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
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let url = format!("http://{}/", server.address());
    // Each agent has a process, and so a scenario, of its own; none of them is the fleet's.
    let plan = || {
        let (request, counts) = Steps::of(&url, &[Step::GET]).request();
        let plan = plan(event_loop, server.address(), 61);
        (LoadPlan { request, ..plan }, counts)
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
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let plan = LoadPlan {
        duration: Some(Duration::from_millis(100)),
        ..plan(event_loop, server.address(), u64::MAX)
    };
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

/// The result of agent 0, who is interrupted after `interrupt_after`.
fn part_of(plan: &LoadPlan, start: &dyn Start, interrupt_after: Option<Duration>) -> PartResult {
    let interrupt = &AtomicBool::new(false);
    thread::scope(|scope| {
        if let Some(after) = interrupt_after {
            scope.spawn(move || {
                thread::sleep(after);
                interrupt.store(true, SeqCst);
            });
        }
        run_part(plan, 0, start, interrupt, &mut |_| {}).unwrap()
    })
}

fn a_load_that_does_not_begin_has_an_empty_result(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let soon = Some(Duration::from_millis(30));
    for (name, shape) in shapes() {
        for (start, interrupt_after) in [
            (Never(Duration::ZERO), None),
            (Never(Duration::from_secs(3600)), soon),
        ] {
            let plan = LoadPlan {
                shape: shape.clone(),
                streams: 6,
                duration: Some(Duration::from_millis(10)),
                ..plan(event_loop, server.address(), 60)
            };
            let part = through_json(&part_of(&plan, &start, interrupt_after));
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
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let plan = plan(event_loop, server.address(), u64::MAX);
    let start = Never(Duration::from_millis(1));
    let interrupt = AtomicBool::new(false);
    let part = run_part(&plan, 0, &start, &interrupt, &mut |progress| {
        interrupt.store(progress.ok > 0, SeqCst);
    });
    let result = assemble(&plan, &[part.unwrap()]);
    assert_eq!(result.ended, Ended::Interrupted);
    assert!(result.outcomes[Outcome::Ok] > 0, "{:?}", result.outcomes);
}

/// A server that closes connections over which no request comes, as long as the load has not begun.
fn impatient_server(begun: Arc<AtomicBool>, closed: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, begun, closed) = (stream.unwrap(), begun.clone(), closed.clone());
            let patience = Duration::from_millis(20);
            stream.set_read_timeout(Some(patience)).unwrap();
            thread::spawn(move || {
                let mut request = [0; 4096];
                loop {
                    match stream.read(&mut request) {
                        Ok(0) => return,
                        Ok(_) => stream.write_all(HELLO).unwrap_or(()),
                        Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                        Err(_) if begun.load(SeqCst) => {}
                        Err(_) => {
                            closed.fetch_add(1, SeqCst);
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

/// Waits while the server closes connections, and begins when it no longer does.
struct AfterCloses {
    begun: Arc<AtomicBool>,
    closed: Arc<AtomicU64>,
}

impl Start for AfterCloses {
    fn at(&self, _: &AtomicBool) -> Option<Instant> {
        let give_up = Instant::now() + Duration::from_secs(20);
        while self.closed.load(SeqCst) < 6 && Instant::now() < give_up {
            thread::sleep(Duration::from_millis(5));
        }
        self.begun.store(true, SeqCst);
        Some(Instant::now() + NOTICE)
    }
}

fn connections_that_the_server_closes_before_the_start_are_reopened(event_loop: EventLoopChoice) {
    let (begun, closed) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let address = impatient_server(begun.clone(), closed.clone());
    let plan = LoadPlan {
        agents: 1,
        shape: rate(Arrivals::Even, 1000.0),
        ..plan(event_loop, address, 200)
    };
    let start = AfterCloses { begun, closed };
    let part = run_part(&plan, 0, &start, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert!(start.closed.load(SeqCst) >= 6, "all were closed");
    let result = assemble(&plan, &[part]);
    let wrong = &result.first_wrong;
    assert_eq!(result.outcomes[Outcome::Ok], 200, "{wrong:?}");
    assert_eq!(result.requests, 200);
    assert!(result.reconnects >= 1);
}

#[test]
fn a_part_needs_its_agent_and_a_process_cannot_be_several() {
    let event_loop = EventLoopChoice::Auto;
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let plan = plan(event_loop, server.address(), 6);
    let never = AtomicBool::new(false);
    let error = run(&plan, &never, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "one process cannot run a load of 3 agents"
    );
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
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let plan = plan(event_loop, server.address(), 6);
    let part = part_of(&plan, &Never(Duration::from_millis(1)), None);
    assert_eq!(part.check(&plan, 0), Ok(()));
    let foreign = |plan: &LoadPlan, agent| part.check(plan, agent).unwrap_err().to_string();
    assert_eq!(
        foreign(&plan, 1),
        "it is the result of agent 0 of 3, not of agent 1 of 3"
    );
    let other = |agents, connections| LoadPlan {
        agents,
        connections,
        ..plan.clone()
    };
    assert_eq!(
        foreign(&other(2, 6), 0),
        "it is the result of agent 0 of 3, not of agent 0 of 2"
    );
    assert_eq!(
        foreign(&other(3, 7), 0),
        "it has 2 connections instead of 3"
    );
}
