//! `prony grpc`, and loads of methods that only the server defines.

#[path = "../common/mod.rs"]
mod common;
mod server;

use common::{Ended, prony, repository, run, schema};
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
