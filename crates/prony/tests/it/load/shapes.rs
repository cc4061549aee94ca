//! Every shape of load: its name, its schedule, and what its latency is measured from.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::until;
use crate::load::{Folder, Holds, Shows, at, loaded, loads, outcome, silent_server};
use prony_testkit::recorder::HttpServer;

#[test]
fn each_shape_has_its_name_and_its_requests() {
    let server = HttpServer::start();
    let url = server.url();
    loads(
        &url,
        r"
        --sequential -n50 | 1 connection, closed loop (sequential) | connections_opened=1 outcomes.ok=50
        --rate 2k/s --arrivals poisson -n200 --seed 42 | 2k/s, open loop, Poisson … \n  seed 42\n | load.seed=42 load.arrivals=poisson
        --stages 500/s:100ms,2k/s -n150 --max-connections 10 | open loop | load.duration_s=null load.max_connections=10 outcomes.ok=150
    ",
    );
    let users = "--users 20 --think-time 10ms -n200 -t1";
    let (ended, result) = loaded(format!("{users} {url}"));
    ended.shows("20 users, closed loop, think time 0.01 s, 1 thread … Latency (closed loop)");
    ended.shows("\n  seed ");
    result.holds("load.shape=users-closed load.connections=20 outcomes.ok=200");
    let (ended, result) = loaded(format!("{users} --open {url}"));
    ended.shows("20 users, open loop, think time 0.01 s, 1 thread");
    ended.shows("Latency (from the scheduled arrival)");
    result.holds("load.shape=users-open outcomes.ok=200");
    assert_eq!(server.count(), 50 + 200 + 150 + 2 * 200);
    let (ended, result) = loaded(format!("--rate 2k/s --arrivals poisson -n200 {url}"));
    ended.prints(&format!("  seed {}\n", result["load"]["seed"]));
}

#[test]
fn a_rate_sends_what_is_due() {
    let server = HttpServer::start();
    let url = server.url();
    let (ended, result) = loaded(format!("--rate 1k/s -n300 -c4 -t1 {url}"));
    let ended = ended
        .prints(
            "1k/s, open loop, evenly spaced, 4 connections, at most 1,000 connections, 1 thread",
        )
        .prints("Latency (from the scheduled arrival)")
        .prints("300 requests due, all sent")
        .prints("Schedule lag (of the generator): p50");
    ended.lacks("seed ");
    result.holds("load.shape=rate load.arrivals=even load.max_connections=1000");
    result.holds("outcomes.ok=300 open.due=300 open.sent=300 open.rate_ratio=1.0");
    assert_eq!(server.count(), 300);
    // The last of them is due 299 ms after the first.
    assert!(seconds(&result, "duration_s") > 0.25, "{result}");

    let (ended, result) = loaded(format!("--rate 1k/s --burst 50 -n200 -c50 {url}"));
    ended.shows("1k/s, open loop, evenly spaced, bursts of 50");
    result.holds("outcomes.ok=200");
    // The fourth burst is due 150 ms after the first.
    assert!(seconds(&result, "duration_s") > 0.12, "{result}");
}

fn seconds(result: &Value, place: &str) -> f64 {
    at(result, place).as_f64().unwrap()
}

#[test]
fn stages_last_as_long_as_their_sum() {
    let url = HttpServer::start().url();
    let (ended, result) = loaded(format!("--stages 200/s:100ms,200/s..1k/s:200ms {url}"));
    ended.shows("200/s:100ms, 200/s..1k/s:200ms, open loop");
    assert!((seconds(&result, "load.duration_s") - 0.3).abs() < 1e-9);
    result.holds("ended=duration");
    // 20 in the first stage, 120 below the ramp.
    let due = result["open"]["due"].as_u64().unwrap();
    assert!((139..=142).contains(&due), "{due}");
    // However late the machine sends the last of them.
    result.holds(&format!("outcomes.ok={due}"));
    // A row for each stage, and percentiles over time.
    ended.shows("\n  Stage … \n  200/s:100ms … \n  200/s..1k/s:200ms … ");
    result.holds("stages.0.to_per_s=200.0 stages.1.to_per_s=1000.0");
    let sent = [0, 1].map(|stage| result["stages"][stage]["requests"].as_u64().unwrap());
    assert_eq!(sent[0] + sent[1], due);
    assert!(result["timeline"]["seconds"][0]["latency_ns"]["p99"].is_u64());
}

#[test]
fn requests_past_their_deadline_are_dropped() {
    let (folder, (_listener, url)) = (Folder::new(), silent_server());
    let flags = "--rate 200/s -n50 -c2 -t1 --max-connections 2 --deadline 2500ms --timeout 4s";
    folder
        .load(format!("{flags} {url}"))
        .with(1)
        .prints("deadline 2.5 s")
        .prints("shed (not sent within 2.5 s of their scheduled arrival)")
        .prints("due while all connections were busy");
    let result = folder.result();
    let (shed, timed_out) = (outcome(&result, "shed"), outcome(&result, "timed_out"));
    assert_eq!(shed + timed_out, 50, "{result}");
    assert!(shed > 0 && timed_out >= 2, "{result}");
    result.holds(&format!("load.deadline_s=2.5 open.sent={timed_out}"));
}

#[test]
fn a_pause_before_measuring_does_not_shorten_it() {
    let (server, folder) = (HttpServer::start(), Folder::new());
    let running = folder.start(format!("-d100ms --warmup 2s -c4 -t1 {}", server.url()));
    until("a request", || (server.count() > 0).then_some(()));
    // For longer than the whole load.
    const STOPPED: Duration = Duration::from_secs(3);
    running.signal(Signal::SIGSTOP);
    std::thread::sleep(STOPPED);
    running.signal(Signal::SIGCONT);
    running.end().with(0);
    let (result, stopped) = (folder.result(), STOPPED.as_secs_f64());
    assert!(seconds(&result, "warmup.duration_s") >= stopped, "{result}");
    // As long as planned, without the time for which it was stopped.
    let measured = seconds(&result, "duration_s");
    assert!((0.1..stopped).contains(&measured), "{measured}");
}
