//! Which responses are as expected.

use prony_testkit::table::rows;

use crate::users::{Given, client};

#[test]
fn statuses_and_versions_are_exact_or_any() {
    for [expected, given, reason] in rows(
        r#"
        // Without a response in the file, 2xx and 3xx are accepted.
        "" | 199 | WrongStatus test.hurl:1:1: expected a status from 200 to 399, got 199
        "" | 200 | ""
        "" | 302 | ""
        "" | 399 | ""
        "" | 400 | WrongStatus test.hurl:1:1: expected a status from 200 to 399, got 400
        "" | 503 | WrongStatus test.hurl:1:1: expected a status from 200 to 399, got 503
        HTTP *\n | 200 | ""
        HTTP *\n | 404 | ""
        HTTP *\n | 503 | ""
        HTTP 404\n | 404 | ""
        HTTP 404\n[Asserts]\nbody == "x"\n | 200 | WrongStatus test.hurl:2:6: Assert status code: actual value is <200>
        HTTP/1.1 200\n | 200 | ""
        HTTP/1.1 200\n | 200 + http: 2 | WrongStatus test.hurl:2:1: Assert HTTP version: actual value is <HTTP/2>
        HTTP/1.1 200\n | 200 + http: 1.0 | WrongStatus test.hurl:2:1: Assert HTTP version: actual value is <HTTP/1.0>
        HTTP/1.0 200\n | 200 + http: 1.0 | ""
        HTTP/2 200\n | 200 + http: 2 | ""
        HTTP/2 200\n | 200 | WrongStatus test.hurl:2:1: Assert HTTP version: actual value is <HTTP/1.1>
        HTTP 200\n[Asserts]\nversion == "1.0"\n | 200 + http: 1.0 | ""
        HTTP 200\n[Asserts]\nversion == "2"\n | 200 + http: 2 | ""
    "#,
    ) {
        let text = format!("GET http://a/\n{expected}");
        let line = format!("GET / | {given} | {reason}");
        client(&text).talk(&[line.trim_end_matches(" | ")]);
    }
}

/// Whether a response is as expected.
fn is_expected(expected: &str, given: &Given) -> bool {
    let mut client = client(&format!("GET http://a/\nHTTP 200\n{expected}"));
    client.sends();
    client.respond(given.clone()).is_ok()
}

#[test]
fn fields_bodies_and_asserts_are_checked() {
    let given = "200 + X-A: 1 + Content-Type: application/json + body: {\"id\": 5}";
    for [expected, is_ok] in rows(
        r#"
        x-a: 1\n | true
        x-a: 2\n | false
        x-b: 1\n | false
        {"id": 5}\n | true
        {"id": 6}\n | false
        [Asserts]\njsonpath "$.id" == 5\nheader "x-a" == "1"\n | true
        [Asserts]\njsonpath "$.id" > 5\n | false
        [Asserts]\nbody contains "id"\nbytes count == 9\n | true
        [Asserts]\nip == "127.0.0.1"\nduration <= 5\nurl == "http://a/"\n | true
    "#,
    ) {
        let verdict = is_expected(expected, &given.into()).to_string();
        assert_eq!(verdict, is_ok, "{expected}");
    }
}

#[test]
fn a_rejection_names_the_first_failure_and_counts_the_others() {
    let text = "GET http://a/\nHTTP 200\n[Asserts]\nheader \"x\" exists\nbody == \"a\"\nbody == \"b\"\nbody == \"c\"\n";
    let reason =
        "test.hurl:5:0: Assert failure: actual: string <c> expected: string <a> (and 1 more)";
    client(text).talk(&[&format!(
        "GET / | 200 + x: 1 + body: c | WrongBody {reason}"
    )]);
}

#[test]
fn a_long_reason_is_shortened() {
    let mut client = client("GET http://a/\nHTTP 200\n[Asserts]\nbody == \"a\"\n");
    let detail = client.rejects(Given::ok("ä".repeat(100_000)));
    assert!(detail.ends_with('…'), "{detail}");
    assert!(detail.chars().count() < 600, "{detail}");
}

#[test]
fn bytes_that_are_no_text_do_not_panic() {
    let given = Given::ok(b"\xff\xfe").field("x", b"\xff");
    for expected in [
        "[Asserts]\nbody == \"a\"\n",
        "[Asserts]\njsonpath \"$.id\" == 1\n",
        "x: 1\n",
        "[Captures]\nv: regex \"(.)\"\n",
    ] {
        assert!(!is_expected(expected, &given), "{expected}");
    }
}

#[test]
fn after_a_rejection_the_next_flow_begins_with_the_first_entry() {
    let text = "GET http://a/1\nGET http://a/2\nHTTP 200\nGET http://a/3\n";
    let mut client = client(text);
    client.exchange("200");
    client.rejects("201");
    assert_eq!(client.flow("200").len(), 3);
}
