//! The expected response of every workload, and the request log.

use std::io::Write;

use crate::common::{asset, start, workloads};

#[test]
fn every_fixed_workload_has_its_expected_response() {
    let server = start(2);
    let mut client = server.connect();
    for (path, content_type, body) in workloads() {
        // Twice, in case the first request leaves something behind.
        for _ in 0..2 {
            let response = client.get(path);
            assert_eq!(response.status, 200, "{path}");
            assert_eq!(response.field("content-type"), Some(content_type), "{path}");
            assert!(response.body == body, "{path}");
            let no_cache = (content_type == "text/event-stream").then_some("no-cache");
            let fields = ["cache-control", "connection"].map(|name| response.field(name));
            assert_eq!(fields, [no_cache, None], "{path}");
            httpdate::parse_http_date(response.field("date").unwrap()).unwrap();
        }
    }
}

#[test]
fn quotes_are_lines_of_the_file_and_vary() {
    let server = start(1);
    let mut client = server.connect();
    let quotes = asset("quotes.txt");
    let drawn: Vec<String> = (0..40)
        .map(|_| {
            let response = client.get("/franklin-says");
            let content_type = response.field("content-type");
            assert_eq!(content_type, Some("text/plain; charset=utf-8"));
            let quote = response.body.strip_suffix('\n').unwrap().to_owned();
            assert!(quotes.lines().any(|line| line == quote), "{quote}");
            quote
        })
        .collect();
    // 40 random draws from 8 quotes are all equal with a probability of 8⁻³⁹.
    assert!(drawn.iter().any(|quote| quote != &drawn[0]));
}

#[test]
fn the_log_has_each_line_before_its_response_is_sent() {
    let server = start(1);
    let mut client = server.connect();
    let mut expected = String::new();
    for path in [
        "/hello", "/log", "/sse", "/", "/sse-20k", "/byte", "/log?x", "/nothing",
    ] {
        client.get(path);
        if path.starts_with("/log") || path.starts_with("/sse") {
            expected += &format!("GET {}\n", path.trim_end_matches("?x"));
        }
        assert_eq!(server.log(), expected, "after {path}");
    }
    client.send("HEAD /log HTTP/1.1\r\nHost: a\r\n\r\nPOST /log HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.response().status, 405);
    assert_eq!(server.log(), expected + "HEAD /log\n");
}

#[test]
fn pipelined_requests_get_their_responses_in_order() {
    let server = start(1);
    let paths = [
        "/hello", "/", "/byte", "/sse-20k", "/log", "/nothing", "/sse",
    ];
    let rounds = 60;
    let mut client = server.connect();
    let bodies = paths.map(|path| client.get(path).body);
    let before = server.log().lines().count();
    let request = |path: &&str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let requests: String = paths.iter().map(request).collect();
    let mut socket = client.socket.try_clone().unwrap();
    // Another thread writes while this one reads, so that full buffers cannot block both sides.
    let sending = std::thread::spawn(move || socket.write_all(requests.repeat(rounds).as_bytes()));
    for round in 0..rounds {
        for (path, body) in paths.iter().zip(&bodies) {
            assert!(&client.response().body == body, "{path} in round {round}");
        }
    }
    sending.join().unwrap().unwrap();
    assert_eq!(server.log().lines().count() - before, 3 * rounds);
}

#[test]
fn head_has_the_head_of_get_and_no_body() {
    let server = start(1);
    let mut client = server.connect();
    let undated = |head: &str| -> Vec<String> {
        let lines = head.lines().filter(|line| !line.starts_with("Date: "));
        lines.map(str::to_owned).collect()
    };
    for path in [
        "/hello", "/byte", "/", "/log", "/sse", "/sse-20k", "/nothing",
    ] {
        let get = client.get(path);
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.head();
        assert_eq!(undated(&head.head), undated(&get.head), "{path}");
        // Any byte of a body would come before this response.
        assert_eq!(client.get("/byte").body, "r", "{path}");
    }
}
