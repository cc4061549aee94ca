//! What a load records beside its result: the latencies of each second, and a trace.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use prony_model::LatencyHistogram;
use serde_json::Value;

use crate::common::repository;
use crate::load::{Ceiling, Folder, Holds, Words, at, outcome};
use prony_testkit::certificate::Certificate;
use prony_testkit::recorder::HttpServer;
use prony_testkit::{connections, contains, lacks};

/// An interval of a log: when it began and how long it lasted, in milliseconds, and its latencies.
struct Interval {
    from: u64,
    length: u64,
    latencies: Histogram<u64>,
}

fn read_log(log: &str) -> Vec<Interval> {
    let intervals = IntervalLogIterator::new(log.as_bytes());
    let intervals = intervals.filter_map(|entry| match entry.unwrap() {
        LogEntry::Interval(interval) => Some(interval),
        _ => None,
    });
    let read = intervals.map(|interval| {
        let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
        let latencies = Deserializer::new().deserialize(&mut bytes.as_slice());
        Interval {
            from: interval.start_timestamp().as_millis() as u64,
            length: interval.duration().as_millis() as u64,
            latencies: latencies.unwrap(),
        }
    });
    read.collect()
}

/// A load that writes a log: its intervals, and its result. The intervals follow one another, and hold exactly the
/// latencies of the result.
fn logged(flags: &str, url: &str) -> (Vec<Interval>, Value) {
    let folder = Folder::new();
    folder
        .load(format!("{flags} --hdr-log load.hlog {url}"))
        .with(0);
    let (log, result) = (folder.read("load.hlog"), folder.result());
    contains(&log, ", load of http");
    lacks(&log, "?");
    let intervals = read_log(&log);
    for pair in intervals.windows(2) {
        assert_eq!((pair[0].length, pair[0].from + 1000), (1000, pair[1].from));
    }
    let length: u64 = intervals.iter().map(|it| it.length).sum();
    let duration = result["duration_s"].as_f64().unwrap() * 1000.0;
    let off = (length as f64 - duration).abs();
    assert!(off <= 1.0, "{length} {duration}");
    let whole = LatencyHistogram::from_base64(result["histogram"].as_str().unwrap()).unwrap();
    let mut sum = LatencyHistogram::new().as_hdr().clone();
    for interval in &intervals {
        sum.add(&interval.latencies).unwrap();
    }
    assert_eq!(sum.len(), outcome(&result, "ok"));
    assert!(sum == *whole.as_hdr(), "{} {}", sum.len(), whole.count());
    (intervals, result)
}

#[test]
fn the_log_has_an_interval_for_each_second_and_every_ok_response() {
    let server = HttpServer::start();
    let (intervals, result) = logged("--rate 200/s -n250 -c4 -t2", &server.url());
    assert_eq!((outcome(&result, "ok"), server.count()), (250, 250));
    // The last request is due after 1.245 s.
    assert!(intervals.len() >= 2, "{}", intervals.len());
    assert!(!intervals[0].latencies.is_empty());
    // Even responses that come a second late are in one of the first two.
    let stages = "--stages 100/s:300ms,0/s:2700ms,100/s:100ms -c2 -t1";
    let (intervals, result) = logged(stages, &server.url());
    assert!(intervals[2].latencies.is_empty(), "{result}");
    assert!(!intervals[3].latencies.is_empty(), "{result}");
}

#[test]
fn the_log_leaves_the_warm_up_out() {
    let server = Ceiling::start();
    for flags in ["-d1100ms -c4 -t2", "-d500ms -c2 -t1 --http2"] {
        let (_, result) = logged(&format!("{flags} --warmup 1s"), &server.url("hello"));
        assert!(result["warmup"]["outcomes"]["ok"].as_u64() > Some(0));
    }
}

/// The trace of a load, and its result.
struct Traced {
    events: Vec<Value>,
    result: Value,
}

fn traced(words: impl Words) -> Traced {
    traced_in(&Folder::new(), words)
}

fn traced_in(folder: &Folder, words: impl Words) -> Traced {
    let words = [words.words(), vec!["--trace", "trace.json"]].concat();
    folder.load(words).with(0);
    let document: Value = serde_json::from_str(&folder.read("trace.json")).unwrap();
    let traced = Traced {
        events: document["traceEvents"].as_array().unwrap().clone(),
        result: folder.result(),
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
        let off = longest.abs_diff(duration);
        assert!(off < 1_000_000, "{longest} {duration}");
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
    let traced = traced(format!("-n300 -c4 -t2 {}", server.url()));
    assert_eq!((traced.outcomes("ok"), server.count()), (300, 300));
    assert_eq!(traced.tracks().len(), 4, "a track for each connection");
    let names = traced.events.iter().map(|it| it["args"]["name"].as_str());
    let named = names.flatten().filter(|it| it.starts_with("load thread"));
    assert!(named.eq(["load thread 1", "load thread 2"]));
    for request in traced.requests() {
        assert_eq!(request["name"], "GET /");
        request.holds("args.status=200 args.body_bytes=2");
    }
    assert_eq!(traced.of("queued").len(), 0, "nothing was due");
}

/// Sends each response in two pieces.
fn send_in_pieces(mut stream: TcpStream) -> Option<()> {
    loop {
        let length = stream.read(&mut [0; 1024]).ok()?;
        (length > 0).then_some(())?;
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
        stream.write_all(head).ok()?;
        thread::sleep(Duration::from_millis(5));
        stream.write_all(b"x").ok()?;
    }
}

#[test]
fn the_trace_shows_when_a_response_began() {
    let address = connections::serve(send_in_pieces);
    let traced = traced(format!("-n20 -c1 -t1 http://{address}/"));
    let mut first_bytes = traced.of("request");
    first_bytes.retain(|it| it["name"] == "to first byte");
    assert!(!first_bytes.is_empty(), "{:?}", traced.events);
    assert_eq!(traced.requests()[0]["args"]["body_bytes"], 1);
}

#[test]
fn the_trace_of_a_long_load_is_bounded() {
    let server = Ceiling::start();
    let traced = traced(format!("-n45k -c4 -t2 {}", server.url("hello")));
    traced.result.holds("outcomes.ok=45000");
    let kept = traced.requests().len();
    assert!((5000..=10_000).contains(&kept), "{kept}");
    let mut labels = traced.events.clone();
    labels.retain(|it| it["name"] == "process_labels");
    let is_right = |label: &Value| *at(label, "args.labels") == *"one request in 8";
    assert!(
        !labels.is_empty() && labels.iter().all(is_right),
        "{labels:?}"
    );
}

#[test]
fn the_trace_has_both_phases_and_shows_how_long_requests_were_queued() {
    let server = HttpServer::start();
    let flags = "-d300ms --warmup 100ms --rate 500/s -c2 -t1";
    let of_phases = traced(format!("{flags} {}", server.url()));
    let [warmup, measured] = of_phases.of("phase")[..] else {
        panic!("{:?}", of_phases.of("phase"));
    };
    warmup.holds("name=warm-up");
    measured.holds("name=measured");
    let (begun, ended) = times(warmup);
    assert_eq!((begun, ended, times(measured).0), (0, 100_000_000, ended));
    let result = &of_phases.result;
    let in_warmup = result["warmup"]["outcomes"]["ok"].as_u64().unwrap();
    assert_eq!(of_phases.outcomes("ok"), in_warmup + outcome(result, "ok"));
    let queued = traced(format!("-n200 -c1 -t1 --rate 1M/s {}", server.url()));
    // One connection serves far fewer.
    assert!(queued.waits("b").len() > 100, "{:?}", queued.of("queued"));
}

#[test]
fn requests_in_flight_together_do_not_overlap_on_a_track() {
    let server = Ceiling::start();
    for flags in ["--http2 --streams-per-connection 8", "--pipeline 8"] {
        let traced = traced(format!("{flags} -n800 -c2 -t1 {}", server.url("hello")));
        assert_eq!(traced.outcomes("ok"), 800, "{flags}");
        let tracks = traced.tracks().len();
        assert!((3..=16).contains(&tracks), "{tracks} {flags}");
    }
}

#[test]
fn the_trace_names_calls_and_the_requests_of_a_hurl_file() {
    let server = Ceiling::start();
    let (echo, url) = (repository().join("workloads/echo.proto"), server.url(""));
    let call = format!("--proto {} --grpc prony.echo.v1.Echo/Unary", echo.display());
    let of_call = traced(format!("{call} --data {{}} -n20 -c1 -t1 {url}"));
    for request in of_call.requests() {
        assert_eq!(request["name"], "prony.echo.v1.Echo/Unary");
        request.holds("args.grpc_status=0");
    }
    assert_eq!(of_call.outcomes("ok"), 20);
    let file = format!("GET {url}hello\nHTTP 200\nGET {url}byte\nHTTP 200\n");
    let folder = Folder::with(&[("a.hurl", &file)]);
    let of_flows = traced_in(&folder, "a.hurl -n10 -c2 -t1");
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
    let url = server.https_url("hello");
    for version in ["--http1.1", "--http2"] {
        let traced = traced(format!("-n50 -c2 -t1 -k {version} {url}"));
        assert_eq!(traced.outcomes("ok"), 50, "{version}");
    }
}

#[test]
fn the_trace_has_the_outcome_of_each_request() {
    let server = Ceiling::start();
    let [hello, missing] = ["hello", "missing?token=secret"].map(|path| server.url(path));
    let traced = traced(format!("-n40 -c2 -t1 {hello} {missing}"));
    assert_eq!(traced.outcomes("ok"), 20);
    assert_eq!(traced.outcomes("wrong_status"), 20);
    let mut wrong = traced.requests();
    wrong.retain(|it| it["args"]["outcome"] == "wrong_status");
    for request in wrong {
        let name = &request["name"];
        assert_eq!(name, "GET /missing (wrong_status)", "without the query");
        request.holds("args.status=404");
    }
}

#[test]
fn records_are_refused_with_agents_and_without_a_place_of_their_own() {
    let (server, folder) = (HttpServer::start(), Folder::new());
    let url = server.url();
    for flag in ["--hdr-log", "--trace"] {
        folder.refuses(2, &format!("
            {flag} record --on local {url} | {flag} records what this process sends … the agents of --on local send the load
            {flag} record --json record {url} | --json and {flag} name the same place
        "));
        let no_folder = format!("{flag} none/record {url} | there is no folder `none`");
        folder.refuses(1, &no_folder);
    }
    let same = "--hdr-log and --trace name the same place";
    let both = format!("--hdr-log record --trace ./record {url} | {same}");
    folder.refuses(2, &both);
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 0);
    assert_eq!(server.count(), 0);
}
