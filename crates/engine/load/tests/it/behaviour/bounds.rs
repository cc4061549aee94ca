//! Loads beyond what anything can send end in time, and unsent requests are counted.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan, MOST_PIPELINE, run};
use prony_model::{Arrivals, Ended, LoadShape, Outcome, Schedule, Seconds, parse_stages};

use crate::plans::{get_from, load};
use crate::scripted::ScriptedServer;

over_each_loop!(
    the_first_interrupt_ends_any_load_with_its_result,
    a_number_of_requests_bounds_the_unsent_ones
);

fn rate(arrivals: Arrivals, burst: u64, stages: &str) -> LoadShape {
    let stages = parse_stages(stages).unwrap();
    LoadShape::Rate(Schedule {
        arrivals,
        burst,
        stages,
    })
}

fn largest() -> [LoadShape; 8] {
    let think_time = Seconds(Duration::from_micros(1));
    [
        LoadShape::Closed,
        rate(Arrivals::Even, 1, "1000M/s"),
        rate(Arrivals::Poisson, 1, "1000M/s"),
        rate(Arrivals::Even, Schedule::MOST_BURST, "1000M/s"),
        rate(Arrivals::Poisson, Schedule::MOST_BURST, "1000M/s"),
        rate(Arrivals::Even, 1, "0/s..1000M/s:1s,1000M/s"),
        LoadShape::UsersClosed { think_time },
        LoadShape::UsersOpen { think_time },
    ]
}

fn plan(event_loop: EventLoopChoice, address: SocketAddr, shape: LoadShape, ms: u64) -> LoadPlan {
    let is_closed = shape == LoadShape::Closed;
    get_from(event_loop, address, 1).with(|plan| {
        plan.load.connections = 50;
        plan.load.max_connections = Some(60);
        plan.load.pipeline = if is_closed { MOST_PIPELINE } else { 1 };
        plan.load.shape = shape;
        plan.load.requests = None;
        plan.load.duration = Some(Seconds::from_millis(ms));
        plan.load.timeout = Seconds::from_millis(20);
    })
}

/// A server whose kernel accepts connections, but that never reads.
fn hanging() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn the_first_interrupt_ends_any_load_with_its_result(event_loop: EventLoopChoice) {
    let responding = ScriptedServer::hello();
    let (_listener, silent) = hanging();
    for shape in largest() {
        for address in [responding.address(), silent] {
            for deadline in [None, Some(Duration::from_millis(1))] {
                let plan = plan(event_loop, address, shape.clone(), 3_600_000).with(|plan| {
                    plan.load.deadline = deadline.filter(|_| shape.is_open()).map(Seconds);
                    plan.load.timeout = Seconds::from_secs(20);
                });
                let interrupt = AtomicBool::new(false);
                let result = thread::scope(|scope| {
                    let load = scope.spawn(|| run(&plan, &interrupt, &mut |_| {}).unwrap());
                    thread::sleep(Duration::from_millis(20));
                    interrupt.store(true, Relaxed);
                    load.join().unwrap()
                });
                assert_eq!(result.ended, Ended::Interrupted, "{shape:?}");
                assert_eq!(result.requests, result.outcomes.total());
            }
        }
    }
}

fn a_number_of_requests_bounds_the_unsent_ones(event_loop: EventLoopChoice) {
    let (_listener, silent) = hanging();
    for shape in largest().into_iter().filter(LoadShape::is_open) {
        let result = load(
            &plan(event_loop, silent, shape, 30).with(|plan| plan.load.requests = Some(1_000_000)),
        );
        assert!(result.requests <= 1_000_000, "{:?}", result.outcomes);
        assert!(result.outcomes[Outcome::Unfinished] > 0);
    }
}
