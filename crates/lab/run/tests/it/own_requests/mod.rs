//! Requests and expected responses of a workload file against a real server, over each version of HTTP and each event
//! loop.

mod server;

use std::num::NonZeroU64;
use std::path::Path;

use prony_load::{EventLoopChoice, SampleChoice};
use prony_model::{LoadResult, Outcome};
use prony_run::Workload;
use prony_testkit::table::rows;
use prony_testkit::{lacks, starts_with};

use crate::sending::every_way;

const REQUESTS: u64 = 200;

/// What the server checks (see `server`).
const REQUEST: &str = r#"
[request]
method = "POST"
path = "/orders"
query = { q = "a b" }
headers = { X-Team = "prony" }
cookies = { session = "abc" }
basic_auth = { user = "ann", password = "swordfish" }
body = { json = { n = 1 } }
compressed = true
"#;

fn workload(protocol: &str, request: &str, response: &str) -> Workload {
    let text = format!("{request}protocol = \"{protocol}\"\n[response]\n{response}\n");
    let workload: Workload = toml::from_str(&text).unwrap();
    workload.named("orders".into(), Path::new(""))
}

/// Loads a server over a version of HTTP; all responses are compared.
fn load(protocol: &str, event_loop: EventLoopChoice, request: &str, response: &str) -> LoadResult {
    let workload = workload(protocol, request, response);
    let every = SampleChoice::EveryNth(NonZeroU64::MIN);
    crate::sending::load(
        (&workload, Path::new(".")),
        server::start(),
        every,
        |plan| {
            plan.with(|plan| {
                plan.load.connections = 4;
                plan.load.requests = Some(REQUESTS);
                plan.here.event_loop = event_loop;
            })
        },
    )
}

#[test]
fn right_responses_that_differ_are_ok() {
    let response = r#"
        status = [200, 201]
        content_type = "application/json"
        body = { json_path = { "$.id" = { matches = "^[0-9]+$" }, "$.items" = { count = 2 } }, contains = "items" }
    "#;
    every_way(|protocol, event_loop| {
        let result = load(protocol, event_loop, REQUEST, response);
        let wrong = &result.first_wrong;
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{wrong:?}");
        assert!(result.statuses.len() == 2, "{:?}", result.statuses);
    });
}

#[test]
fn wrong_responses_are_reported_without_secrets() {
    for [response, message] in rows(
        r#"
        status = [200, 201]\nbody = { json_path = { "$.items[1]" = 3 } } | expected $.items[1] = 3, got $.items[1] = 2
        status = [200, 201]\nbody = { json_path = { "$.user" = "bob" } } | expected $.user = "bob", got $.user = "***"
        status = [201, 404] | expected status 201 or 404, got 200: {\"id\":
        "#,
    ) {
        every_way(|protocol, event_loop| {
            let result = load(protocol, event_loop, REQUEST, response);
            let wrong = result.first_wrong.as_ref().unwrap();
            let detail = wrong.detail.replace('\\', "");
            assert!(detail.starts_with(message), "{protocol}: {detail}");
            lacks(&serde_json::to_string(&result).unwrap(), "swordfish");
        });
    }
}

#[test]
fn a_coding_that_is_not_accepted_and_a_bomb_are_wrong() {
    let plain = REQUEST.replace("compressed = true", "headers.Accept-Encoding = \"br\"");
    let plain = plain.replace(
        "headers = { X-Team = \"prony\" }",
        "headers.X-Team = \"prony\"",
    );
    let bomb = REQUEST.replace("\"a b\"", "\"bomb\"");
    let body = "status = [200, 201]\nbody = { size = { max = 100 } }";
    for (request, message) in [
        (
            &plain,
            "expected a content-encoding that the request accepts (br), got content-encoding gzip",
        ),
        (
            &bomb,
            "expected a body of at most 100 bytes, decoded, got more than that from ",
        ),
    ] {
        every_way(|protocol, event_loop| {
            let result = load(protocol, event_loop, request, body);
            assert_eq!(result.outcomes[Outcome::WrongBody], REQUESTS, "{protocol}");
            starts_with(&result.first_wrong.unwrap().detail, message);
        });
    }
}

#[test]
fn the_size_on_the_wire_is_that_of_the_compressed_body() {
    let bomb = REQUEST.replace("\"a b\"", "\"bomb\"");
    let body = "status = [200, 201]\nbody = { size = 100000 }";
    let result = load("http/1.1", EventLoopChoice::Epoll, &bomb, body);
    let wrong = &result.first_wrong;
    assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{wrong:?}");
    let each = result.bytes_read / REQUESTS;
    assert!(each < 10_000, "{each} bytes for each response");
}
