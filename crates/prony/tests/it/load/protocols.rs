//! Loads over HTTP/2 and gRPC.

use crate::common::repository;
use crate::load::{Ceiling, Folder, Holds, Shows, at, loaded, outcome, schema};
use prony_testkit::certificate::Certificate;
use prony_testkit::table::rows;

/// The file that defines the reference server's service.
fn proto() -> String {
    let file = repository().join("workloads/echo.proto");
    file.to_str().unwrap().to_owned()
}

const UNARY: &str = "--grpc prony.echo.v1.Echo/Unary";

#[test]
fn http2_without_tls_keeps_streams_in_flight() {
    let server = Ceiling::start();
    let flags = "-n2k -c2 --http2 --streams-per-connection 16";
    let (ended, result) = loaded(format!("{flags} {}", server.url("hello")));
    let ended = ended.prints("  HTTP/2 without TLS, 16 streams per connection\n");
    ended.lacks("pipelined");
    result.holds("target.protocol=h2c tls=null load.pipeline=16");
    result.holds("outcomes.ok=2000 connections_opened=2");
    // A rate uses the streams of its connections before it opens another.
    let (ended, result) = loaded(format!(
        "-d300ms --http2 --rate 500/s -t1 {}",
        server.url("hello")
    ));
    ended.prints("  HTTP/2 without TLS, up to 100 streams per connection\n");
    result.holds("load.pipeline=100 connections_opened=10 load.max_connections=1000");
}

#[test]
fn every_shape_and_every_kind_of_request_goes_over_http2() {
    let server = Ceiling::start();
    let urls = format!("{} {}", server.url("hello"), server.url(""));
    for shape in [
        "-d1s",
        "-d300ms --rate 200/s",
        "-d1s --users 5 --think-time 10ms",
        "-n20 --requests-per-connection 5",
        "-n100 --first-byte",
        "-n100 --expect-status 200",
    ] {
        let (ended, result) = loaded(format!("--http2 {shape} {urls}"));
        result.holds("target.protocol=h2c outcomes.malformed=0");
        assert!(outcome(&result, "ok") > 0, "{}", ended.report());
    }
    let (_, result) = loaded(format!("--http2 -n20 -c1 --no-keepalive {urls}"));
    result.holds("target.protocol=h2c outcomes.ok=20 load.requests_per_connection=1");
    let opened = result["connections_opened"].as_u64();
    assert!(opened >= Some(20), "{result}");
    let folder = Folder::with(&[("some.jsonl", "{\"path\": \"/hello\"}\n{\"path\": \"/\"}\n")]);
    let flags = "--http2 -n20 --requests-file some.jsonl";
    folder.load(format!("{flags} {}", server.url(""))).with(0);
    folder.holds("outcomes.ok=20");
}

#[test]
fn a_call_has_its_message_in_json() {
    let server = Ceiling::start();
    let url = server.url("");
    // A message of one field: its tag, its length, and the text.
    let hi = "\x0a\x02hi";
    for message in [
        format!("--proto {} --data '{{\"payload\": \"hi\"}}'", proto()),
        // The same, encoded already: it needs no definition.
        format!("-b '{hi}'"),
    ] {
        let call = format!("{UNARY} {message} --expect-body '{hi}'");
        let (ended, result) = loaded(format!("-n50 -c2 {call} {url}"));
        let target = format!("{url}prony.echo.v1.Echo/Unary");
        ended.shows(&format!(
            "POST {target} ( …   gRPC without TLS, 1 stream per connection\n"
        ));
        result.holds("target.protocol=grpc outcomes.ok=50 events=null");
        result.holds(&format!("target.url={target}"));
    }
}

#[test]
fn messages_of_streams_are_counted_and_timed() {
    let certificate = Certificate::new();
    let (server, proto) = (Ceiling::over_tls(&certificate), proto());
    for [method, data, held] in rows(
        r#"
        ServerStream | {"payload": "hi", "count": 5} | load.messages=true events.count=50
        ClientStream | {"payload": "a"} {"payload": "b"} | load.messages=false events=null
        BidiStream | [{"payload": "a"}, {"payload": "b"}] | load.messages=true events.count=20
    "#,
    ) {
        let call = format!("--proto {proto} --grpc prony.echo.v1.Echo/{method} --data '{data}'");
        let (ended, result) = loaded(format!("-n10 -c2 -k {call} {}", server.https_url("")));
        let ended = ended.prints("  gRPC over TLS 1.3, ").lacks(" event");
        result.holds(&format!("outcomes.ok=10 {held}"));
        if !result["events"].is_null() {
            ended.prints("  First message: p50 ");
        }
    }
}

#[test]
fn a_failed_call_shows_the_servers_status() {
    let (server, folder) = (Ceiling::start(), Folder::new());
    let url = server.url("");
    folder
        .load(format!("--grpc no.Such/Method -b '' -n5 -c1 {url}"))
        .with(1)
        .prints("expected grpc-status 0 (OK), got 12 (UNIMPLEMENTED): ")
        .prints("  gRPC statuses: 12 (UNIMPLEMENTED): 5\n");
    folder
        .load(format!("{UNARY} {url}"))
        .with(1)
        .says("the server does not support reflection")
        .says("give its schema with --proto or --protoset");
}

#[test]
fn wrong_calls_are_refused_before_anything_is_connected() {
    let table = r#"
        PROTO --grpc prony.echo.v1.Echo/Unari URL | did you mean `prony.echo.v1.Echo/Unary`?
        PROTO --grpc prony.echo.v1.Ecco/Unary URL | did you mean `prony.echo.v1.Echo`?
        PROTO UNARY --data '{"pay": 1}' URL | --data: … payload
        PROTO UNARY --data nothing URL | --data:
        PROTO UNARY --data [] URL | --data:
    "#;
    let table = table.replace("PROTO", &format!("--proto {}", proto()));
    Folder::new().refuses(2, &table.replace("UNARY", UNARY));
}

#[test]
fn the_capacity_of_a_call_is_found() {
    let (server, folder) = (Ceiling::start(), Folder::new());
    let search =
        "--find-capacity --objective p50<1s,errors<90% --repeats 1 --curve-steps 0 --budget 3s";
    let call = format!("{UNARY} --proto {} --streams-per-connection 4", proto());
    let url = server.url("");
    let ended = folder.load(format!("{search} -d200ms --warmup 0s {call} {url}"));
    // How high it is, and how exactly it is known, depends on the machine.
    assert!(matches!(ended.code, Some(0 | 1 | 4)), "{}", ended.all());
    let result = schema::valid("capacity", &folder.read("result.json"));
    result.holds("target.protocol=grpc");
    assert!(at(&result, "attempts.0").is_object(), "{result}");
}
