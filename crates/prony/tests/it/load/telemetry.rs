//! `--metrics` and `--otlp`: what Prometheus and an OpenTelemetry receiver see of a load.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use nix::sys::signal::Signal;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use prost::Message;

use crate::common::until;
use crate::load::{Ceiling, Folder, OwnPort, outcome};
use prony_testkit::recorder::HttpServer;
use prony_testkit::{contains, starts_with};

/// A response of the load's listener; `None` if nobody listens, or the load ended meanwhile.
fn scrape(port: u16) -> Option<String> {
    let mut client = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let mut response = String::new();
    let request = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    client.write_all(request).ok()?;
    client.read_to_string(&mut response).ok()?;
    response.ends_with("\n# EOF\n").then_some(response)
}

/// The samples of a scrape: names with labels, and values.
fn samples(response: &str) -> BTreeMap<String, f64> {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    contains(head, &format!("\r\ncontent-type: {content_type}\r\n"));
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
    let suffixes = ["_total", "_bucket", "_count", "_sum"];
    suffixes.iter().any(|suffix| name.ends_with(suffix))
}

const MEASURED_OK: &str = "prony_requests_total{phase=\"measured\",outcome=\"ok\"}";
const WARMUP_OK: &str = "prony_requests_total{phase=\"warmup\",outcome=\"ok\"}";

#[test]
fn a_load_is_scraped_while_it_runs_and_no_counter_falls() {
    let (ceiling, own, folder) = (Ceiling::start(), OwnPort::of(0), Folder::new());
    let (url, port) = (ceiling.url("hello"), own.port);
    let flags = "-c2 -t1 -d10m --warmup 3s --rate 500/s --quiet";
    let running = folder.start(format!("{flags} --metrics 127.0.0.1:{port} {url}"));
    until("the listener", || scrape(port));
    let (mut last, mut was_warming_up) = (BTreeMap::<String, f64>::new(), false);
    let mut is_ended = false;
    while let Some(response) = scrape(port) {
        let now = samples(&response);
        for (name, before) in last.iter().filter(|(name, _)| is_counter(name)) {
            assert!(now[name] >= *before, "{name}: {} after {before}", now[name]);
        }
        was_warming_up |= now["prony_measuring"] == 0.0 && now[WARMUP_OK] > 0.0;
        if now[MEASURED_OK] > 0.0 && !std::mem::replace(&mut is_ended, true) {
            running.signal(Signal::SIGINT);
        }
        last = now;
    }
    running.end().with(130);
    assert!(was_warming_up, "{last:?}");
    let mut names = last.keys();
    let target = names.find(|name| name.starts_with("target_info{"));
    let labels = format!("url_full=\"{url}\",prony_protocol=\"http/1.1\"");
    contains(target.unwrap(), &labels);
    assert_eq!(last["prony_measuring"], 1.0);
    let (ok, most) = (last[MEASURED_OK], outcome(&folder.result(), "ok"));
    assert!(ok > 0.0 && ok <= most as f64, "{ok} {most}");
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
        starts_with(&received.head, "POST /v1/metrics HTTP/1.1\n");
        contains(&received.head, "content-type: application/x-protobuf\n");
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
fn last_push_is_the_result(flags: &str) -> Vec<ExportMetricsServiceRequest> {
    let (ceiling, receiver, folder) = (Ceiling::start(), HttpServer::start(), Folder::new());
    let otlp = format!("--otlp http://{}", receiver.address);
    let ended = folder.load(format!("{flags} {otlp} {}", ceiling.url("hello")));
    ended.with(0).lacks("OTLP");
    let result = folder.result();
    let pushed = pushed(&receiver);
    let last = measured(pushed.last().unwrap());
    for (name, count) in result["outcomes"].as_object().unwrap() {
        let pushed = last[&format!("prony.requests measured {name}")];
        assert_eq!(pushed, count.as_u64().unwrap(), "{name}");
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
    // Long enough for a push of each second, even if a busy machine makes it late.
    let pushed = last_push_is_the_result("-c2 -t1 -d3s --warmup 100ms");
    assert!(pushed.len() >= 2, "{} pushes", pushed.len());
    let counts = pushed.iter().map(|push| measured(push)["prony.latency"]);
    assert!(counts.is_sorted(), "{pushed:?}");
    let pushed = last_push_is_the_result("-n300 -c4 --rate 400/s --on local --agents 2");
    assert_eq!(measured(pushed.last().unwrap())["prony.schedule.lag"], 300);
}

#[test]
fn a_receiver_that_is_gone_does_not_fail_the_load() {
    let (ceiling, folder) = (Ceiling::start(), Folder::new());
    let otlp = "http://127.0.0.1:1/otlp";
    let url = ceiling.url("hello");
    for (flags, is_long) in [("-d3s", true), ("-n10 --quiet", false)] {
        let ended = folder.load(format!("{flags} -c1 --otlp {otlp} {url}"));
        let ended = ended.with(0);
        let reasons = ended.stderr.matches(": cannot connect to ").count();
        assert_eq!(reasons, 1, "{}", ended.report());
        let while_it_runs = "OTLP     the load goes on, but a push to ";
        let is_told = ended.stderr.contains(while_it_runs);
        assert!(is_told || !is_long, "{}", ended.report());
        let last = ended.stderr.lines().last().unwrap();
        let failed = format!(" to {otlp}/v1/metrics failed");
        let (of, error) = last.split_once(&failed).unwrap();
        assert!(of.starts_with("OTLP     ") && of.contains(" of "), "{last}");
        assert_eq!(error.is_empty(), is_told, "{last}");
    }
}

#[test]
fn the_result_is_there_before_the_last_push_is_taken() {
    let (ceiling, folder) = (Ceiling::start(), Folder::new());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let otlp = format!("http://{}", listener.local_addr().unwrap());
    let written = folder.path("result.json");
    // A load of more than a second pushes more than once: each push is taken once there is a result.
    thread::spawn(move || {
        for mut client in listener.incoming().map(Result::unwrap) {
            // A client may connect only to see whether it can.
            if client.read(&mut [0; 4096]).unwrap() > 0 {
                until("the result", || written.exists().then_some(()));
                let taken = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                client.write_all(taken).unwrap();
            }
        }
    });
    let ended = folder.load(format!("-n10 -c1 --otlp {otlp} {}", ceiling.url("hello")));
    ended.with(0).lacks("OTLP");
}

#[test]
fn a_listener_needs_a_port_of_its_own() {
    let server = HttpServer::start();
    let taken = format!("--metrics {}", server.address);
    let refused = format!("{taken} -n1 {} | cannot listen on", server.url());
    Folder::new().refuses(1, &refused);
    assert_eq!(server.count(), 0);
}
