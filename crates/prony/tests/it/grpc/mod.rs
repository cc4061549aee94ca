//! `prony grpc`, and loads of methods that only the server defines.

mod server;

use crate::common::project::Project;
use crate::common::{Ended, Words, prony, repository, run, schema};
use prony_testkit::certificate::Certificate;
use prony_testkit::table::rows;
use prony_testkit::tls_server::{close_plain, respond, respond_to_plain, server_of};
use server::{GrpcServer, Reflects};

fn grpc(arguments: &str) -> Ended {
    run(prony(format!("grpc {arguments}").words()))
}

/// `prony load` of ten calls.
fn load(arguments: &str) -> Ended {
    run(prony(
        format!("load -n10 -c1 {arguments}").split_whitespace(),
    ))
}

const FIND: &str = "--grpc shop.v1.Catalog/Find";

/// The flags with which `shop/catalog.proto` and its imports are found.
fn catalog() -> String {
    let protos = repository().join("crates/engine/traffic/tests/protos");
    let protos = protos.display();
    format!("--proto {protos}/shop/catalog.proto --import-path {protos}")
}

const METHODS: &str = "\
shop.v1.Catalog.Find
shop.v1.Catalog.Watch
shop.v1.Catalog.Import
shop.v1.Catalog.Exchange
shop.v1.Catalog.Load
";

const QUERY: &str = "\
shop.v1.Query is a message:
message Query {
  string text = 1;
  optional uint32 limit = 2;
}
";

/// A server or files describe the service of the catalog; `source` is a URL or flags.
fn describes_the_catalog(source: &str) {
    for (words, printed) in [
        (format!("list {source}"), "shop.v1.Catalog\n"),
        (format!("list {source} shop.v1.Catalog"), METHODS),
        (format!("describe {source} shop.v1.Query"), QUERY),
    ] {
        assert_eq!(grpc(&words).with(0).stdout, printed, "{words}");
    }
}

#[test]
fn services_are_described_by_either_version_of_reflection_over_tls_and_by_files() {
    for reflects in [Reflects::V1, Reflects::OnlyV1Alpha] {
        describes_the_catalog(&GrpcServer::start(reflects).url());
    }
    let certificate = Certificate::new();
    let server = GrpcServer::over_tls(&certificate);
    let (url, trusted) = (server.https_url(), certificate.file("cert.pem"));
    for trust in ["--insecure".to_owned(), format!("--cacert {trusted}")] {
        describes_the_catalog(&format!("{trust} {url}"));
        let loaded = load(&format!("{FIND} --json - {url} {trust}")).with(0);
        let result = schema::valid("load", &loaded.stdout);
        assert_eq!(result["target"]["protocol"], "grpc-tls");
        assert_eq!(result["outcomes"]["ok"], 10);
    }
    let untrusted = grpc(&format!("list {url}")).with(1);
    untrusted.says("trust it with --cacert FILE");

    describes_the_catalog(&catalog());
    let set = repository().join("crates/engine/traffic/tests/protoc/shop.protoset");
    let listed = grpc(&format!("list --protoset {}", set.display())).with(0);
    assert!(listed.stdout.lines().any(|line| line == "shop.v1.Catalog"));
}

#[test]
fn metadata_is_sent_with_each_request() {
    let server = GrpcServer::start(Reflects::V1);
    grpc(&format!("list {} -H 'token: secret'", server.url())).with(0);
    let calls = server.calls();
    let tokens: Vec<_> = calls.iter().map(|(_, token)| token.as_deref()).collect();
    assert_eq!(tokens, [Some("secret")], "{calls:?}");
}

#[test]
fn what_cannot_be_listed_or_described_is_reported() {
    let silent = GrpcServer::start(Reflects::Nothing);
    grpc(&format!("list {}", silent.url()))
        .with(1)
        .says("does not support reflection")
        .says("--proto or --protoset");
    let server = GrpcServer::start(Reflects::V1);
    grpc(&format!("list {} shop.v2.Catalog", server.url()))
        .with(1)
        .says("no such symbol")
        .says("did you mean `shop.v1.Catalog`?");
    for [code, words, message] in rows(
        "
        2 | list | <URL
        2 | list http://127.0.0.1:1/x | has no path
        2 | list --insecure http://127.0.0.1:1/ | --insecure needs TLS
        1 | list https://127.0.0.1:1/ | cannot connect to 127.0.0.1:1
        2 | describe shop.v1.Queryy FILES | did you mean `shop.v1.Query`?
        2 | list http://127.0.0.1:1/ FILES | so no server is needed
        2 | list a b FILES | `b` is one name too many
        2 | describe FILES | give the name of a service, a method, a message or an enum
        ",
    ) {
        let ended = grpc(&words.replace("FILES", &catalog()));
        ended.with(code.parse().unwrap()).says(message);
    }
}

#[test]
fn a_load_gets_the_definition_of_its_method_from_the_server() {
    let server = GrpcServer::start(Reflects::V1);
    let folder = Project::empty();
    let url = server.url();
    let load = |flags: &str| {
        folder.run(&format!(
            "load -n10 -c1 --json result.json --grpc {flags} {url}"
        ))
    };
    load("shop.v1.Catalog/Find --data '{\"text\": \"a\"}'")
        .with(0)
        .prints("  gRPC without TLS");
    let calls = server.calls();
    let found = calls
        .iter()
        .filter(|(path, _)| path == "/shop.v1.Catalog/Find");
    assert_eq!(found.count(), 10);
    // The definition says that the server streams.
    load("shop.v1.Catalog.Watch -H 'token: t'").with(0);
    let result = schema::valid("load", &folder.read("result.json"));
    assert_eq!(result["load"]["messages"], true);
    assert_eq!(result["events"]["count"], 10);
    let (path, token) = server.calls().pop().unwrap();
    assert_eq!(path, "/shop.v1.Catalog/Watch");
    assert_eq!(token.as_deref(), Some("t"));
    let unknown = load("shop.v1.Catalog/Fined").with(2);
    unknown.says("did you mean `shop.v1.Catalog/Find`?");
    let wrong = load("shop.v1.Catalog/Find --data '{\"txt\": 1}'");
    wrong.with(2).says("--data: ").says("text");
}

#[test]
fn who_calls_a_server_over_tls_in_plain_text_is_advised() {
    let certificate = Certificate::new();
    let grpc_server = GrpcServer::over_tls(&certificate);
    let others = [respond as fn(_, _), respond_to_plain, close_plain];
    let others = others.map(|respond| format!("http://{}/", server_of(&certificate, respond)));
    for url in others.iter().chain([&grpc_server.url()]) {
        for ended in [
            grpc(&format!("list {url}")),
            grpc(&format!("describe {url} shop.v1.Query")),
            load(&format!("{FIND} {url}")),
        ] {
            ended
                .with(1)
                .says("server reflection failed: the server speaks TLS: use https://\n");
        }
        load(&format!("{FIND} {} {url}", catalog()))
            .with(1)
            .prints("\n  The server speaks TLS: use https://\n");
    }
}

#[test]
fn who_calls_a_server_without_tls_or_without_http2_over_https_is_advised() {
    let url = GrpcServer::start(Reflects::V1).https_url();
    for ended in [grpc(&format!("list {url}")), load(&format!("{FIND} {url}"))] {
        let ended = ended.with(1).says("the server does not speak TLS");
        ended.says("write http:// for plain HTTP");
    }
    let url = format!(
        "https://{}/ --insecure",
        server_of(&Certificate::new(), respond)
    );
    for ended in [grpc(&format!("list {url}")), load(&format!("{FIND} {url}"))] {
        let ended = ended.with(1);
        let count = ended.stderr.matches("gRPC needs HTTP/2").count();
        assert!(count == 1 && !ended.stderr.contains("--http"), "{ended:?}");
    }
}

/// It is the server that ends the calls, so they have a status; Prony's own timeout would give them none.
#[test]
fn the_timeout_of_calls_is_sent_to_the_server_whose_status_is_reported() {
    let server = GrpcServer::start(Reflects::V1);
    let folder = Project::empty();
    for event_loop in ["io_uring", "epoll"] {
        let load = format!("load -n10 -c1 --loop {event_loop} {FIND} --json result.json");
        let load = format!("{load} {}", server.url());
        folder
            .run(&format!("{load} --grpc-timeout 20ms"))
            .with(1)
            .prints("  Not ok: 10 wrong status\n")
            .prints("  gRPC statuses: 4 (DEADLINE_EXCEEDED): 10\n");
        let result = schema::valid("load", &folder.read("result.json"));
        assert_eq!(result["outcomes"]["wrong_status"], 10, "{result}");
        assert_eq!(result["outcomes"]["timed_out"], 0);
        assert_eq!(result["rpc_statuses"], serde_json::json!({"4": 10}));
        folder.run(&load).with(0);
        let result = schema::valid("load", &folder.read("result.json"));
        assert_eq!(result["outcomes"]["ok"], 10);
    }
}

#[test]
fn a_load_over_http1_of_a_server_that_speaks_only_http2_is_advised() {
    let url = GrpcServer::start(Reflects::V1).url();
    for event_loop in ["io_uring", "epoll"] {
        load(&format!("--loop {event_loop} {url}"))
            .with(1)
            .prints("\n  The server speaks HTTP/2: use --http2\n");
    }
    run(prony(format!("load --find-capacity -c1 {url}").words()))
        .with(1)
        .says("; the server speaks HTTP/2: use --http2\n");
}
