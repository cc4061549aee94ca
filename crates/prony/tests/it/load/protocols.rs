//! Loads over HTTP/2 and gRPC.

use prony_testkit::contains;
use std::fs;

use crate::common::{repository, run};
use crate::load::{Ceiling, load, loaded, outcome};
use prony_testkit::certificate::Certificate;

fn echo() -> String {
    let file = repository().join("workloads/echo.proto");
    file.to_str().unwrap().to_owned()
}

#[test]
fn http2_without_tls_keeps_streams_in_flight() {
    let server = Ceiling::start();
    let url = server.url("hello");
    let flags = ["-n2k", "-c2", "--http2", "--streams-per-connection", "16"];
    let (summary, result) = loaded(&[&flags[..], &[&url]].concat());
    contains(
        &summary,
        "  HTTP/2 without TLS, 16 streams per connection\n",
    );
    assert!(!summary.contains("pipelined"), "{summary}");
    assert_eq!(result["target"]["protocol"], "h2c");
    assert_eq!(result["load"]["pipeline"], 16);
    assert_eq!(
        (
            outcome(&result, "ok"),
            result["connections_opened"].as_u64()
        ),
        (2000, Some(2))
    );
    assert!(result["tls"].is_null());
}

#[test]
fn every_shape_and_every_kind_of_request_goes_over_http2() {
    let server = Ceiling::start();
    let (hello, page) = (server.url("hello"), server.url(""));
    for shape in [
        &["-d200ms"][..],
        &["-d300ms", "--rate", "200/s"],
        &["-d300ms", "--users", "5", "--think-time", "10ms"],
        &["-n20", "--no-keepalive"],
        &["-n20", "--requests-per-connection", "5"],
        &["-n100", "--first-byte"],
        &["-n100", "--expect-status", "200"],
    ] {
        let (_, result) = loaded(&[&["--http2"], shape, &[&hello, &page]].concat());
        assert_eq!(result["target"]["protocol"], "h2c", "{shape:?}");
        assert!(outcome(&result, "ok") > 0, "{shape:?}");
        assert_eq!(outcome(&result, "malformed"), 0, "{shape:?}: {result}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.jsonl");
    fs::write(&file, "{\"path\": \"/hello\"}\n{\"path\": \"/\"}\n").unwrap();
    let file = file.to_str().unwrap();
    let (_, result) = loaded(&["--http2", "-n20", "--requests-file", file, &server.url("")]);
    assert_eq!(outcome(&result, "ok"), 20);
}

#[test]
fn no_keepalive_closes_connections_of_http2() {
    let server = Ceiling::start();
    let (_, result) = loaded(&words!(
        "--http2 -n20 -c1 --no-keepalive",
        &server.url("hello")
    ));
    assert_eq!(result["load"]["requests_per_connection"], 1);
    assert!(
        result["connections_opened"].as_u64() >= Some(20),
        "{result}"
    );
}

#[test]
fn a_call_has_its_message_in_json() {
    let server = Ceiling::start();
    let (url, proto) = (server.url(""), echo());
    let flags = ["-n50", "-c2", "--proto", &proto, &url];
    let call = [
        "--grpc",
        "prony.echo.v1.Echo/Unary",
        "--data",
        "{\"payload\": \"hi\"}",
    ];
    // A message of one field: its tag, its length, and the text.
    let check = ["--expect-body", "\x0a\x02hi"];
    let (summary, result) = loaded(&[&call[..], &check, &flags].concat());
    contains(&summary, "  gRPC without TLS, 1 stream per connection\n");
    let target = &result["target"];
    assert_eq!(target["protocol"], "grpc");
    assert_eq!(target["url"], format!("{url}prony.echo.v1.Echo/Unary"));
    assert_eq!(outcome(&result, "ok"), 50);
    assert!(result["events"].is_null());
    // The same, encoded already: it needs no definition.
    let encoded = [
        "--grpc",
        "prony.echo.v1.Echo/Unary",
        "-b",
        "\x0a\x02hi",
        "-n5",
        &url,
    ];
    let (_, result) = loaded(&[&encoded[..], &check].concat());
    assert_eq!(outcome(&result, "ok"), 5);
}

#[test]
fn messages_of_streams_are_counted_and_timed() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let (url, proto) = (server.https_url(""), echo());
    let call = |method: &str, data: &str, messages: u64| {
        let name = format!("prony.echo.v1.Echo/{method}");
        let flags = [
            "-n10", "-c2", "-k", "--proto", &proto, "--grpc", &name, "--data", data,
        ];
        let (summary, result) = loaded(&[&flags[..], &[&url]].concat());
        assert!(summary.contains("  gRPC over TLS 1.3, "), "{summary}");
        assert_eq!(outcome(&result, "ok"), 10, "{method}: {result}");
        match messages {
            0 => assert!(result["events"].is_null(), "{method}"),
            _ => {
                assert_eq!(result["events"]["count"], messages, "{method}");
                assert!(summary.contains("  First message: p50 "), "{summary}");
                assert!(!summary.contains("event"), "{summary}");
            }
        }
        assert_eq!(result["load"]["messages"], messages > 0, "{method}");
    };
    call("ServerStream", "{\"payload\": \"hi\", \"count\": 5}", 50);
    call(
        "ClientStream",
        "{\"payload\": \"a\"} {\"payload\": \"b\"}",
        0,
    );
    call(
        "BidiStream",
        "[{\"payload\": \"a\"}, {\"payload\": \"b\"}]",
        20,
    );
}

#[test]
fn a_failed_call_shows_the_servers_status() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "--grpc",
        "no.Such/Method",
        "-b",
        "",
        "-n5",
        "-c1",
        &server.url(""),
    ];
    run(load(folder.path(), &flags))
        .with(1)
        .prints("expected grpc-status 0 (OK), got 12 (UNIMPLEMENTED): ")
        .prints("  gRPC statuses: 12 (UNIMPLEMENTED): 5\n");
}

#[test]
fn wrong_calls_are_refused_before_anything_is_connected() {
    let folder = tempfile::tempdir().unwrap();
    let (url, proto) = ("http://127.0.0.1:1", echo());
    let refused = |flags: &[&str]| {
        let flags = [&["--proto", &proto, url], flags].concat();
        run(load(folder.path(), &flags)).with(2)
    };
    refused(&["--grpc", "prony.echo.v1.Echo/Unari"])
        .says("did you mean `prony.echo.v1.Echo/Unary`?");
    refused(&["--grpc", "prony.echo.v1.Ecco/Unary"]).says("did you mean `prony.echo.v1.Echo`?");
    let call = ["--grpc", "prony.echo.v1.Echo/Unary", "--data"];
    refused(&[&call[..], &["{\"pay\": 1}"]].concat())
        .says("--data: ")
        .says("payload");
    refused(&[&call[..], &["nothing"]].concat()).says("--data: ");
    refused(&[&call[..], &["[]"]].concat()).says("--data: ");
    let missing = ["--grpc", "a.B/C", "--proto", "missing.proto", url];
    run(load(folder.path(), &missing))
        .with(1)
        .says("missing.proto");
}

#[test]
fn a_server_without_reflection_needs_a_file() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--grpc", "prony.echo.v1.Echo/Unary", &server.url("")];
    run(load(folder.path(), &flags))
        .with(1)
        .says("the server does not support reflection")
        .says("give its schema with --proto or --protoset");
}

#[test]
fn the_capacity_of_a_call_is_found() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let (url, proto) = (server.url(""), echo());
    let flags = [
        "--find-capacity",
        "--slo",
        "p50<1s,errors<90%",
        "-d200ms",
        "--warmup",
        "0s",
        "--repeats",
        "1",
        "--curve-steps",
        "0",
        "--budget",
        "3s",
        "--streams-per-connection",
        "4",
        "--grpc",
        "prony.echo.v1.Echo/Unary",
        "--proto",
        &proto,
        "--json",
        "capacity.json",
        &url,
    ];
    let ended = run(load(folder.path(), &flags));
    // How high it is, and how exactly it is known, depends on the machine.
    assert!(matches!(ended.code, Some(0 | 1 | 4)), "{}", ended.all());
    let text = fs::read_to_string(folder.path().join("capacity.json")).unwrap();
    let result = crate::load::schema::capacity(&text);
    assert_eq!(result["target"]["protocol"], "grpc");
    let attempts = result["attempts"].as_array().unwrap();
    assert!(!attempts.is_empty(), "{result}");
}
