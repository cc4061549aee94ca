//! What captures take from a response, and where it goes.

use std::io::Write as _;

use prony_testkit::table::rows;
use prony_traffic::Keep;

use crate::users::{Client, Given, client, client_with, scenario};

/// What `{{v}}` is after a capture from that response.
fn captured(query: &str, given: impl Into<Given>) -> String {
    let text = format!(
        "GET http://a/first\nHTTP *\n[Captures]\nv: {query}\nPOST http://a/\n```\n{{{{v}}}}\n```\n"
    );
    let mut client = client(&text);
    client.exchange(given);
    let sent = client.sends();
    sent.text().strip_suffix('\n').unwrap().to_owned()
}

#[test]
fn captures_take_every_part_of_a_response() {
    let given = Given::ok(r#"{"items": [{"id": 7}, {"id": 8}], "name": "a b"}"#)
        .field("X-Request-Id", "abc-1")
        .field("Set-Cookie", "session=s1; Path=/; Max-Age=60");
    for [query, expected] in rows(
        r#"
        jsonpath "$.items[1].id" | 8
        jsonpath "$.name" | a b
        jsonpath "$.items" count | 2
        header "x-request-id" | abc-1
        header "X-Request-Id" split "-" nth 1 | 1
        cookie "session" | s1
        cookie "session[Max-Age]" | 60
        regex "name\\\": \\\"(.)" | a
        regex /"id": ([0-9])/ | 7
        status | 200
        url | http://a/first
        body regex /(n.me)/ | name
        bytes count | 48
    "#,
    ) {
        assert_eq!(captured(query, given.clone()), expected, "{query}");
    }
    assert_eq!(captured("body", "200 + body: whole"), "whole");
    assert_eq!(captured("bytes toHex", Given::ok(b"\0\xff")), "00ff");
}

#[test]
fn a_capture_may_use_the_captures_before_it() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\na: jsonpath \"$.id\"\nb: variable \"a\"\n\
                [Asserts]\nvariable \"b\" == {{a}}\nGET http://a/{{a}}/{{b}}\n";
    client(text).talk(&["GET / | 200 + body: {\"id\": 9}", "GET /9/9"]);
}

#[test]
fn a_compressed_body_is_decoded_first() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"{\"id\": 5}").unwrap();
    let given = Given::ok(encoder.finish().unwrap()).field("Content-Encoding", "gzip");
    assert_eq!(captured("jsonpath \"$.id\"", given), "5");
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: body\n";
    let given = "200 + Content-Encoding: gzip + body: no gzip";
    let reason = "WrongBody test.hurl:1:1: expected a body that gzip can decode, got 7 bytes of broken gzip: unexpected end of file";
    client(text).talk(&[&format!("GET / | {given} | {reason}")]);
}

#[test]
fn a_capture_that_finds_nothing_ends_the_flow_with_its_place() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: jsonpath \"$.id\"\nGET http://a/{{v}}\n";
    let reason = "WrongBody test.hurl:4:4: No query result: query didn't return any result";
    client(text).talk(&[&format!("GET / | 200 + body: {{}} | {reason}")]);
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
        // A cookie of the first response may go to the second entry.
        ("GET http://a/\n", Keep::Head),
    ] {
        let scenario = scenario(&format!("GET http://a/\n{response}"));
        assert_eq!(Client::of(&scenario).sends().keep, keep, "{response}");
    }
}

#[test]
fn captures_of_a_flow_are_forgotten_in_the_next() {
    let text = "GET http://a/{{v}}\n[Options]\nskip: {{done}}\nHTTP 200\n[Captures]\ndone: jsonpath \"$.done\"\n\
                {{name}}: jsonpath \"$.v\"\nGET http://a/{{done}}/{{v}}\n";
    let variables = [("done", "false"), ("v", "given"), ("name", "v")];
    let flow = [
        "GET /given | 200 + body: {\"done\": true, \"v\": \"captured\"}",
        "GET /true/captured | 200",
        "end",
        "begin",
    ];
    client_with(text, &variables).talk(&[flow, flow, flow].concat());
}
