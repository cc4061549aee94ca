//! Loads beyond what anything can send end in time, and unsent requests are counted.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use prony_load::wire::grpc::Call;
use prony_load::{EventLoopChoice, LoadPlan, MOST_PIPELINE, PlanError, run};
use prony_model::{Arrivals, Ended, LoadResult, LoadShape, Outcome, Schedule, parse_stages};

use crate::plans::{even, get_from, load, plan_to};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    the_first_interrupt_ends_any_load_with_its_result,
    a_number_of_requests_bounds_the_unsent_ones
);

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn rate(arrivals: Arrivals, burst: u64, stages: &str) -> LoadShape {
    LoadShape::Rate(Schedule {
        arrivals,
        burst,
        stages: parse_stages(stages).unwrap(),
    })
}

/// The largest load of each shape.
fn largest() -> Vec<LoadShape> {
    let think_time_s = 1e-6;
    vec![
        LoadShape::Closed,
        rate(Arrivals::Even, 1, "1000M/s"),
        rate(Arrivals::Poisson, 1, "1000M/s"),
        rate(Arrivals::Even, Schedule::MOST_BURST, "1000M/s"),
        rate(Arrivals::Poisson, Schedule::MOST_BURST, "1000M/s"),
        rate(Arrivals::Even, 1, "0/s..1000M/s:1s,1000M/s"),
        LoadShape::UsersClosed { think_time_s },
        LoadShape::UsersOpen { think_time_s },
    ]
}

fn plan(event_loop: EventLoopChoice, address: SocketAddr, shape: LoadShape) -> LoadPlan {
    let is_closed = shape == LoadShape::Closed;
    LoadPlan {
        connections: 50,
        max_connections: 60,
        pipeline: if is_closed { MOST_PIPELINE } else { 1 },
        shape,
        requests: None,
        duration: Some(Duration::from_secs(3600)),
        ..get_from(event_loop, address, 1)
    }
}

/// A server whose kernel accepts connections, but that never reads.
fn hanging() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Interrupts the load after a moment.
fn interrupted(plan: &LoadPlan) -> LoadResult {
    let interrupt = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = scope.spawn(|| run(plan, &interrupt, &mut |_| {}).unwrap());
        thread::sleep(Duration::from_millis(20));
        interrupt.store(true, Relaxed);
        load.join().unwrap()
    })
}

fn the_first_interrupt_ends_any_load_with_its_result(event_loop: EventLoopChoice) {
    let responding = ScriptedServer::responding(HELLO, After::Keep);
    let (_listener, silent) = hanging();
    for shape in largest() {
        for address in [responding.address(), silent] {
            for deadline in [None, Some(Duration::from_millis(1))] {
                let mut plan = plan(event_loop, address, shape.clone());
                plan.deadline = deadline.filter(|_| shape.is_open());
                let result = interrupted(&plan);
                assert_eq!(result.ended, Ended::Interrupted, "{shape:?}");
                assert_eq!(result.requests, result.outcomes.total());
            }
        }
    }
}

fn a_number_of_requests_bounds_the_unsent_ones(event_loop: EventLoopChoice) {
    let (_listener, silent) = hanging();
    for shape in largest().into_iter().filter(LoadShape::is_open) {
        let mut plan = plan(event_loop, silent, shape);
        plan.requests = Some(1_000_000);
        plan.duration = Some(Duration::from_millis(30));
        plan.timeout = Duration::from_millis(20);
        let result = load(&plan);
        assert!(result.requests <= 1_000_000, "{:?}", result.outcomes);
        assert!(result.outcomes[Outcome::Unfinished] > 0);
    }
}

#[test]
fn plans_beyond_any_machine_are_refused() {
    let event_loop = EventLoopChoice::Auto;
    let (_listener, address) = hanging();
    let refused = |change: &dyn Fn(&mut LoadPlan)| {
        let mut plan = plan(event_loop, address, LoadShape::Closed);
        change(&mut plan);
        plan.validate().unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|plan| plan.pipeline = 1001),
        "1001 requests in a pipeline are too many: at most 1000"
    );
    assert_eq!(
        refused(&|plan| (plan.threads, plan.connections) = (2000, 2000)),
        "2000 threads are too many: at most 1024"
    );
    assert_eq!(
        refused(&|plan| plan.agents = 0),
        "a load needs at least one agent"
    );
    assert_eq!(
        refused(&|plan| (plan.agents, plan.threads, plan.connections) = (3, 2, 4)),
        "3 agents with 2 threads each need at least 6 connections or users, but there are 4: use more of them, or fewer agents"
    );
    assert_eq!(
        refused(&|plan| (plan.agents, plan.threads, plan.connections) = (3, 1, 2)),
        "3 agents with 1 thread each need at least 3 connections or users, but there are 2: use more of them, or fewer agents"
    );
    assert_eq!(
        refused(&|plan| (plan.agents, plan.threads, plan.connections) = (10_001, 1, 20_000)),
        "10001 agents are too many: at most 10000"
    );
    assert_eq!(
        refused(&|plan| plan.shape = rate(Arrivals::Even, 1_000_001, "1/s")),
        "1000001 requests in a burst are too many: at most 1000000"
    );
    let stage = parse_stages("1/s:1s").unwrap()[0];
    let stages = vec![stage; 1001];
    let many = LoadShape::Rate(Schedule {
        stages,
        ..Schedule::constant(Arrivals::Even, 1.0)
    });
    assert_eq!(
        refused(&|plan| plan.shape = many.clone()),
        "1001 stages are too many: at most 1000"
    );
    let too_fast = even(1.1e9);
    assert!(refused(&|plan| plan.shape = too_fast.clone()).contains("0 to 1,000 million"));
    // 50 connections, each with 1000 requests of 100 kB in flight.
    let body = vec![b'b'; 100_000];
    let plan = LoadPlan {
        connections: 50,
        pipeline: 1000,
        ..plan_to(event_loop, address, "POST", &[], &body, 1)
    };
    let error = plan.validate().unwrap_err();
    assert!(matches!(error, PlanError::BytesInFlight { .. }), "{error}");
    assert!(!error.to_string().contains("pipeline"), "{error}");
    assert!(error.to_string().contains("512 MiB"), "{error}");
}

#[test]
fn requests_in_flight_over_http2_are_streams() {
    let event_loop = EventLoopChoice::Auto;
    let (_listener, address) = hanging();
    let message = vec![b'b'; 100_000];
    let call = Call::unary("/a.B/C", "localhost", &message);
    let call = call.encode().unwrap();
    let refused = |change: &dyn Fn(&mut LoadPlan)| {
        let mut plan = LoadPlan {
            request: call.clone().into(),
            ..plan(event_loop, address, LoadShape::Closed)
        };
        change(&mut plan);
        plan.validate().unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|plan| plan.pipeline = 1001),
        "1001 streams per connection are too many: at most 1000"
    );
    assert_eq!(
        refused(&|plan| plan.pipeline = 0),
        "the number of streams per connection must be more than zero"
    );
    let many = refused(&|plan| plan.pipeline = 1000);
    assert!(
        many.contains("the 512 MiB that requests in flight may take"),
        "{many}"
    );
    let users = LoadShape::UsersClosed { think_time_s: 1.0 };
    assert_eq!(
        refused(&|plan| (plan.pipeline, plan.shape) = (2, users.clone())),
        "several streams per connection cannot be combined with users with think time"
    );
}
