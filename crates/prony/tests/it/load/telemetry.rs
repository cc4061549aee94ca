//! `--metrics` and `--otlp`: what Prometheus and an OpenTelemetry receiver see of a load.

use prony_testkit::contains;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use prost::Message;
use serde_json::Value;

use crate::common::{Running, run, until};
use crate::load::{Ceiling, load, outcome, result};
use prony_testkit::recorder::HttpServer;

/// A port that nothing listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A response of the load's listener; `None` if nobody listens, or the load ended meanwhile.
fn scrape(port: u16) -> Option<String> {
    let mut client = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let mut response = String::new();
    client
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
        .ok()?;
    client.read_to_string(&mut response).ok()?;
    response.ends_with("\n# EOF\n").then_some(response)
}

/// The samples of a scrape: names with labels, and values.
fn samples(response: &str) -> BTreeMap<String, f64> {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let content_type =
        "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(head.contains(content_type), "{head}");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    let pairs = samples.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    });
    pairs.collect()
}

/// Whether a sample counts, so that it may not fall.
fn is_counter(name: &str) -> bool {
    let name = name.split('{').next().unwrap();
    ["_total", "_bucket", "_count", "_sum"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
}

const MEASURED_OK: &str = "prony_requests_total{phase=\"measured\",outcome=\"ok\"}";
const WARMUP_OK: &str = "prony_requests_total{phase=\"warmup\",outcome=\"ok\"}";

#[test]
fn a_load_is_scraped_while_it_runs_and_no_counter_falls() {
    let (ceiling, port) = (Ceiling::start(), free_port());
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{port}");
    let flags = [
        "-c2", "-t1", "-d700ms", "--warmup", "700ms", "--rate", "500/s", "--quiet",
    ];
    let mut command = load(folder.path(), &flags);
    command.args([
        "--metrics",
        &address,
        "--json",
        "result.json",
        &ceiling.url("hello"),
    ]);
    let running = Running::start(command);
    until("the listener", || scrape(port));
    let (mut last, mut was_warming_up) = (BTreeMap::<String, f64>::new(), false);
    while let Some(response) = scrape(port) {
        let now = samples(&response);
        for (name, before) in last.iter().filter(|(name, _)| is_counter(name)) {
            assert!(now[name] >= *before, "{name}: {} after {before}", now[name]);
        }
        was_warming_up |= now["prony_measuring"] == 0.0 && now[WARMUP_OK] > 0.0;
        last = now;
    }
    running.end().with(0);
    assert!(was_warming_up, "{last:?}");
    let result = result(folder.path(), "result.json");
    let url = ceiling.url("hello");
    let target = last
        .keys()
        .find(|name| name.starts_with("target_info{"))
        .unwrap();
    contains(
        target,
        &format!("url_full=\"{url}\",prony_protocol=\"http/1.1\""),
    );
    assert_eq!(last["prony_measuring"], 1.0);
    let ok = last[MEASURED_OK];
    assert!(ok > 0.0 && ok <= outcome(&result, "ok") as f64, "{ok}");
    for histogram in ["latency", "schedule_lag"] {
        let name = format!("prony_{histogram}_seconds");
        let all = last[&format!("{name}_count{{phase=\"measured\"}}")];
        let buckets = last[&format!("{name}_bucket{{phase=\"measured\",le=\"+Inf\"}}")];
        assert!(all > 0.0 && all == buckets, "{all} {buckets}");
        assert!(last[&format!("{name}_sum{{phase=\"measured\"}}")] > 0.0);
    }
}

/// What a receiver got, push by push.
fn pushed(receiver: &HttpServer) -> Vec<ExportMetricsServiceRequest> {
    let all = receiver.all().into_iter();
    all.map(|received| {
        assert!(
            received.head.starts_with("POST /v1/metrics HTTP/1.1\n"),
            "{}",
            received.head
        );
        assert!(
            received
                .head
                .contains("content-type: application/x-protobuf\n")
        );
        ExportMetricsServiceRequest::decode(received.body.as_slice()).unwrap()
    })
    .collect()
}

/// The measured points of a push: by metric, and by outcome if it has one, the count or the number.
fn measured(push: &ExportMetricsServiceRequest) -> BTreeMap<String, u64> {
    let mut points = BTreeMap::new();
    let [of_resource] = push.resource_metrics.as_slice() else {
        panic!("{push:?}")
    };
    for metric in &of_resource.scope_metrics[0].metrics {
        match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                for point in &sum.data_points {
                    let mut words: Vec<String> = vec![metric.name.clone()];
                    words.extend(point.attributes.iter().map(|pair| {
                        let value = pair.value.as_ref().unwrap().value.as_ref().unwrap();
                        let Attribute::StringValue(value) = value else {
                            panic!("{value:?}")
                        };
                        value.clone()
                    }));
                    let Some(Number::AsInt(count)) = point.value else {
                        panic!("{point:?}")
                    };
                    points.insert(words.join(" "), count.try_into().unwrap());
                }
            }
            Data::Histogram(histogram) => {
                let point = histogram.data_points.last().unwrap();
                points.insert(metric.name.clone(), point.count);
            }
            Data::Gauge(_) => {}
            other => panic!("{other:?}"),
        }
    }
    points
}

/// Runs a load with `--otlp`, and compares the last push with the result.
fn last_push_is_the_result(flags: &[&str]) -> Vec<ExportMetricsServiceRequest> {
    let (ceiling, receiver) = (Ceiling::start(), HttpServer::start());
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), flags);
    let otlp = format!("http://{}", receiver.address);
    command.args([
        "--otlp",
        &otlp,
        "--json",
        "result.json",
        &ceiling.url("hello"),
    ]);
    let ended = run(command).with(0);
    assert!(!ended.stderr.contains("OTLP"), "{}", ended.all());
    let result: Value = result(folder.path(), "result.json");
    let pushed = pushed(&receiver);
    let last = measured(pushed.last().unwrap());
    for (name, count) in result["outcomes"].as_object().unwrap() {
        assert_eq!(
            last[&format!("prony.requests measured {name}")],
            count.as_u64().unwrap()
        );
    }
    assert_eq!(last["prony.latency"], outcome(&result, "ok"));
    assert!(last["prony.latency"] > 0);
    for (metric, field) in [("received", "bytes_read"), ("sent", "bytes_written")] {
        let count = last[&format!("prony.{metric} measured")];
        assert_eq!(count, result[field].as_u64().unwrap(), "{field}");
    }
    pushed
}

#[test]
fn the_last_push_has_the_figures_of_the_result() {
    let pushed = last_push_is_the_result(&["-c2", "-t1", "-d1500ms", "--warmup", "100ms"]);
    assert!(pushed.len() >= 2, "{} pushes", pushed.len());
    let counts: Vec<u64> = pushed
        .iter()
        .map(|push| measured(push)["prony.latency"])
        .collect();
    assert!(counts.is_sorted(), "{counts:?}");
}

#[test]
fn the_last_push_of_a_fleet_has_the_figures_of_the_result() {
    let flags = [
        "-n", "300", "-c4", "--rate", "400/s", "--on", "local", "--agents", "2",
    ];
    let pushed = last_push_is_the_result(&flags);
    assert_eq!(measured(pushed.last().unwrap())["prony.schedule.lag"], 300);
}

#[test]
fn a_receiver_that_is_gone_does_not_fail_the_load() {
    let ceiling = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let otlp = format!("http://127.0.0.1:{}/otlp", free_port());
    for flags in [&["-d1500ms"][..], &["-n10", "--quiet"]] {
        let mut command = load(folder.path(), flags);
        command.args(["-c1", "--otlp", &otlp, &ceiling.url("hello")]);
        let ended = run(command).with(0);
        let told = ended.stderr.matches(": cannot connect to ");
        assert_eq!(told.count(), 1, "{}", ended.all());
        let failed = format!(" to {otlp}/v1/metrics failed");
        let last = ended.stderr.lines().last().unwrap();
        let is_told_while_it_runs = ended
            .stderr
            .contains("OTLP     the load goes on, but a push to ");
        let (of, error) = last.split_once(&failed).unwrap();
        assert!(of.starts_with("OTLP     ") && of.contains(" of "), "{last}");
        assert_eq!(error.is_empty(), is_told_while_it_runs, "{last}");
        assert_eq!(is_told_while_it_runs, flags[0] == "-d1500ms", "{last}");
    }
}

#[test]
fn the_result_is_there_before_the_last_push_is_taken() {
    let ceiling = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let otlp = format!("http://{}", listener.local_addr().unwrap());
    let written = folder.path().join("result.json");
    let receiver = thread::spawn(move || {
        // A client may connect only to see whether it can.
        let is_push = |client: &mut TcpStream| client.read(&mut [0; 4096]).unwrap() > 0;
        let mut clients = listener.incoming().map(Result::unwrap);
        let mut client = clients.find_map(|mut client| is_push(&mut client).then_some(client));
        until("the result", || written.exists().then_some(()));
        let taken = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        client.as_mut().unwrap().write_all(taken).unwrap();
    });
    let mut command = load(folder.path(), &["-n10", "-c1", "--json", "result.json"]);
    command.args(["--otlp", &otlp, &ceiling.url("hello")]);
    let ended = run(command).with(0);
    assert!(!ended.stderr.contains("OTLP"), "{}", ended.all());
    receiver.join().unwrap();
}

#[test]
fn a_wrong_address_or_url_is_refused_before_the_load() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let taken = server.address.to_string();
    for (flags, status, text) in [
        (["--metrics", &taken], 1, "cannot listen on"),
        (["--metrics", "9464"], 2, "0.0.0.0:9464 for others too"),
        (
            ["--otlp", "localhost:4318"],
            2,
            "did you mean `http://localhost:4318`?",
        ),
        (["--otlp", "http://h/?a=b"], 2, "/v1/metrics follows it"),
    ] {
        let mut command = load(folder.path(), &flags);
        command.args(["-n1", &server.url()]);
        run(command).with(status).says(text);
    }
    let mut command = load(folder.path(), &["--find-capacity", "--slo", "p99<1s"]);
    command.args(["--metrics", ":9464", &server.url()]);
    run(command).with(2).says("cannot be used with");
    assert_eq!(server.count(), 0);
}
