//! Wrk's flags, and what a load shows and writes.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Ended, Running, repository, run, schema, until};
use crate::load::{Ceiling, load, outcome, result};
use prony_testkit::recorder::HttpServer;

#[test]
fn wrks_flags_are_accepted() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let url = server.url();
    let flags = ["-t2", "-c8", "-d100ms", "--latency", "-H", "A: b"];
    let mut command = load(folder.path(), &flags);
    command.args(["--header", "C: d", "--json", "result.json", &url]);
    let ended = run(command).with(0);
    for shown in [
        "8 connections, closed loop, 2 threads",
        "Requests/sec:",
        "Transfer/sec:",
        "99 %",
        "99.99 %",
        "Latency (closed loop)",
    ] {
        assert!(ended.stdout.contains(shown), "{shown}: {}", ended.stdout);
    }
    is_plain(&ended);
    let head = server.first().head;
    assert!(head.starts_with("GET / HTTP/1.1\n"), "{head}");
    assert!(
        head.contains("\na: b\n") && head.contains("\nc: d\n"),
        "{head}"
    );

    let result = result(folder.path(), "result.json");
    assert_eq!(result["load"]["threads"], 2);
    assert_eq!(result["load"]["connections"], 8);
    assert_eq!(result["load"]["shape"], "closed");
    assert_eq!(result["connections_opened"], 8);
    assert_eq!(result["reconnects"], 0);
    assert_eq!(result["ended"], "duration");
    assert!(outcome(&result, "ok") > 0);
    let duration = result["duration_s"].as_f64().unwrap();
    assert!(duration >= 0.1, "{duration}");
    let rate = result["rate_per_s"].as_f64().unwrap();
    let ok = outcome(&result, "ok") as f64;
    assert!((rate * duration / ok - 1.0).abs() < 0.01, "{rate}");
}

/// Piped output has no colours and does not move the cursor.
fn is_plain(ended: &Ended) {
    let all = ended.all();
    assert!(!all.contains('\u{1b}') && !all.contains('\r'), "{all}");
}

#[test]
fn without_the_latency_flag_only_the_main_percentiles_are_shown() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let ended = run(load(folder.path(), &["-n", "10", "-c1", &server.url()])).with(0);
    assert!(!ended.stdout.contains("99.99 %"), "{}", ended.stdout);
    ended.prints("Percentiles: p50 ").prints("Requests/sec:");
}

#[test]
fn exactly_n_requests_are_sent() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    // 1000 is a multiple of neither the connections nor the threads.
    let flags = ["-n", "1k", "-c7", "-t3", "--json", "result.json"];
    let mut command = load(folder.path(), &flags);
    command.arg(server.url());
    run(command).with(0);
    assert_eq!(server.count(), 1000);
    let result = result(folder.path(), "result.json");
    assert_eq!(result["requests"], 1000);
    assert_eq!(outcome(&result, "ok"), 1000);
    assert_eq!(result["ended"], "requests");
    assert_eq!(result["statuses"]["200"], 1000);
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".len();
    assert_eq!(result["bytes_read"], 1000 * response);
}

#[test]
fn a_body_is_sent_as_text_or_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("body.bin"), b"\0\xff\r\n\r\nGET").unwrap();
    for (given, sent) in [
        ("a=1&b=2", &b"a=1&b=2"[..]),
        ("@body.bin", b"\0\xff\r\n\r\nGET"),
    ] {
        let server = HttpServer::start();
        let flags = ["-n5", "-c1", "-X", "POST", "-b", given, &server.url()];
        run(load(folder.path(), &flags)).with(0);
        let first = server.first();
        assert!(first.head.starts_with("POST / HTTP/1.1\n"), "{first:?}");
        assert_eq!(first.body, sent);
        assert_eq!(server.count(), 5);
    }
}

#[test]
fn a_warm_up_is_reported_and_not_counted() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let flags = words!("-n 100 -c2 --warmup 200ms --json result.json");
    let mut command = load(folder.path(), &flags);
    command.arg(server.url());
    run(command).with(0).prints("warm-up: ");
    let result = result(folder.path(), "result.json");
    let warmup = result["warmup"]["outcomes"]["ok"].as_u64().unwrap();
    assert!(warmup > 0);
    assert_eq!(result["requests"], 100);
    // One request per connection may have started in the warm-up and ended after it.
    let all = server.count() as u64;
    assert!(
        (100 + warmup..=102 + warmup).contains(&all),
        "{all}, {warmup}"
    );
}

#[test]
fn requests_without_a_response_time_out() {
    let folder = tempfile::tempdir().unwrap();
    // The kernel accepts connections, but nothing reads from them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let flags = words!("-c3 -t1 -d100ms --timeout 50ms --json result.json");
    let mut command = load(folder.path(), &flags);
    command.arg(&url);
    run(command)
        .with(1)
        .prints("timed out")
        .prints("no response was ok");
    let result = result(folder.path(), "result.json");
    assert!(outcome(&result, "timed_out") >= 3, "{result}");
    assert_eq!(outcome(&result, "ok"), 0);
    assert!(result["latency_ns"].is_null());
    let sum: u64 = result["outcomes"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(result["requests"], sum);
}

#[test]
fn only_the_complete_json_is_on_standard_output() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let url = server.url();
    let ended = run(load(folder.path(), &["-n50", "-c2", "--json", "-", &url])).with(0);
    let result = schema::load(&ended.stdout);
    let ended = ended.says("Requests/sec:");
    is_plain(&ended);
    let has = |object: &Value, fields: &[&str]| {
        let object = object.as_object().unwrap();
        let names: BTreeSet<&str> = object.keys().map(String::as_str).collect();
        for field in fields {
            assert!(names.contains(field), "no {field} in {names:?}");
        }
    };
    has(
        &result,
        &words!(
            "outcomes duration_s rate_per_s bytes_read connections_opened latency_ns histogram generator"
        ),
    );
    has(
        &result["outcomes"],
        &words!("ok wrong_status malformed truncated refused reset timed_out unfinished"),
    );
    has(
        &result["latency_ns"],
        &[
            "min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max",
        ],
    );
    has(
        &result["generator"],
        &words!("cpu_user_s cpu_system_s busy_max loop client_limited"),
    );
}

#[test]
fn the_reference_server_is_loaded_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let ceiling = Ceiling::start();
    let page = fs::metadata(repository().join("workloads/assets/page-100k.html")).unwrap();
    for (path, least) in [("", page.len()), ("hello", 17), ("sse", page.len())] {
        let url = ceiling.url(path);
        let flags = ["-n", "200", "-c8", "-t2", "--json", "result.json", &url];
        run(load(folder.path(), &flags)).with(0);
        let result = result(folder.path(), "result.json");
        assert_eq!(outcome(&result, "ok"), 200, "{path}");
        assert!(result["bytes_read"].as_u64().unwrap() > 200 * least);
    }
    let missing = ceiling.url("missing");
    let ended = run(load(folder.path(), &["-n10", "-c1", &missing])).with(1);
    ended.prints("wrong status").prints("404: 10");
}

#[test]
fn a_load_that_cannot_run_is_reported_with_exit_status_1() {
    let folder = tempfile::tempdir().unwrap();
    // Bound and released, so nothing listens there.
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let refused = format!("http://127.0.0.1:{port}/");
    run(load(folder.path(), &[&refused]))
        .with(1)
        .says(&format!("cannot connect to 127.0.0.1:{port}"))
        .says("is the server running and listening there?");
    run(load(folder.path(), &["http://no-such-host.invalid/"]))
        .with(1)
        .says("the host `no-such-host.invalid` cannot be resolved")
        .says("is it spelled correctly?");
    run(load(
        folder.path(),
        &["-X", "POST", "-b", "@missing.json", &refused],
    ))
    .with(1)
    .says("cannot read the body from `missing.json`: No such file");
}

#[test]
fn a_result_that_cannot_be_written_does_not_hide_the_summary() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let flags = ["-c1", "-d10m", "--json", "place/result.json"];
    let mut command = load(folder.path(), &flags);
    command.arg(server.url());
    let running = Running::start(command);
    until("requests", || (server.count() > 10).then_some(()));
    // It was writable when the load started.
    fs::remove_dir(&place).unwrap();
    running.signal(Signal::SIGINT);
    running
        .end()
        .with(1)
        .prints(" requests in ")
        .says("cannot write `place/result.json`: ");
}

#[test]
fn an_interrupt_ends_the_load_and_keeps_what_was_measured() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
        let flags = ["-c2", "-d10m", "--json", "result.json"];
        let mut command = load(folder.path(), &flags);
        command.arg(server.url());
        let running = Running::start(command);
        until("requests", || (server.count() > 10).then_some(()));
        running.signal(signal);
        running.end().with(130).prints("Requests/sec:");
        let result = result(folder.path(), "result.json");
        assert_eq!(result["ended"], "interrupted");
        assert!(outcome(&result, "ok") > 0);
        assert!(result["duration_s"].as_f64().unwrap() < 600.0);
    }
}
