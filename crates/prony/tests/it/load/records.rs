//! What a load records beside its result: the latencies of each second, and a trace.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use prony_model::LatencyHistogram;
use serde_json::Value;

use crate::common::{repository, run};
use crate::load::{Ceiling, load, outcome, result};
use prony_testkit::certificate::Certificate;
use prony_testkit::recorder::HttpServer;

/// An interval of a log: when it began and how long it lasted, in milliseconds, and its latencies.
struct Interval {
    from: u64,
    length: u64,
    latencies: Histogram<u64>,
}

fn read_log(path: &Path) -> Vec<Interval> {
    let log = fs::read(path).unwrap();
    let intervals = IntervalLogIterator::new(&log).filter_map(|entry| match entry.unwrap() {
        LogEntry::Interval(interval) => Some(interval),
        _ => None,
    });
    intervals
        .map(|interval| {
            let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
            let latencies = Deserializer::new().deserialize(&mut bytes.as_slice());
            Interval {
                from: interval.start_timestamp().as_millis() as u64,
                length: interval.duration().as_millis() as u64,
                latencies: latencies.unwrap(),
            }
        })
        .collect()
}

/// A load that writes a log: its intervals, and its result.
fn logged(arguments: &[&str]) -> (Vec<Interval>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), arguments);
    command.args(["--json", "result.json", "--hdr-log", "load.hlog"]);
    run(command).with(0);
    let log = folder.path().join("load.hlog");
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        text.contains(", load of http") && !text.contains('?'),
        "{text}"
    );
    let intervals = read_log(&log);
    (intervals, result(folder.path(), "result.json"))
}

/// The intervals follow one another, and hold exactly the latencies of the result.
fn assert_is_whole(intervals: &[Interval], result: &Value) {
    for pair in intervals.windows(2) {
        assert_eq!(pair[0].length, 1000);
        assert_eq!(pair[0].from + 1000, pair[1].from);
    }
    let length: u64 = intervals.iter().map(|it| it.length).sum();
    let duration = result["duration_s"].as_f64().unwrap() * 1000.0;
    assert!(
        (length as f64 - duration).abs() <= 1.0,
        "{length} {duration}"
    );
    let whole = LatencyHistogram::from_base64(result["histogram"].as_str().unwrap()).unwrap();
    let mut sum = LatencyHistogram::new().as_hdr().clone();
    for interval in intervals {
        sum.add(&interval.latencies).unwrap();
    }
    assert_eq!(sum.len(), outcome(result, "ok"));
    assert!(sum == *whole.as_hdr(), "{} {}", sum.len(), whole.count());
}

#[test]
fn the_log_has_an_interval_for_each_second_and_every_ok_response() {
    let server = HttpServer::start();
    let flags = ["--rate", "200/s", "-n250", "-c4", "-t2"];
    let (intervals, result) = logged(&[&flags[..], &[&server.url()]].concat());
    assert_is_whole(&intervals, &result);
    assert_eq!((outcome(&result, "ok"), server.count()), (250, 250));
    // The last request is due after 1.245 s.
    assert!(intervals.len() >= 2, "{}", intervals.len());
    assert!(!intervals[0].latencies.is_empty());
}

#[test]
fn the_log_leaves_the_warm_up_out() {
    let server = Ceiling::start();
    for flags in [
        &["-d1100ms", "-c4", "-t2", "--warmup", "100ms"][..],
        &["-d100ms", "-c2", "-t1", "--http2", "--warmup", "100ms"],
    ] {
        let (intervals, result) = logged(&[flags, &[&server.url("hello")]].concat());
        assert_is_whole(&intervals, &result);
        assert!(result["warmup"]["outcomes"]["ok"].as_u64() > Some(0));
    }
}

#[test]
fn the_log_shows_a_second_without_a_response() {
    let server = HttpServer::start();
    let flags = words!("--stages 100/s:300ms,0/s:1700ms,100/s:100ms -c2 -t1");
    let (intervals, result) = logged(&[&flags[..], &[&server.url()]].concat());
    assert_is_whole(&intervals, &result);
    assert!(intervals[1].latencies.is_empty(), "{result}");
    assert!(!intervals[2].latencies.is_empty(), "{result}");
}

/// The trace of a load, and its result.
struct Traced {
    events: Vec<Value>,
    result: Value,
}

fn traced(arguments: &[&str]) -> Traced {
    let folder = tempfile::tempdir().unwrap();
    traced_in(folder.path(), arguments, 0)
}

fn traced_in(folder: &Path, arguments: &[&str], status: i32) -> Traced {
    let mut command = load(folder, arguments);
    command.args(["--json", "result.json", "--trace", "trace.json"]);
    run(command).with(status);
    let text = fs::read_to_string(folder.join("trace.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let traced = Traced {
        events: document["traceEvents"].as_array().unwrap().clone(),
        result: result(folder, "result.json"),
    };
    traced.assert_is_well_formed();
    traced
}

/// Nanoseconds, so that sums are exact.
fn nanoseconds(of: &Value) -> u64 {
    (of.as_f64().unwrap() * 1000.0).round() as u64
}

fn times(slice: &Value) -> (u64, u64) {
    let from = nanoseconds(&slice["ts"]);
    (from, from + nanoseconds(&slice["dur"]))
}

impl Traced {
    fn of(&self, category: &str) -> Vec<&Value> {
        let is = |event: &&Value| event["cat"] == category;
        self.events.iter().filter(is).collect()
    }

    /// The slices of whole requests.
    fn requests(&self) -> Vec<&Value> {
        let mut slices = self.of("request");
        slices.retain(|it| it["name"] != "to first byte");
        slices
    }

    fn tracks(&self) -> BTreeMap<u64, Vec<&Value>> {
        let mut tracks: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
        for request in self.requests() {
            let tid = request["tid"].as_u64().unwrap();
            tracks.entry(tid).or_default().push(request);
        }
        tracks
    }

    fn assert_is_well_formed(&self) {
        let mut processes = BTreeMap::new();
        for event in &self.events {
            let [pid, tid] = ["pid", "tid"].map(|name| event[name].as_u64().unwrap());
            let process = *processes.entry(tid).or_insert(pid);
            assert_eq!(process, pid, "a thread of two processes");
            assert!(event["name"].is_string() && event["ts"].as_f64() >= Some(0.0));
            match event["ph"].as_str().unwrap() {
                "X" => assert!(event["dur"].as_f64() >= Some(0.0), "{event}"),
                "b" | "e" => assert!(event["id"].is_string(), "{event}"),
                "M" => assert!(event["args"].is_object(), "{event}"),
                other => panic!("{other}"),
            }
        }
        self.assert_is_within_the_phases();
        self.assert_slices_do_not_overlap();
        let (begun, ended) = (self.waits("b"), self.waits("e"));
        assert!(begun.keys().eq(ended.keys()));
        assert!(begun.iter().all(|(id, from)| *from < ended[id]));
    }

    /// The measured part lasts as long as in the result, and every request lies within the phases of its thread.
    fn assert_is_within_the_phases(&self) {
        let (mut longest, mut threads) = (0, BTreeMap::new());
        for phase in self.of("phase") {
            let (from, to) = times(phase);
            if phase["name"] == "measured" {
                longest = longest.max(to - from);
            }
            let thread = threads.entry(phase["pid"].as_u64()).or_insert((from, to));
            *thread = (from.min(thread.0), to.max(thread.1));
        }
        let duration = nanoseconds(&self.result["duration_s"]) * 1_000_000;
        assert!(
            longest.abs_diff(duration) < 1_000_000,
            "{longest} {duration}"
        );
        for request in self.of("request") {
            let (from, to) = times(request);
            let (begins, ends) = threads[&request["pid"].as_u64()];
            assert!(begins <= from && to <= ends, "{request}");
        }
    }

    fn assert_slices_do_not_overlap(&self) {
        let mut ends: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (tid, requests) in self.tracks() {
            let mut times: Vec<_> = requests.iter().map(|it| times(it)).collect();
            times.sort_unstable();
            let overlap = times.windows(2).find(|it| it[0].1 > it[1].0);
            assert_eq!(overlap, None);
            ends.extend(times.iter().map(|&(from, to)| ((tid, from), to)));
        }
        for slice in self.of("request") {
            let (from, to) = times(slice);
            let tid = slice["tid"].as_u64().unwrap();
            assert!(to <= ends[&(tid, from)], "{slice} is within a request");
        }
    }

    /// When the waits begin or end, by their ids.
    fn waits(&self, phase: &str) -> BTreeMap<&str, u64> {
        let waits = self.of("queued").into_iter();
        waits
            .filter(|it| it["ph"] == phase)
            .map(|it| (it["id"].as_str().unwrap(), nanoseconds(&it["ts"])))
            .collect()
    }

    fn outcomes(&self, outcome: &str) -> u64 {
        let is = |it: &&&Value| it["args"]["outcome"] == outcome;
        self.requests().iter().filter(is).count() as u64
    }
}

#[test]
fn the_trace_of_a_short_load_has_every_request() {
    let server = HttpServer::start();
    let traced = traced(&["-n300", "-c4", "-t2", &server.url()]);
    assert_eq!((traced.outcomes("ok"), server.count()), (300, 300));
    assert_eq!(traced.tracks().len(), 4, "a track for each connection");
    let names = traced.events.iter().map(|it| it["args"]["name"].as_str());
    let named = names.flatten().filter(|it| it.starts_with("load thread"));
    assert_eq!(
        named.collect::<Vec<_>>(),
        ["load thread 1", "load thread 2"]
    );
    for request in traced.requests() {
        assert_eq!(
            (&request["name"], &request["args"]["status"]),
            (&"GET /".into(), &200.into())
        );
        assert!(request["args"]["body_bytes"].is_u64());
    }
    assert_eq!(traced.of("queued").len(), 0, "nothing was due");
}

/// Sends each response in two pieces.
fn send_in_pieces(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0; 1024];
    while stream.read(&mut request)? > 0 {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")?;
        thread::sleep(Duration::from_millis(5));
        stream.write_all(b"x")?;
    }
    Ok(())
}

#[test]
fn the_trace_shows_when_a_response_began() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || send_in_pieces(stream));
        }
    });
    let traced = traced(&["-n20", "-c1", "-t1", &url]);
    let mut first_bytes = traced.of("request");
    first_bytes.retain(|it| it["name"] == "to first byte");
    assert!(!first_bytes.is_empty(), "{:?}", traced.events);
    assert_eq!(traced.requests()[0]["args"]["body_bytes"], 1);
}

#[test]
fn the_trace_of_a_long_load_is_bounded() {
    let server = Ceiling::start();
    let traced = traced(&["-n45k", "-c4", "-t2", &server.url("hello")]);
    assert_eq!(outcome(&traced.result, "ok"), 45_000);
    let kept = traced.requests().len();
    assert!((5000..=10_000).contains(&kept), "{kept}");
    let labels = traced
        .events
        .iter()
        .filter(|it| it["name"] == "process_labels");
    for label in labels {
        assert_eq!(label["args"]["labels"], "one request in 8");
    }
}

#[test]
fn the_trace_has_both_phases() {
    let server = HttpServer::start();
    let url = server.url();
    let traced = traced(&[
        "-d300ms", "--warmup", "100ms", "--rate", "500/s", "-c2", "-t1", &url,
    ]);
    let [warmup, measured] = traced.of("phase")[..] else {
        panic!("{:?}", traced.of("phase"));
    };
    assert_eq!(
        (&warmup["name"], &measured["name"]),
        (&"warm-up".into(), &"measured".into())
    );
    assert_eq!(times(warmup), (0, 100_000_000));
    assert_eq!(times(measured).0, 100_000_000);
    let in_warmup = traced.result["warmup"]["outcomes"]["ok"].as_u64().unwrap();
    assert_eq!(
        traced.outcomes("ok"),
        in_warmup + outcome(&traced.result, "ok")
    );
}

#[test]
fn the_trace_shows_how_long_requests_were_queued() {
    let server = HttpServer::start();
    let flags = ["-n200", "-c1", "-t1", "--rate", "1M/s"];
    let traced = traced(&[&flags[..], &[&server.url()]].concat());
    // One connection serves far fewer.
    assert!(traced.waits("b").len() > 100, "{:?}", traced.of("queued"));
}

#[test]
fn requests_in_flight_together_do_not_overlap_on_a_track() {
    let server = Ceiling::start();
    let hello = server.url("hello");
    for flags in [
        &["--http2", "--streams-per-connection", "8"][..],
        &["--pipeline", "8"],
    ] {
        let traced = traced(&[flags, &["-n800", "-c2", "-t1", &hello]].concat());
        assert_eq!(traced.outcomes("ok"), 800, "{flags:?}");
        let tracks = traced.tracks().len();
        assert!((3..=16).contains(&tracks), "{tracks} {flags:?}");
    }
}

#[test]
fn the_trace_names_calls_and_the_requests_of_a_hurl_file() {
    let server = Ceiling::start();
    let echo = repository().join("workloads/echo.proto");
    let call = [
        "--proto",
        echo.to_str().unwrap(),
        "--grpc",
        "prony.echo.v1.Echo/Unary",
    ];
    let flags = ["--data", "{}", "-n20", "-c1", "-t1"];
    let of_call = traced(&[&call[..], &flags, &[&server.url("")]].concat());
    for request in of_call.requests() {
        assert_eq!(request["name"], "prony.echo.v1.Echo/Unary");
        assert_eq!(request["args"]["grpc_status"], 0);
    }
    assert_eq!(of_call.outcomes("ok"), 20);
    let folder = tempfile::tempdir().unwrap();
    let file = "GET http://{{host}}/hello\nHTTP 200\nGET http://{{host}}/byte\nHTTP 200\n";
    fs::write(folder.path().join("a.hurl"), file).unwrap();
    let host = format!("host=127.0.0.1:{}", server.port);
    let flags = ["a.hurl", "-n10", "-c2", "-t1", "--variable", &host];
    let of_flows = traced_in(folder.path(), &flags, 0);
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for request in of_flows.requests() {
        *names.entry(request["name"].as_str().unwrap()).or_default() += 1;
    }
    let entries = of_flows.result["flows"]["entries"].as_array().unwrap();
    let expected = entries.iter().map(|it| (it["name"].as_str().unwrap(), 10));
    assert_eq!(names, expected.collect());
}

#[test]
fn the_trace_of_a_load_over_tls_is_that_of_its_requests() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let (url, trusted) = (server.https_url("hello"), certificate.file("cert.pem"));
    for version in ["--http1.1", "--http2"] {
        let traced = traced(&["-n50", "-c2", "-t1", version, "--cacert", &trusted, &url]);
        assert_eq!(traced.outcomes("ok"), 50, "{version}");
    }
}

#[test]
fn the_trace_has_the_outcome_of_each_request() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let (hello, missing) = (server.url("hello"), server.url("missing?token=secret"));
    let traced = traced_in(folder.path(), &["-n40", "-c2", "-t1", &hello, &missing], 0);
    assert_eq!(
        (traced.outcomes("ok"), traced.outcomes("wrong_status")),
        (20, 20)
    );
    let mut wrong = traced.requests();
    wrong.retain(|it| it["args"]["outcome"] == "wrong_status");
    for request in wrong {
        assert_eq!(
            request["name"], "GET /missing (wrong_status)",
            "without the query"
        );
        assert_eq!(request["args"]["status"], 404);
    }
}

#[test]
fn records_are_refused_with_agents_and_for_a_capacity() {
    let (folder, server) = (tempfile::tempdir().unwrap(), HttpServer::start());
    let url = &*server.url();
    for flag in ["--hdr-log", "--trace"] {
        let with = |arguments: &[&str]| {
            let all = [&[flag, "record"], arguments, &[url]].concat();
            run(load(folder.path(), &all)).with(2)
        };
        with(&["--on", "local"])
            .says(&format!("{flag} records what this process sends"))
            .says("the agents of --on local send the load");
        with(&["--find-capacity"]).says("cannot be used with");
        with(&["--json", "record"]).says(&format!("--json and {flag} name the same place"));
        let all = [flag, "none/record", url];
        run(load(folder.path(), &all))
            .with(1)
            .says("there is no folder `none`");
    }
    let both = ["--hdr-log", "record", "--trace", "./record", url];
    run(load(folder.path(), &both))
        .with(2)
        .says("--hdr-log and --trace name the same place");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(server.count(), 0);
}
