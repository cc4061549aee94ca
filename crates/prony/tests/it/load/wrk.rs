//! Wrk's flags, what a load shows and writes, and how a signal ends it.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Ended, Running, run, schema, until};
use crate::load::{Folder, Holds, Shows, loaded, outcome, silent_server};
use prony_testkit::recorder::HttpServer;
use prony_testkit::table::rows;
use prony_testkit::{contains, starts_with};

#[test]
fn wrks_flags_are_accepted() {
    let server = HttpServer::start();
    let flags = "-t2 -c8 -d1s --latency -H 'A: b' --header 'C: d'";
    let (ended, result) = loaded(format!("{flags} {}", server.url()));
    ended.shows("8 connections, closed loop, 2 threads … Latency (closed loop) … 99 % … 99.99 %");
    let ended = is_plain(ended.prints("Requests/sec:").prints("Transfer/sec:"));
    let head = server.first().head;
    starts_with(&head, "GET / HTTP/1.1\n");
    contains(&head, "\na: b\n");
    contains(&head, "\nc: d\n");
    result.holds("load.threads=2 load.connections=8 load.shape=closed ended=duration");
    result.holds("connections_opened=8 reconnects=0");
    let [duration, rate] = ["duration_s", "rate_per_s"].map(|name| result[name].as_f64().unwrap());
    let ok = outcome(&result, "ok") as f64;
    assert!(ok > 0.0 && duration >= 1.0, "{}", ended.all());
    assert!((rate * duration / ok - 1.0).abs() < 0.01, "{rate}");
}

/// Piped output has no colours and does not move the cursor.
fn is_plain(ended: Ended) -> Ended {
    ended.lacks("\u{1b}").lacks("\r")
}

/// 1000 is a multiple of neither the connections nor the threads.
#[test]
fn exactly_n_requests_are_sent_and_only_json_is_on_standard_output() {
    let (server, folder) = (HttpServer::start(), Folder::new());
    let flags = "-n 1k -c7 -t3 --json - --hgrm load.hgrm";
    let ended = run(folder.prony(format!("{flags} {}", server.url()))).with(0);
    assert_eq!(server.count(), 1000);
    let result = schema::valid("load", &ended.stdout);
    result.holds("requests=1000 outcomes.ok=1000 ended=requests statuses.200=1000");
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".len();
    assert_eq!(result["bytes_read"], 1000 * response);
    for [part, fields] in rows(
        r#"
        "" | duration_s rate_per_s connections_opened histogram
        /outcomes | wrong_status malformed truncated refused reset timed_out unfinished
        /latency_ns | min mean stdev p50 p75 p90 p95 p99 p999 p9999 max
        /generator | cpu_user_s cpu_system_s busy_max loop client_limited
    "#,
    ) {
        let object = result.pointer(part).unwrap().as_object().unwrap();
        let mut fields = fields.split(' ');
        let missing = fields.find(|name| !object.contains_key(*name));
        assert_eq!(missing, None, "{part} of {result}");
    }
    // Without --latency only the main percentiles are shown.
    let ended = ended.says("Percentiles: p50 ").says("Requests/sec:");
    is_plain(ended.lacks("99.99 %"));
    let percentiles = folder.read("load.hgrm");
    let last = percentiles.lines().rfind(|line| !line.starts_with('#'));
    let cells: Vec<&str> = last.unwrap().split_whitespace().skip(1).collect();
    assert_eq!(cells, ["1.000000000000", "1000"], "{percentiles}");
}

#[test]
fn a_body_is_sent_as_text_or_from_a_file() {
    let folder = Folder::new();
    folder.write("body.bin", b"\0\xff\r\n\r\nGET");
    for (given, sent) in [
        ("a=1&b=2", &b"a=1&b=2"[..]),
        ("@body.bin", b"\0\xff\r\n\r\nGET"),
    ] {
        let server = HttpServer::start();
        // A body means POST.
        let flags = format!("-n5 -c1 -b {given} {}", server.url());
        folder.load(flags).with(0);
        assert_eq!(server.lines(), ["POST /"; 5]);
        assert_eq!(server.first().body, sent);
    }
}

#[test]
fn a_warm_up_is_reported_and_not_counted() {
    let server = HttpServer::start();
    let (ended, result) = loaded(format!("-n 100 -c2 --warmup 1s {}", server.url()));
    ended.prints("warm-up: ");
    result.holds("requests=100");
    let warmup = result["warmup"]["outcomes"]["ok"].as_u64().unwrap();
    assert!(warmup > 0);
    // One request per connection may have started in the warm-up and ended after it.
    let all = server.count() as u64;
    let possible = 100 + warmup..=102 + warmup;
    assert!(possible.contains(&all), "{all}, {warmup}");
}

#[test]
fn requests_without_a_response_time_out() {
    let (folder, (_listener, url)) = (Folder::new(), silent_server());
    let ended = folder
        .load(format!("-c3 -t1 -d2s --timeout 50ms {url}"))
        .with(1);
    ended.prints("timed out").prints("no response was ok");
    let result = folder.result();
    assert!(outcome(&result, "timed_out") >= 3, "{result}");
    result.holds("outcomes.ok=0 latency_ns=null");
    let outcomes = result["outcomes"].as_object().unwrap().values();
    let sum: u64 = outcomes.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(result["requests"], sum);
}

/// How a load ends that gets this signal when it has sent requests; `before` is done just before that.
fn ended_by(signal: Signal, folder: &Folder, flags: &str, before: impl FnOnce()) -> Ended {
    let server = HttpServer::start();
    let command = folder.prony(format!("-c2 -d10m {flags} {}", server.url()));
    let running = Running::start(command);
    until("requests", || (server.count() > 10).then_some(()));
    before();
    running.signal(signal);
    running.end()
}

#[test]
fn a_result_that_cannot_be_written_does_not_hide_the_summary() {
    let folder = Folder::new();
    let place = folder.path("place");
    fs::create_dir(&place).unwrap();
    // It was writable when the load started.
    let remove = || fs::remove_dir(&place).unwrap();
    ended_by(Signal::SIGINT, &folder, "--json place/result.json", remove)
        .with(1)
        .prints(" requests in ")
        .says("cannot write `place/result.json`: ");
}

#[test]
fn an_interrupt_ends_the_load_and_keeps_what_was_measured() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let folder = Folder::new();
        let ended = ended_by(signal, &folder, "--json result.json", || ());
        ended.with(130).prints("Requests/sec:");
        let result = folder.result();
        result.holds("ended=interrupted");
        assert!(outcome(&result, "ok") > 0);
        assert!(result["duration_s"].as_f64().unwrap() < 600.0);
    }
}

/// Loads beyond any machine.
#[test]
fn the_first_signal_ends_any_load_with_a_complete_result() {
    for shape in [
        "--pipeline 1000",
        "--rate 1000M/s",
        "--rate 1000M/s --arrivals poisson",
        "--rate 1000M/s --burst 1M",
        "--stages 0/s..1000M/s:1s,1000M/s",
        "--users 100 --think-time 1us --open --deadline 1ms",
    ] {
        let (folder, (listener, url)) = (Folder::new(), silent_server());
        let running = folder.start(format!("{shape} -d1h -t1 --warmup 10ms {url}"));
        // The first connection only checks that the server is there; the next one is the load's. A busy machine may be too
        // late for every request with a deadline, and then there is no other.
        let connections = if shape.contains("--deadline") { 1 } else { 2 };
        listener.set_nonblocking(true).unwrap();
        let accept = |_| until("a connection", || listener.accept().ok());
        let accepted = (0..connections).map(accept).collect::<Vec<_>>();
        // Meanwhile ever more are due.
        std::thread::sleep(Duration::from_millis(100));
        running.signal(Signal::SIGINT);
        running.end().with(130);
        folder.holds("ended=interrupted");
        drop(accepted);
    }
}
