//! Requests and expected responses of a workload file against a real server, over each version of HTTP and each event
//! loop.

mod server;

use prony_testkit::table::rows;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{Conversation, EventLoopChoice, LoadPlan, ResponseCheck, SampleChoice, Sampling};
use prony_model::{LoadResult, Outcome};
use prony_suite::{ExpectedResponse, Files, PreparedRequest, Workload};
use server::Server;

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
    workload.named("orders".into(), std::path::Path::new(""))
}

fn load(workload: &Workload, server: &Server, event_loop: EventLoopChoice) -> LoadResult {
    let files = Files::new(".", ".");
    let request = PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
    let check = ExpectedResponse::new(workload.exchange().unwrap(), &files)
        .unwrap()
        .to(&request);
    let (url, wire) = request.encode(&server.address.to_string()).unwrap();
    let plan = LoadPlan {
        connections: 4,
        requests: Some(REQUESTS),
        timeout: Duration::from_secs(30),
        event_loop,
        sampling: Some(Sampling {
            check: Arc::new(check),
            choice: SampleChoice::EveryNth(NonZeroU64::MIN),
        }),
        ..LoadPlan::new(server.address.into(), url, wire)
    };
    prony_load::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn every_way(mut test: impl FnMut(&str, EventLoopChoice, &Server)) {
    for protocol in ["http/1.1", "h2"] {
        let server = Server::start(protocol == "h2");
        for event_loop in [EventLoopChoice::IoUring, EventLoopChoice::Epoll] {
            test(protocol, event_loop, &server);
        }
    }
}

#[test]
fn right_responses_that_differ_are_ok() {
    let response = r#"
        status = [200, 201]
        content_type = "application/json"
        body = { json_path = { "$.id" = { matches = "^[0-9]+$" }, "$.items" = { count = 2 } }, contains = "items" }
    "#;
    every_way(|protocol, event_loop, server| {
        let result = load(&workload(protocol, REQUEST, response), server, event_loop);
        let wrong = &result.first_wrong;
        assert_eq!(
            result.outcomes[Outcome::Ok],
            REQUESTS,
            "{protocol}: {wrong:?}"
        );
        assert!(result.statuses.len() == 2, "{:?}", result.statuses);
    });
}

#[test]
fn wrong_responses_are_reported_without_secrets() {
    for [response, message] in rows(
        r#"
        status = [200, 201]\nbody = { json_path = { "$.items[1]" = 3 } } | expected $.items[1] = 3, got $.items[1] = 2
        status = [200, 201]\nbody = { json_path = { "$.user" = "bob" } } | expected $.user = "bob", got $.user = "***"
        status = [201, 404] | expected status 201 or 404, got 200
    "#,
    ) {
        every_way(|protocol, event_loop, server| {
            let result = load(&workload(protocol, REQUEST, response), server, event_loop);
            let wrong = result.first_wrong.as_ref().unwrap();
            assert_eq!(wrong.detail, message, "{protocol}");
            let record = serde_json::to_string(&result).unwrap();
            assert!(!record.contains("swordfish"), "{record}");
        });
    }
}

#[test]
fn an_unasked_coding_and_a_bomb_are_wrong() {
    let plain = REQUEST.replace("compressed = true", "headers.Accept-Encoding = \"br\"");
    let plain = plain.replace(
        "headers = { X-Team = \"prony\" }",
        "headers.X-Team = \"prony\"",
    );
    let body = "status = [200, 201]\nbody = { size = { max = 100 } }";
    let bomb = REQUEST.replace("\"a b\"", "\"bomb\"");
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
        every_way(|protocol, event_loop, server| {
            let result = load(&workload(protocol, request, body), server, event_loop);
            assert_eq!(result.outcomes[Outcome::WrongBody], REQUESTS, "{protocol}");
            let wrong = result.first_wrong.as_ref().unwrap();
            assert!(wrong.detail.starts_with(message), "{}", wrong.detail);
        });
    }
}

#[test]
fn the_size_on_the_wire_is_that_of_the_compressed_body() {
    let server = Server::start(false);
    let bomb = REQUEST.replace("\"a b\"", "\"bomb\"");
    let workload = workload(
        "http/1.1",
        &bomb,
        "status = [200, 201]\nbody = { size = 100000 }",
    );
    let result = load(&workload, &server, EventLoopChoice::Epoll);
    assert_eq!(
        result.outcomes[Outcome::Ok],
        REQUESTS,
        "{:?}",
        result.first_wrong
    );
    let each = result.bytes_read / REQUESTS;
    assert!(each < 10_000, "{each} bytes for each response");
}

#[test]
fn a_single_exchange_has_the_same_rules() {
    let server = Server::start(false);
    let files = Files::new(".", ".");
    let workload = workload(
        "http/1.1",
        REQUEST,
        "status = [200, 201]\nbody = { contains = \"nothing\" }",
    );
    let request = PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
    let expected = ExpectedResponse::new(workload.exchange().unwrap(), &files)
        .unwrap()
        .to(&request);
    let (_, wire) = request.encode(&server.address.to_string()).unwrap();
    let endpoint = server.address.into();
    let mut conversation = Conversation::of(&endpoint, &wire, None, Duration::from_secs(30));
    let response = conversation.request().unwrap();
    let mismatch = expected.check(&response).unwrap_err();
    assert_eq!(mismatch.expected, "a body that contains `nothing`");
    assert!(mismatch.received.contains("id"), "{}", mismatch.received);
    assert!(
        !mismatch.received.contains("swordf"),
        "{}",
        mismatch.received
    );
}
