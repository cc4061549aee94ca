//! `prony grpc`, and loads of methods that only the server defines.

mod server;

use crate::common::{Ended, prony, repository, run, schema};
use prony_testkit::certificate::Certificate;
use prony_testkit::tls_server::{close_plain, respond, respond_to_plain, server_of};
use server::{GrpcServer, Reflects};

fn grpc(arguments: &[&str]) -> Ended {
    let mut command = prony(["grpc"]);
    command.args(arguments);
    run(command)
}

/// `shop/catalog.proto`, and the flags with which its imports are found.
fn catalog() -> Vec<String> {
    let protos = repository().join("crates/protobuf/tests/protos");
    let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let file = path(protos.join("shop/catalog.proto"));
    vec!["--proto".into(), file, "--import-path".into(), path(protos)]
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

#[test]
fn a_server_tells_its_services_by_either_version_of_reflection() {
    for reflects in [Reflects::V1, Reflects::OnlyV1Alpha] {
        let server = GrpcServer::start(reflects);
        let url = server.url();
        let listed = grpc(&["list", &url]).with(0);
        assert_eq!(listed.stdout, "shop.v1.Catalog\n");
        let listed = grpc(&["list", &url, "shop.v1.Catalog"]).with(0);
        assert_eq!(listed.stdout, METHODS);
        let described = grpc(&["describe", &url, "shop.v1.Query"]).with(0);
        assert_eq!(described.stdout, QUERY);
    }
}

#[test]
fn files_need_no_server() {
    let files = catalog();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let with = |words: &[&str]| grpc(&[words, &files].concat());
    assert_eq!(with(&["list"]).with(0).stdout, "shop.v1.Catalog\n");
    assert_eq!(with(&["list", "shop.v1.Catalog"]).with(0).stdout, METHODS);
    assert_eq!(with(&["describe", "shop.v1.Query"]).with(0).stdout, QUERY);
    let set = repository().join("crates/protobuf/tests/protoc/shop.protoset");
    let listed = grpc(&["list", "--protoset", set.to_str().unwrap()]).with(0);
    assert!(listed.stdout.lines().any(|line| line == "shop.v1.Catalog"));
    with(&["describe", "shop.v1.Queryy"])
        .with(2)
        .says("did you mean `shop.v1.Query`?");
    with(&["list", "http://127.0.0.1:1/"])
        .with(2)
        .says("so no server is needed");
    with(&["list", "a", "b"])
        .with(2)
        .says("`b` is one name too many");
    with(&["describe"])
        .with(2)
        .says("give the name of a service, a method, a message or an enum");
}

#[test]
fn metadata_is_sent_with_each_request() {
    let server = GrpcServer::start(Reflects::V1);
    grpc(&["list", &server.url(), "-H", "token: secret"]).with(0);
    let calls = server.calls();
    assert!(
        calls
            .iter()
            .all(|(_, token)| token.as_deref() == Some("secret")),
        "{calls:?}"
    );
    assert_eq!(calls.len(), 1);
}

#[test]
fn what_a_server_does_not_tell_is_reported() {
    let silent = GrpcServer::start(Reflects::Nothing);
    grpc(&["list", &silent.url()])
        .with(1)
        .says("does not support reflection")
        .says("--proto or --protoset");
    let server = GrpcServer::start(Reflects::V1);
    grpc(&["list", &server.url(), "shop.v2.Catalog"])
        .with(1)
        .says("no such symbol")
        .says("did you mean `shop.v1.Catalog`?");
    grpc(&["list"]).with(2).says("<URL");
    grpc(&["list", "http://127.0.0.1:1/x"])
        .with(2)
        .says("has no path");
    grpc(&["list", "--insecure", "http://127.0.0.1:1/"])
        .with(2)
        .says("--insecure needs TLS");
    grpc(&["list", "https://127.0.0.1:1/"])
        .with(1)
        .says("cannot connect to 127.0.0.1:1");
}

#[test]
fn a_load_asks_the_server_for_the_definition_of_its_method() {
    let server = GrpcServer::start(Reflects::V1);
    let folder = tempfile::tempdir().unwrap();
    let load = |flags: &[&str]| {
        let mut command = prony(["load", "-n10", "-c1", "--json", "result.json"]);
        command
            .args(flags)
            .arg(server.url())
            .current_dir(folder.path());
        run(command)
    };
    let call = [
        "--grpc",
        "shop.v1.Catalog/Find",
        "--data",
        "{\"text\": \"a\"}",
    ];
    load(&call).with(0).prints("  gRPC without TLS");
    let calls = server.calls();
    let found = calls
        .iter()
        .filter(|(path, _)| path == "/shop.v1.Catalog/Find");
    assert_eq!(found.count(), 10);
    // The definition says that the server streams.
    load(&["--grpc", "shop.v1.Catalog.Watch", "-H", "token: t"]).with(0);
    let text = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
    let result = schema::load(&text);
    assert_eq!(
        (
            result["load"]["messages"].as_bool(),
            result["events"]["count"].as_u64()
        ),
        (Some(true), Some(10))
    );
    let (path, token) = server.calls().pop().unwrap();
    assert_eq!(
        (&*path, token.as_deref()),
        ("/shop.v1.Catalog/Watch", Some("t"))
    );
    load(&["--grpc", "shop.v1.Catalog/Fined"])
        .with(2)
        .says("did you mean `shop.v1.Catalog/Find`?");
    let wrong = ["--grpc", "shop.v1.Catalog/Find", "--data", "{\"txt\": 1}"];
    load(&wrong).with(2).says("--data: ").says("text");
}

#[test]
fn a_server_over_tls_tells_its_services_to_those_who_trust_it() {
    let certificate = Certificate::new();
    let server = GrpcServer::over_tls(&certificate);
    let (url, trusted) = (server.https_url(), certificate.file("cert.pem"));
    for trust in [&["--insecure"][..], &["--cacert", &trusted]] {
        let grpc = |words: &[&str]| grpc(&[words, trust].concat()).with(0).stdout;
        assert_eq!(grpc(&["list", &url]), "shop.v1.Catalog\n");
        assert_eq!(grpc(&["list", &url, "shop.v1.Catalog"]), METHODS);
        assert_eq!(grpc(&["describe", &url, "shop.v1.Query"]), QUERY);
        let call = ["--grpc", "shop.v1.Catalog/Find", "--json", "-", &url];
        let loaded = load(&[&call, trust].concat()).with(0);
        let result = schema::load(&loaded.stdout);
        assert_eq!(result["target"]["protocol"], "grpc-tls");
        assert_eq!(result["outcomes"]["ok"], 10);
    }
    grpc(&["list", &url])
        .with(1)
        .says("trust it with --cacert FILE");
}

/// `prony load` of ten calls.
fn load(arguments: &[&str]) -> Ended {
    let mut command = prony(["load", "-n10", "-c1"]);
    command.args(arguments);
    run(command)
}

#[test]
fn who_calls_a_server_over_tls_in_plain_text_is_advised() {
    const ADVICE: &str = "the server speaks TLS: use https://";
    let certificate = Certificate::new();
    let call = ["--grpc", "shop.v1.Catalog/Find"];
    let files = catalog();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let grpc_server = GrpcServer::over_tls(&certificate);
    let others = [respond as fn(_, _), respond_to_plain, close_plain];
    let others = others.map(|respond| format!("http://{}/", server_of(&certificate, respond)));
    for url in others.iter().chain([&grpc_server.url()]) {
        for command in [&["list", url][..], &["describe", url, "shop.v1.Query"]] {
            let ended = grpc(command).with(1);
            ended.says(&format!("server reflection failed: {ADVICE}\n"));
        }
        let reflected = load(&[&call[..], &[url]].concat()).with(1);
        reflected.says(&format!("server reflection failed: {ADVICE}\n"));
        let known = load(&[&call[..], &files, &[url]].concat()).with(1);
        known.prints("\n  The server speaks TLS: use https://\n");
    }
}

#[test]
fn who_calls_a_server_without_tls_over_https_is_advised() {
    let server = GrpcServer::start(Reflects::V1);
    let url = server.https_url();
    let call = ["--grpc", "shop.v1.Catalog/Find", &url];
    for ended in [grpc(&["list", &url]), load(&call)] {
        let ended = ended.with(1).says("the server does not speak TLS");
        ended.says("write http:// for plain HTTP");
    }
}

#[test]
fn a_server_over_tls_without_http2_is_told_apart() {
    let certificate = Certificate::new();
    let url = format!("https://{}/", server_of(&certificate, respond));
    let call = ["--grpc", "shop.v1.Catalog/Find", "--insecure", &url];
    for ended in [grpc(&["list", "--insecure", &url]), load(&call)] {
        let ended = ended.with(1);
        assert_eq!(
            ended.stderr.matches("gRPC needs HTTP/2").count(),
            1,
            "{}",
            ended.all()
        );
        assert!(!ended.stderr.contains("--http"), "{}", ended.all());
    }
}

/// It is the server that ends the calls, so they have a status; Prony's own timeout would give them none.
#[test]
fn the_timeout_of_calls_is_sent_to_the_server_whose_status_is_reported() {
    let server = GrpcServer::start(Reflects::V1);
    let folder = tempfile::tempdir().unwrap();
    let loaded = |event_loop, timeout: &[&str]| {
        let mut command = prony(["load", "-n10", "-c1", "--loop", event_loop]);
        command.args(["--grpc", "shop.v1.Catalog/Find", "--json", "result.json"]);
        command
            .args(timeout)
            .arg(server.url())
            .current_dir(folder.path());
        let ended = run(command);
        let text = std::fs::read_to_string(folder.path().join("result.json")).unwrap();
        (ended, schema::load(&text))
    };
    for event_loop in ["io_uring", "epoll"] {
        let (ended, result) = loaded(event_loop, &["--grpc-timeout", "20ms"]);
        ended
            .with(1)
            .prints("  Not ok: 10 wrong status\n")
            .prints("  gRPC statuses: 4 (DEADLINE_EXCEEDED): 10\n");
        assert_eq!(result["outcomes"]["wrong_status"], 10, "{result}");
        assert_eq!(result["outcomes"]["timed_out"], 0);
        assert_eq!(result["rpc_statuses"], serde_json::json!({"4": 10}));
        let (ended, result) = loaded(event_loop, &[]);
        ended.with(0);
        assert_eq!(result["outcomes"]["ok"], 10);
    }
}

#[test]
fn a_load_over_http1_of_a_server_that_speaks_only_http2_is_advised() {
    let server = GrpcServer::start(Reflects::V1);
    for event_loop in ["io_uring", "epoll"] {
        load(&["--loop", event_loop, &server.url()])
            .with(1)
            .prints("\n  The server speaks HTTP/2: use --http2\n");
    }
    run(prony(["load", "--find-capacity", "-c1", &server.url()]))
        .with(1)
        .says("; the server speaks HTTP/2: use --http2\n");
}
