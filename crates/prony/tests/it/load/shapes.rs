//! Every shape of load: its name, its schedule, and what its latency is measured from.

use prony_testkit::contains;
use std::net::TcpListener;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Running, run, until};
use crate::load::{load, loaded, outcome, result};
use prony_testkit::recorder::HttpServer;

#[test]
fn a_rate_sends_what_is_due() {
    let server = HttpServer::start();
    let (shown, result) = loaded(&["--rate", "1k/s", "-n300", "-c4", "-t1", &server.url()]);
    contains(
        &shown,
        "1k/s, open loop, evenly spaced, 4 connections, at most 1,000 connections, 1 thread",
    );
    for part in [
        "Latency (from the scheduled arrival)",
        "300 requests due, all sent",
        "Schedule lag (of the generator): p50",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("seed "), "{shown}");
    assert_eq!(result["load"]["shape"], "rate");
    assert_eq!(result["load"]["arrivals"], "even");
    assert_eq!(result["load"]["max_connections"], 1000);
    assert_eq!((outcome(&result, "ok"), server.count()), (300, 300));
    assert_eq!(result["open"]["due"], 300);
    assert_eq!(result["open"]["sent"], 300);
    assert_eq!(result["open"]["rate_ratio"], 1.0);
    // The last of them is due 299 ms after the first.
    assert!(result["duration_s"].as_f64().unwrap() > 0.25, "{result}");
}

#[test]
fn random_arrivals_show_their_seed() {
    let server = HttpServer::start();
    let rate = ["--rate", "2k/s", "--arrivals", "poisson", "-n200"];
    let (shown, result) = loaded(&[&rate[..], &["--seed", "42", &server.url()]].concat());
    assert!(shown.contains("2k/s, open loop, Poisson"), "{shown}");
    assert!(shown.contains("  seed 42\n"), "{shown}");
    assert_eq!(result["load"]["seed"], 42);
    assert_eq!(result["load"]["arrivals"], "poisson");
    let (shown, result) = loaded(&[&rate[..], &[&server.url()]].concat());
    let drawn = format!("  seed {}\n", result["load"]["seed"]);
    assert!(shown.contains(&drawn), "{shown}");
}

#[test]
fn bursts_have_the_same_rate_overall() {
    let server = HttpServer::start();
    let flags = ["--rate", "1k/s", "--burst", "50", "-n200", "-c50"];
    let (shown, result) = loaded(&[&flags[..], &[&server.url()]].concat());
    contains(&shown, "1k/s, open loop, evenly spaced, bursts of 50");
    assert_eq!(outcome(&result, "ok"), 200);
    // The fourth burst is due 150 ms after the first.
    assert!(result["duration_s"].as_f64().unwrap() > 0.12, "{result}");
}

#[test]
fn stages_last_as_long_as_their_sum() {
    let server = HttpServer::start();
    let stages = ["--stages", "200/s:100ms,200/s..1k/s:200ms"];
    let (shown, result) = loaded(&[&stages[..], &[&server.url()]].concat());
    contains(&shown, "200/s:100ms, 200/s..1k/s:200ms, open loop");
    let seconds = |of: &serde_json::Value| of.as_f64().unwrap();
    assert!((seconds(&result["load"]["duration_s"]) - 0.3).abs() < 1e-9);
    assert_eq!(result["ended"], "duration");
    // 20 in the first stage, 120 below the ramp.
    let due = result["open"]["due"].as_u64().unwrap();
    assert!((139..=142).contains(&due), "{due}");

    // If something else ends the load, the last rate continues.
    let stages = words!("--stages 500/s:100ms,2k/s -n150 --max-connections 10");
    let (_, result) = loaded(&[&stages[..], &[&server.url()]].concat());
    assert!(result["load"]["duration_s"].is_null());
    assert_eq!(result["load"]["max_connections"], 10);
    assert_eq!(outcome(&result, "ok"), 150);
}

#[test]
fn requests_past_their_deadline_are_dropped() {
    // The kernel accepts connections for it, and nobody reads.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let flags = words!(
        "--rate 200/s -n50 -c2 -t1 --max-connections 2 --deadline 500ms --timeout 1s --json result.json",
        &url
    );
    run(load(folder.path(), &flags))
        .with(1)
        .prints("deadline 0.5 s")
        .prints("shed (not sent within 0.5 s of their scheduled arrival)")
        .prints("due while all connections were busy");
    let result = result(folder.path(), "result.json");
    assert_eq!(result["load"]["deadline_s"], 0.5);
    let (shed, timed_out) = (outcome(&result, "shed"), outcome(&result, "timed_out"));
    assert_eq!(shed + timed_out, 50, "{result}");
    assert!(
        shed > 0 && timed_out >= 2,
        "{shed} shed, {timed_out} timed out"
    );
    assert_eq!(result["open"]["sent"], timed_out);
}

#[test]
fn users_think_closed_or_open() {
    let server = HttpServer::start();
    let users = ["--users", "20", "--think-time", "10ms", "-n200", "-t1"];
    let (shown, result) = loaded(&[&users[..], &[&server.url()]].concat());
    contains(&shown, "20 users, closed loop, think time 0.01 s, 1 thread");
    assert!(
        shown.contains("Latency (closed loop)") && shown.contains("  seed "),
        "{shown}"
    );
    assert_eq!(result["load"]["shape"], "users-closed");
    assert_eq!(result["load"]["connections"], 20);
    assert_eq!(outcome(&result, "ok"), 200);

    let (shown, result) = loaded(&[&users[..], &["--open", &server.url()]].concat());
    contains(&shown, "20 users, open loop, think time 0.01 s, 1 thread");
    contains(&shown, "Latency (from the scheduled arrival)");
    assert_eq!(result["load"]["shape"], "users-open");
    assert_eq!(outcome(&result, "ok"), 200);
}

#[test]
fn sequential_is_one_connection() {
    let server = HttpServer::start();
    let (shown, result) = loaded(&["--sequential", "-n50", &server.url()]);
    contains(&shown, "1 connection, closed loop (sequential)");
    assert_eq!(result["connections_opened"], 1);
    assert_eq!(server.count(), 50);
}

#[test]
fn a_pause_before_measuring_does_not_shorten_it() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let times = ["-d100ms", "--warmup", "400ms", "--json", "result.json"];
    let url = server.url();
    let flags = [&times[..], &["-c4", "-t1", &url]].concat();
    let running = Running::start(load(folder.path(), &flags));
    until("a request", || (server.count() > 0).then_some(()));
    // For longer than the whole load.
    const STOPPED: Duration = Duration::from_millis(1000);
    running.signal(Signal::SIGSTOP);
    std::thread::sleep(STOPPED);
    running.signal(Signal::SIGCONT);
    running.end().with(0);
    let result = result(folder.path(), "result.json");
    let seconds = |of: &serde_json::Value| of.as_f64().unwrap();
    assert!(
        seconds(&result["warmup"]["duration_s"]) >= STOPPED.as_secs_f64(),
        "{result}"
    );
    // As long as planned, without the time for which it was stopped.
    let measured = seconds(&result["duration_s"]);
    assert!(
        (0.1..STOPPED.as_secs_f64()).contains(&measured),
        "{measured}"
    );
}
