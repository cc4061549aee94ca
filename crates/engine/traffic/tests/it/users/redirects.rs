//! Redirects that an entry follows.

use prony_testkit::table::rows;
use prony_traffic::Keep;

use crate::users::{Given, Sent, client, client_with, scenario};

/// The first response to an entry of these lines, which follows redirects, and what is sent next.
fn followed(lines: &str, first: impl Into<Given>) -> Sent {
    let text = lines.replace("OPTIONS", "[Options]\nlocation: true");
    let mut client = client(&text);
    client.exchange(first);
    client.sends()
}

#[test]
fn the_method_is_get_after_some_statuses_and_stays_after_the_others() {
    for [status, method, expected] in rows(
        "301 | POST | GET
        302 | POST | GET
        303 | PUT | GET
        301 | HEAD | GET
        302 | DELETE | GET
        300 | POST | POST
        304 | PUT | PUT
        307 | POST | POST
        308 | DELETE | DELETE
        307 | HEAD | HEAD
        399 | POST | POST",
    ) {
        let text = format!("{method} http://a/x\nOPTIONS\n`body`\n");
        let next = followed(&text, &*format!("{status} + location: /y?z"));
        let body = if expected == method { "body" } else { "" };
        let expected = format!("{expected} /y?z + body: {body} + pause: 0ns");
        assert_eq!(
            (next.like(&expected), next.entry),
            (expected, 0),
            "{status}"
        );
    }
}

#[test]
fn a_redirect_keeps_some_of_its_entry() {
    for [lines, first, expected] in rows(
        r#"
        // A GET keeps its body, as in Hurl.
        GET http://a/\nOPTIONS\n{"a": 1}\n | 302 + location: /y | GET /y + content-type: application/json + body: {"a": 1}
        // The type of a body goes with it unless the entry gives it.
        POST http://a/\nOPTIONS\n[Form]\nx: 1\n | 302 + location: /y | GET /y + content-type: none + body:\u{20}
        POST http://a/\nOPTIONS\n[Form]\nx: 1\n | 308 + location: /y | POST /y + content-type: application/x-www-form-urlencoded + body: x=1
        POST http://a/\nContent-Type: text/plain\nOPTIONS\n`x`\n | 303 + location: /y | GET /y + content-type: text/plain + body:\u{20}
        POST http://a/\nOPTIONS\nheader: content-type: text/plain\n`x`\n | 303 + location: /y | GET /y + content-type: text/plain + body:\u{20}
        // Fields and the user stay, but not the query.
        GET http://a/x?one=1\nX-Trace: 7\nOPTIONS\nuser: bob:secret\n[Query]\ntwo: 2\n | 302 + location: y | GET /y + x-trace: 7 + authorization: Basic Ym9iOnNlY3JldA==
        // A location may have a user.
        GET http://a/\nOPTIONS\n | 302 + location: http://u:p@a/y | GET /y + authorization: Basic dTpw
        GET http://a/\nAuthorization: Bearer x\nOPTIONS\n | 302 + location: http://u:p@A:80/y | GET /y + authorization: Bearer x
    "#,
    ) {
        assert_eq!(followed(lines, first).like(expected), expected, "{lines}");
    }
}

#[test]
fn only_a_location_of_a_status_from_300_to_399_is_followed() {
    let text = "GET http://a/\n[Options]\nlocation: true\nHTTP *\n";
    for status in [200, 201, 400] {
        client(text).talk(&[&format!("GET / | {status} + location: /y"), "end"]);
    }
    client(text).talk(&["GET / | 302", "end"]);
}

#[test]
fn a_location_may_be_utf_8_or_latin_1() {
    for location in ["/\u{e9}".as_bytes(), b"/\xe9"] {
        let first = Given::from("302").field("location", location);
        assert_eq!(followed("GET http://a/\nOPTIONS\n", first).path, "/%C3%A9");
    }
}

#[test]
fn without_the_option_nothing_is_followed() {
    let text = "GET http://a/\n[Options]\nlocation: {{on}}\nlocation-trusted: {{trusted}}\nHTTP 302\n[Asserts]\nredirects count == 0\n";
    for (on, trusted, next) in [
        ("false", "false", "end"),
        ("true", "false", "GET /y"),
        ("false", "true", "GET /y"),
    ] {
        let variables = [("on", on), ("trusted", trusted)];
        client_with(text, &variables).talk(&["GET / | 302 + location: /y", next]);
    }
}

#[test]
fn the_last_response_is_checked_and_knows_the_redirects() {
    let text = "GET http://a/x/\n[Options]\nlocation: true\nHTTP 200\n[Captures]\nwhere: redirects nth 0 location\n\
                [Asserts]\nstatus == 200\nurl == \"http://a/z?q\"\nredirects count == 2\n\
                redirects nth 0 location == \"http://a/x/y\"\nredirects nth 1 location == \"http://a/z?q\"\n\
                header \"location\" not exists\nbody == \"done\"\nGET {{where}}\n";
    let mut client = client(text);
    assert_eq!(client.exchange("302 + location: y + x: 1").keep, Keep::All);
    client.talk(&[
        "GET /x/y | 307 + location: http://a/z?q",
        "GET /z?q | 200 + body: done",
        "GET /x/y | 200",
        "end",
    ]);
}

#[test]
fn a_wrong_last_response_names_its_assert() {
    let text = "GET http://a/\n[Options]\nlocation: true\nHTTP 200\n[Asserts]\nredirects count == 1\nredirects nth 0 == 3\nbody location exists\n";
    client(text).talk(&[
        "GET / | 302 + location: /y",
        "GET /y | 200 | WrongBody test.hurl:7:0: Assert failure: actual: http response <Response(location=http://a/y, status=302)> expected: integer <3> (and 1 more)",
        "begin",
        "GET / | 302 + location: /y",
        "GET /y | 404 | WrongStatus test.hurl:4:6: Assert status code: actual value is <404>",
    ]);
}

#[test]
fn cookies_of_redirects_are_sent_on_the_way_with_those_of_the_entry() {
    for lines in ["", "X: {{v}}\n"] {
        let text = format!(
            "POST http://a/login\n{lines}[Options]\nlocation: true\n[Cookies]\nfruit: lemon\nHTTP 200\nGET http://a/next\n"
        );
        let flow = [
            "POST /login + cookie: fruit=lemon | 302 + location: /admin/home + set-cookie: sid=1; Path=/",
            "GET /admin/home + cookie: sid=1; fruit=lemon | 302 + location: /shop + set-cookie: role=x; Path=/admin + set-cookie: sid=2; Path=/",
            "GET /shop + cookie: sid=2; fruit=lemon | 200",
            "GET /next + cookie: sid=2 | 200",
            "end",
            "begin",
        ];
        client_with(&text, &[("v", "1")]).talk(&[flow, flow].concat());
    }
}

#[test]
fn one_entry_keeps_cookies_for_its_redirects() {
    let mut client = client("GET http://a/\n[Options]\nlocation: true\n");
    let first = client.exchange("302 + location: /y + set-cookie: sid=1");
    assert_eq!(first.keep, Keep::Head);
    client.talk(&["GET /y + cookie: sid=1"]);
}

#[test]
fn the_number_of_redirects_is_limited() {
    for (option, most) in [
        ("", 50),
        ("max-redirs: 3\n", 3),
        ("max-redirs: 0\n", 0),
        ("max-redirs: {{most}}\n", 2),
        ("max-redirs: -1\n", 1000),
        ("max-redirs: 5000\n", 1000),
    ] {
        let text = format!("GET http://a/loop\n[Options]\nlocation: true\n{option}");
        let redirect = "GET /loop | 302 + location: /loop";
        let last =
            format!("{redirect} | WrongStatus test.hurl:1:5: HTTP connection: too many redirect");
        let mut lines = vec![redirect; most];
        lines.push(&last);
        client_with(&text, &[("most", "2")]).talk(&lines);
    }
}

#[test]
fn a_redirect_to_another_server_ends_the_flow() {
    for [location, reason] in rows(
        "http://b/x | http://b/x is on another server than http://a; a load needs one server
        //a:81/x | http://a:81/x is on another server than http://a; a load needs one server
        https://a/x | https://a/x is on another server than http://a; a load needs one server
        ftp://a/x | `ftp` is not supported: Prony loads http:// and https:// URLs",
    ) {
        let reason = format!("WrongStatus test.hurl:1:1: the response redirects, but {reason}");
        client("GET http://a/\n[Options]\nlocation: true\nGET http://a/2\n").talk(&[
            &format!("GET / | 302 + location: {location} | {reason}"),
            "begin",
            "GET /",
        ]);
    }
}

#[test]
fn a_retry_and_a_repetition_begin_with_the_first_request() {
    let text = "POST http://a/job\n[Options]\nlocation: true\nretry: 2\nretry-interval: 30ms\nrepeat: 2\ndelay: 5ms\n\
                `x`\nHTTP 200\n[Asserts]\nredirects count == 1\n";
    client(text).talk(&[
        "POST /job + body: x + pause: 5ms | 303 + location: /state",
        "GET /state + pause: 0ns | 500",
        "POST /job + body: x + pause: 30ms | 303 + location: /state",
        "GET /state + pause: 0ns | 200",
        "POST /job + body: x + pause: 5ms | 303 + location: /state",
        "GET /state + pause: 0ns | 200",
        "end",
    ]);
}

#[test]
fn a_flow_that_ended_in_the_middle_of_redirects_does_not_change_the_next_one() {
    let text =
        "GET http://a/\n[Options]\nlocation: true\nHTTP 200\n[Asserts]\nredirects count == 0\n";
    client(text).talk(&[
        "GET / | 302 + location: /y",
        "GET /y", // A timeout ends it.
        "begin",
        "GET / | 200",
        "end",
    ]);
}

#[test]
fn an_entry_is_one_row_with_its_method() {
    let scenario = scenario("POST http://a/login\n[Options]\nlocation: true\n");
    let entries = scenario.entries().iter();
    let names: Vec<&str> = entries.map(|it| it.name()).collect();
    assert_eq!(names, ["POST /login"]);
}
