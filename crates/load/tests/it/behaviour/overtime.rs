//! Phases that end before any response has arrived.

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, LoadShape, Outcome};
use prony_testkit::until;

use crate::plans::{self, assert_outcome, even, get_from};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_load_continues_until_each_connection_could_have_had_a_response,
    no_more_requests_are_measured_than_planned,
    measuring_starts_when_a_longer_warm_up_is_over,
    a_load_with_a_response_ends_in_time,
    a_server_that_never_responds_times_out
);

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// 200 ms long.
fn short(event_loop: EventLoopChoice, address: std::net::SocketAddr, overtime: bool) -> LoadPlan {
    LoadPlan {
        duration: Some(Duration::from_millis(200)),
        requests: None,
        overtime,
        ..get_from(event_loop, address, 1)
    }
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = plans::load(plan);
    assert_eq!(result.ended, Ended::Duration);
    result
}

fn a_load_continues_until_each_connection_could_have_had_a_response(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, _| {
        thread::sleep(Duration::from_millis(600));
        let _ = stream.write_all(HELLO.as_bytes());
        After::Keep
    });
    let without = load(&short(event_loop, server.address(), false));
    assert_eq!(without.outcomes[Outcome::Ok], 0);
    assert_eq!(without.outcomes[Outcome::Unfinished], 3);
    let with = load(&short(event_loop, server.address(), true));
    assert!(with.outcomes[Outcome::Ok] >= 3, "{:?}", with.outcomes);
    assert!(with.duration_s > 0.5, "{}", with.duration_s);
    let rate = with.outcomes[Outcome::Ok] as f64 / with.duration_s;
    assert!(
        (with.rate_per_s / rate - 1.0).abs() < 1e-9,
        "over all of it"
    );
}

fn no_more_requests_are_measured_than_planned(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, _| {
        thread::sleep(Duration::from_millis(100));
        let _ = stream.write_all(HELLO.as_bytes());
        After::Keep
    });
    let think_time_s = 0.005;
    for shape in [
        LoadShape::Closed,
        even(200.0),
        LoadShape::UsersClosed { think_time_s },
        LoadShape::UsersOpen { think_time_s },
    ] {
        // All twelve connections wait for a response when the warm-up ends.
        let plan = LoadPlan {
            connections: 12,
            max_connections: 12,
            pipeline: if shape == LoadShape::Closed { 2 } else { 1 },
            warmup: Duration::from_millis(60),
            shape: shape.clone(),
            ..get_from(event_loop, server.address(), 3)
        };
        let before = server.requests();
        let result = plans::load(&plan);
        assert_eq!(result.ended, Ended::Requests);
        assert_eq!(result.requests, 3, "{shape:?}");
        let warmup = result.warmup.unwrap().outcomes.total();
        assert_eq!(server.requests() - before, 3 + warmup, "{shape:?}");
    }
}

fn measuring_starts_when_a_longer_warm_up_is_over(event_loop: EventLoopChoice) {
    let arrived = AtomicU64::new(0);
    let server = ScriptedServer::start(move |stream, _| {
        // All twelve belong to the warm-up, however busy the machine is.
        arrived.fetch_add(1, SeqCst);
        until("twelve requests", || {
            (arrived.load(SeqCst) >= 12).then_some(())
        });
        thread::sleep(Duration::from_millis(600));
        let _ = stream.write_all(HELLO.as_bytes());
        After::Keep
    });
    // The requests of twelve users end half a second after the warm-up's time: nine of them belong to it.
    let plan = LoadPlan {
        shape: LoadShape::UsersClosed {
            think_time_s: 0.005,
        },
        connections: 12,
        max_connections: 12,
        warmup: Duration::from_millis(100),
        duration: Some(Duration::from_millis(200)),
        ..get_from(event_loop, server.address(), 3)
    };
    let result = plans::load(&plan);
    assert_eq!(result.requests, 3);
    assert_outcome(&result, Outcome::Ok, 3);
    let warmup = result.warmup.unwrap();
    assert_eq!(warmup.outcomes.total(), 9);
    assert!(warmup.duration_s > 0.5, "{}", warmup.duration_s);
}

fn a_load_with_a_response_ends_in_time(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let result = load(&short(event_loop, server.address(), true));
    assert!(result.outcomes[Outcome::Ok] >= 3, "{:?}", result.outcomes);
}

fn a_server_that_never_responds_times_out(event_loop: EventLoopChoice) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = short(event_loop, listener.local_addr().unwrap(), true);
    plan.timeout = Duration::from_millis(300);
    let result = load(&plan);
    assert_outcome(&result, Outcome::TimedOut, 3);
}
