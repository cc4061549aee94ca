//! What captures take from a response, and where it goes.

use std::io::Write as _;

use prony_load::Keep;
use prony_model::Outcome;

use crate::users::{Client, Given, scenario};

/// What `{{v}}` is after a capture from that response.
fn captured(query: &str, given: &Given) -> String {
    let text = format!(
        "GET http://a/first\nHTTP *\n[Captures]\nv: {query}\nPOST http://a/\n```\n{{{{v}}}}\n```\n"
    );
    let mut client = Client::new(scenario(&text));
    client.exchange(given);
    let sent = client.sends();
    sent.text().strip_suffix('\n').unwrap().to_owned()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn captures_take_every_part_of_a_response() {
    let given = Given::ok(r#"{"items": [{"id": 7}, {"id": 8}], "name": "a b"}"#)
        .field("X-Request-Id", "abc-1")
        .field("Set-Cookie", "session=s1; Path=/; Max-Age=60");
    for (query, expected) in [
        ("jsonpath \"$.items[1].id\"", "8"),
        ("jsonpath \"$.name\"", "a b"),
        ("jsonpath \"$.items\" count", "2"),
        ("header \"x-request-id\"", "abc-1"),
        ("header \"X-Request-Id\" split \"-\" nth 1", "1"),
        ("cookie \"session\"", "s1"),
        ("cookie \"session[Max-Age]\"", "60"),
        ("regex \"name\\\": \\\"(.)\"", "a"),
        ("regex /\"id\": ([0-9])/", "7"),
        ("status", "200"),
        ("url", "http://a/first"),
        ("body regex /(n.me)/", "name"),
        ("bytes count", "48"),
    ] {
        assert_eq!(captured(query, &given), expected, "{query}");
    }
    assert_eq!(captured("body", &Given::ok("whole")), "whole");
    assert_eq!(captured("bytes toHex", &Given::ok(b"\0\xff")), "00ff");
}

#[test]
fn a_capture_may_use_the_captures_before_it() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\na: jsonpath \"$.id\"\nb: variable \"a\"\n\
                [Asserts]\nvariable \"b\" == {{a}}\nGET http://a/{{a}}/{{b}}\n";
    let mut client = Client::new(scenario(text));
    client.exchange(&Given::ok("{\"id\": 9}"));
    assert_eq!(client.sends().path, "/9/9");
}

#[test]
fn a_compressed_body_is_decoded_first() {
    let given = Given::ok(gzip("{\"id\": 5}")).field("Content-Encoding", "gzip");
    assert_eq!(captured("jsonpath \"$.id\"", &given), "5");
    let broken = Given::ok("no gzip").field("Content-Encoding", "gzip");
    let mut client = Client::new(scenario("GET http://a/\nHTTP 200\n[Captures]\nv: body\n"));
    client.sends();
    let rejection = client.rejects(&broken);
    assert_eq!(rejection.outcome, Outcome::WrongBody);
    assert!(
        rejection.detail.starts_with("test.hurl:1:1: "),
        "{rejection:?}"
    );
}

#[test]
fn a_capture_that_finds_nothing_ends_the_flow_with_its_place() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: jsonpath \"$.id\"\nGET http://a/{{v}}\n";
    let mut client = Client::new(scenario(text));
    client.sends();
    let rejection = client.rejects(&Given::ok("{}"));
    assert_eq!(rejection.outcome, Outcome::WrongBody);
    assert_eq!(
        rejection.detail,
        "test.hurl:4:4: No query result: query didn't return any result"
    );
}

#[test]
fn only_what_is_needed_of_a_response_is_kept() {
    for (response, keep) in [
        ("", Keep::Status),
        ("HTTP 200\n", Keep::Status),
        ("HTTP *\n", Keep::Status),
        ("HTTP/1.1 200\n", Keep::Head),
        ("HTTP 200\nX-A: 1\n", Keep::Head),
        (
            "HTTP 200\n[Asserts]\nheader \"x\" exists\nduration < 1000\n",
            Keep::Head,
        ),
        ("HTTP 200\n[Captures]\nv: cookie \"c\"\n", Keep::Head),
        ("HTTP 200\n[Asserts]\nbody == \"x\"\n", Keep::All),
        ("HTTP 200\n[Captures]\nv: sha256 \n", Keep::All),
        ("HTTP 200\n`x`\n", Keep::All),
    ] {
        let scenario = scenario(&format!("GET http://a/\n{response}"));
        assert_eq!(Client::of(&scenario).sends().keep, keep, "{response}");
    }
    // A cookie of the first response may go to the second entry.
    let scenario = scenario("GET http://a/\nGET http://a/\n");
    assert_eq!(Client::of(&scenario).sends().keep, Keep::Head);
}

#[test]
fn captures_of_a_flow_are_forgotten_in_the_next() {
    // The second entry uses what only a first response of status 200 sets.
    let text = "GET http://a/\n[Options]\nskip: {{done}}\nHTTP 200\n[Captures]\ndone: jsonpath \"$.done\"\n\
                GET http://a/{{done}}\n";
    let mut sources = prony_scenario::Sources::default();
    sources.set("done", "false").unwrap();
    let scenario = crate::users::scenario_of(text, sources);
    let mut client = Client::of(&scenario);
    for _ in 0..3 {
        let sent = client.flow(&Given::ok("{\"done\": true}"));
        let paths: Vec<&str> = sent.iter().map(|sent| sent.path.as_str()).collect();
        assert_eq!(paths, ["/", "/true"]);
    }
}
