//! Closed loops that end before any response has arrived.

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use prony_load::{LoadPlan, run};
use prony_model::{Ended, LoadResult, Outcome};

use super::plans::plan_to;
use super::scripted::{After, ScriptedServer};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// 200 ms long.
fn short(address: std::net::SocketAddr, overtime: bool) -> LoadPlan {
    LoadPlan {
        duration: Some(Duration::from_millis(200)),
        requests: None,
        overtime,
        ..plan_to(address, "GET", &[], b"", 1)
    }
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(result.requests, result.outcomes.total());
    assert_eq!(result.ended, Ended::Duration);
    result
}

#[test]
fn a_load_continues_until_each_connection_could_have_had_a_response() {
    let server = ScriptedServer::start(|stream, _| {
        thread::sleep(Duration::from_millis(600));
        let _ = stream.write_all(HELLO.as_bytes());
        After::Keep
    });
    let without = load(&short(server.address(), false));
    assert_eq!(without.outcomes[Outcome::Ok], 0);
    assert_eq!(without.outcomes[Outcome::Unfinished], 3);
    let with = load(&short(server.address(), true));
    assert!(with.outcomes[Outcome::Ok] >= 3, "{:?}", with.outcomes);
    assert!(
        (0.5..10.0).contains(&with.duration_s),
        "{}",
        with.duration_s
    );
    let rate = with.outcomes[Outcome::Ok] as f64 / with.duration_s;
    assert!(
        (with.rate_per_s / rate - 1.0).abs() < 1e-9,
        "over all of it"
    );
}

#[test]
fn a_load_with_a_response_ends_in_time() {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let result = load(&short(server.address(), true));
    assert!(result.duration_s < 5.0, "{}", result.duration_s);
}

#[test]
fn a_server_that_never_responds_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = short(listener.local_addr().unwrap(), true);
    plan.timeout = Duration::from_millis(500);
    let result = load(&plan);
    assert_eq!(
        result.outcomes[Outcome::TimedOut],
        3,
        "{:?}",
        result.outcomes
    );
    assert!(result.duration_s < 5.0, "{}", result.duration_s);
}
