//! Which responses are as expected.

use prony_load::tls::HttpVersion;
use prony_model::Outcome;

use crate::users::{Client, Given, scenario};

/// The result of a response to an entry that expects this.
fn verdict(expected: &str, given: &Given) -> Result<(), (Outcome, String)> {
    let mut client = Client::new(scenario(&format!("GET http://a/\n{expected}")));
    client.sends();
    let result = client.respond(given);
    result.map_err(|rejection| (rejection.outcome, rejection.detail))
}

#[track_caller]
fn wrong(expected: &str, given: &Given, outcome: Outcome, told: &str) {
    let (actual, detail) = verdict(expected, given).expect_err(expected);
    assert_eq!(actual, outcome, "{detail}");
    assert!(detail.contains(told), "no `{told}` in {detail}");
    assert!(detail.starts_with("test.hurl:"), "{detail}");
}

#[test]
fn without_a_response_in_the_file_2xx_and_3xx_are_accepted() {
    for (status, is_ok) in [
        (199, false),
        (200, true),
        (302, true),
        (399, true),
        (400, false),
        (503, false),
    ] {
        assert_eq!(
            verdict("", &Given::status(status)).is_ok(),
            is_ok,
            "{status}"
        );
    }
    wrong(
        "",
        &Given::status(404),
        Outcome::WrongStatus,
        "test.hurl:1:1: expected a status from 200 to 399, got 404",
    );
}

#[test]
fn a_status_is_exact_or_any() {
    for status in [200, 404, 503] {
        assert_eq!(verdict("HTTP *\n", &Given::status(status)), Ok(()));
    }
    assert_eq!(verdict("HTTP 404\n", &Given::status(404)), Ok(()));
    wrong(
        "HTTP 404\n[Asserts]\nbody == \"x\"\n",
        &Given::status(200),
        Outcome::WrongStatus,
        "test.hurl:2:6: Assert status code: actual value is <200>",
    );
}

#[test]
fn a_version_is_compared() {
    let (one, two) = (
        Given::status(200),
        Given::status(200).over(HttpVersion::Http2),
    );
    let old = Given {
        minor: 0,
        ..one.clone()
    };
    for (expected, given, is_ok) in [
        ("HTTP/1.1 200\n", &one, true),
        ("HTTP/1.1 200\n", &two, false),
        ("HTTP/1.1 200\n", &old, false),
        ("HTTP/1.0 200\n", &old, true),
        ("HTTP/2 200\n", &two, true),
        ("HTTP/2 200\n", &one, false),
        ("HTTP 200\n[Asserts]\nversion == \"1.0\"\n", &old, true),
        ("HTTP 200\n[Asserts]\nversion == \"2\"\n", &two, true),
    ] {
        assert_eq!(verdict(expected, given).is_ok(), is_ok, "{expected}");
    }
    wrong("HTTP/2 200\n", &one, Outcome::WrongStatus, "HTTP/1.1");
}

#[test]
fn fields_bodies_and_asserts_are_checked() {
    let given = Given::ok("{\"id\": 5}")
        .field("X-A", "1")
        .field("Content-Type", "application/json");
    for (expected, is_ok) in [
        ("HTTP 200\nx-a: 1\n", true),
        ("HTTP 200\nx-a: 2\n", false),
        ("HTTP 200\nx-b: 1\n", false),
        ("HTTP 200\n{\"id\": 5}\n", true),
        ("HTTP 200\n{\"id\": 6}\n", false),
        (
            "HTTP 200\n[Asserts]\njsonpath \"$.id\" == 5\nheader \"x-a\" == \"1\"\n",
            true,
        ),
        ("HTTP 200\n[Asserts]\njsonpath \"$.id\" > 5\n", false),
        (
            "HTTP 200\n[Asserts]\nbody contains \"id\"\nbytes count == 9\n",
            true,
        ),
        (
            "HTTP 200\n[Asserts]\nip == \"127.0.0.1\"\nduration <= 5\nurl == \"http://a/\"\n",
            true,
        ),
    ] {
        assert_eq!(verdict(expected, &given).is_ok(), is_ok, "{expected}");
    }
}

#[test]
fn a_rejection_names_the_first_failure_and_counts_the_others() {
    let expected =
        "HTTP 200\n[Asserts]\nheader \"x\" exists\nbody == \"a\"\nbody == \"b\"\nbody == \"c\"\n";
    wrong(
        expected,
        &Given::ok("c").field("x", "1"),
        Outcome::WrongBody,
        "test.hurl:5:0: Assert failure: actual: string <c> expected: string <a> (and 1 more)",
    );
}

#[test]
fn a_long_reason_is_shortened() {
    let long = "ä".repeat(100_000);
    let (_, detail) =
        verdict("HTTP 200\n[Asserts]\nbody == \"a\"\n", &Given::ok(&long)).unwrap_err();
    assert!(
        detail.chars().count() < 600 && detail.ends_with('…'),
        "{detail}"
    );
}

#[test]
fn bytes_that_are_no_text_do_not_panic() {
    let given = Given::ok(b"\xff\xfe").field("x", b"\xff");
    for expected in [
        "HTTP 200\n[Asserts]\nbody == \"a\"\n",
        "HTTP 200\n[Asserts]\njsonpath \"$.id\" == 1\n",
        "HTTP 200\nx: 1\n",
        "HTTP 200\n[Captures]\nv: regex \"(.)\"\n",
    ] {
        assert!(verdict(expected, &given).is_err(), "{expected}");
    }
}

#[test]
fn after_a_rejection_the_next_flow_begins_with_the_first_entry() {
    let mut client = Client::new(scenario(
        "GET http://a/1\nGET http://a/2\nHTTP 200\nGET http://a/3\n",
    ));
    client.exchange(&Given::status(200));
    client.sends();
    client.rejects(&Given::status(201));
    client.user.begin();
    assert_eq!(client.flow(&Given::status(200)).len(), 3);
}
