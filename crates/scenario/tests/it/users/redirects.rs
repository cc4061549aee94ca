//! Redirects that an entry follows.

use std::time::Duration;

use prony_load::{Keep, Scenario};
use prony_model::Outcome;

use crate::users::{Client, Given, Sent, scenario, scenario_with};

fn to(status: u16, location: &str) -> Given {
    Given::status(status).field("location", location)
}

/// What follows the first response to an entry of these lines, which follows redirects.
fn followed(lines: &str, first: &Given) -> Sent {
    let text = lines.replace("OPTIONS", "[Options]\nlocation: true");
    let mut client = Client::new(scenario(&text));
    client.exchange(first);
    client.sends()
}

#[test]
fn the_method_is_get_after_some_statuses_and_stays_after_the_others() {
    for (status, method, expected) in [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (301, "HEAD", "GET"),
        (302, "DELETE", "GET"),
        (300, "POST", "POST"),
        (304, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "DELETE", "DELETE"),
        (307, "HEAD", "HEAD"),
        (399, "POST", "POST"),
    ] {
        let text = format!("{method} http://a/x\nOPTIONS\n`body`\n");
        let next = followed(&text, &to(status, "/y?z"));
        assert_eq!(next.line(), format!("{expected} /y?z"), "{status} {method}");
        let body = if expected == method { "body" } else { "" };
        assert_eq!(next.text(), body, "{status} {method}");
        assert_eq!((next.entry, next.pause), (0, Duration::ZERO));
    }
}

#[test]
fn a_get_keeps_its_body_as_in_hurl() {
    let next = followed("GET http://a/\nOPTIONS\n{\"a\": 1}\n", &to(302, "/y"));
    assert_eq!(next.text(), "{\"a\": 1}");
    assert_eq!(next.field("content-type"), Some("application/json"));
}

#[test]
fn the_type_of_a_body_goes_with_it_unless_the_entry_gives_it() {
    let form = "POST http://a/\nOPTIONS\n[Form]\nx: 1\n";
    let next = followed(form, &to(302, "/y"));
    assert_eq!((next.field("content-type"), next.text()), (None, ""));
    let next = followed(form, &to(308, "/y"));
    let expected = Some("application/x-www-form-urlencoded");
    assert_eq!((next.field("content-type"), next.text()), (expected, "x=1"));
    for given in [
        "POST http://a/\nContent-Type: text/plain\nOPTIONS\n`x`\n",
        "POST http://a/\nOPTIONS\nheader: content-type: text/plain\n`x`\n",
    ] {
        let next = followed(given, &to(303, "/y"));
        let content = (next.field("content-type"), next.text());
        assert_eq!(content, (Some("text/plain"), ""), "{given}");
    }
}

#[test]
fn fields_and_the_user_stay_but_not_the_query() {
    let text = "GET http://a/x?one=1\nX-Trace: 7\nOPTIONS\nuser: bob:secret\n[Query]\ntwo: 2\n";
    let next = followed(text, &to(302, "y"));
    assert_eq!(next.line(), "GET /y");
    assert_eq!(next.field("x-trace"), Some("7"));
    assert_eq!(next.field("authorization"), Some("Basic Ym9iOnNlY3JldA=="));
}

#[test]
fn a_location_may_have_a_user() {
    let next = followed("GET http://a/\nOPTIONS\n", &to(302, "http://u:p@a/y"));
    assert_eq!(next.field("authorization"), Some("Basic dTpw"));
    let text = "GET http://a/\nAuthorization: Bearer x\nOPTIONS\n";
    let next = followed(text, &to(302, "http://u:p@A:80/y"));
    assert_eq!(next.field("authorization"), Some("Bearer x"));
}

#[test]
fn only_a_location_of_a_status_from_300_to_399_is_followed() {
    let text = "GET http://a/\n[Options]\nlocation: true\nHTTP *\n";
    let scenario = scenario(text);
    for given in [
        to(200, "/y"),
        to(201, "/y"),
        to(400, "/y"),
        Given::status(302),
    ] {
        let mut client = Client::of(&scenario);
        client.exchange(&given);
        client.ends();
    }
}

#[test]
fn a_location_may_be_utf_8_or_latin_1() {
    let location = |bytes: &[u8]| Given::status(302).field("location", bytes);
    for first in [location("/\u{e9}".as_bytes()), location(b"/\xe9")] {
        assert_eq!(followed("GET http://a/\nOPTIONS\n", &first).path, "/%C3%A9");
    }
}

#[test]
fn without_the_option_nothing_is_followed() {
    let text = "GET http://a/\n[Options]\nlocation: {{on}}\nlocation-trusted: {{trusted}}\nHTTP 302\n[Asserts]\nredirects count == 0\n";
    let scenario = scenario_with(text, &[("on", "false"), ("trusted", "false")]);
    let mut client = Client::of(&scenario);
    client.exchange(&to(302, "/y"));
    client.ends();
    for on in [
        [("on", "true"), ("trusted", "false")],
        [("on", "false"), ("trusted", "true")],
    ] {
        let mut client = Client::new(scenario_with(text, &on));
        client.exchange(&to(302, "/y"));
        assert_eq!(client.sends().path, "/y");
    }
}

#[test]
fn the_last_response_is_checked_and_knows_the_redirects() {
    let text = "GET http://a/x/\n[Options]\nlocation: true\nHTTP 200\n[Captures]\nwhere: redirects nth 0 location\n\
                [Asserts]\nstatus == 200\nurl == \"http://a/z?q\"\nredirects count == 2\n\
                redirects nth 0 location == \"http://a/x/y\"\nredirects nth 1 location == \"http://a/z?q\"\n\
                header \"location\" not exists\nbody == \"done\"\nGET {{where}}\n";
    let mut client = Client::new(scenario(text));
    assert_eq!(client.sends().keep, Keep::All);
    client.takes(&to(302, "y").field("x", "1"));
    assert_eq!(client.sends().path, "/x/y");
    client.takes(&to(307, "http://a/z?q"));
    assert_eq!(client.sends().path, "/z?q");
    client.takes(&Given::ok("done"));
    assert_eq!(client.sends().line(), "GET /x/y");
    client.takes(&Given::status(200));
    client.ends();
}

#[test]
fn a_wrong_last_response_names_its_assert() {
    let text = "GET http://a/\n[Options]\nlocation: true\nHTTP 200\n[Asserts]\nredirects count == 1\nredirects nth 0 == 3\nbody location exists\n";
    let mut client = Client::new(scenario(text));
    client.exchange(&to(302, "/y"));
    client.sends();
    let detail = client.rejects(&Given::status(200)).detail;
    assert_eq!(
        detail,
        "test.hurl:7:0: Assert failure: actual: http response <Response(location=http://a/y, status=302)> \
         expected: integer <3> (and 1 more)"
    );
    client.user.begin();
    client.exchange(&to(302, "/y"));
    client.sends();
    let rejection = client.rejects(&Given::status(404));
    assert_eq!(rejection.outcome, Outcome::WrongStatus);
    let expected = "test.hurl:4:6: Assert status code: actual value is <404>";
    assert_eq!(rejection.detail, expected);
}

#[test]
fn cookies_of_redirects_are_sent_on_the_way_with_those_of_the_entry() {
    for lines in ["", "X: {{v}}\n"] {
        let text = format!(
            "POST http://a/login\n{lines}[Options]\nlocation: true\n[Cookies]\nfruit: lemon\nHTTP 200\nGET http://a/next\n"
        );
        let mut client = Client::new(scenario_with(&text, &[("v", "1")]));
        for _ in 0..2 {
            assert_eq!(client.sends().field("cookie"), Some("fruit=lemon"));
            client.takes(&to(302, "/admin/home").field("set-cookie", "sid=1; Path=/"));
            let field = "sid=1; fruit=lemon";
            assert_eq!(client.sends().field("cookie"), Some(field));
            let redirect = to(302, "/shop").field("set-cookie", "role=x; Path=/admin");
            client.takes(&redirect.field("set-cookie", "sid=2; Path=/"));
            let field = "sid=2; fruit=lemon";
            assert_eq!(client.sends().field("cookie"), Some(field));
            client.takes(&Given::status(200));
            assert_eq!(client.sends().field("cookie"), Some("sid=2"));
            client.takes(&Given::status(200));
            client.ends();
            client.user.begin();
        }
    }
}

#[test]
fn one_entry_keeps_cookies_for_its_redirects() {
    let mut client = Client::new(scenario("GET http://a/\n[Options]\nlocation: true\n"));
    assert_eq!(client.sends().keep, Keep::Head);
    client.takes(&to(302, "/y").field("set-cookie", "sid=1"));
    assert_eq!(client.sends().field("cookie"), Some("sid=1"));
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
        let text = format!("GET http://a/\n[Options]\nlocation: true\n{option}");
        let mut client = Client::new(scenario_with(&text, &[("most", "2")]));
        for _ in 0..most {
            client.exchange(&to(302, "/loop"));
        }
        client.sends();
        let rejection = client.rejects(&to(302, "/loop"));
        let expected = "test.hurl:1:5: HTTP connection: too many redirect";
        assert_eq!(rejection.detail, expected, "{option}");
        assert_eq!(rejection.outcome, Outcome::WrongStatus);
    }
}

#[test]
fn a_redirect_to_another_server_ends_the_flow() {
    let scenario = scenario("GET http://a/\n[Options]\nlocation: true\nGET http://a/2\n");
    for (location, reason) in [
        (
            "http://b/x",
            "http://b/x is on another server than http://a; a load needs one server",
        ),
        (
            "//a:81/x",
            "http://a:81/x is on another server than http://a; a load needs one server",
        ),
        (
            "https://a/x",
            "https://a/x is on another server than http://a; a load needs one server",
        ),
        (
            "ftp://a/x",
            "`ftp` is not supported: Prony loads http:// and https:// URLs",
        ),
    ] {
        let mut client = Client::of(&scenario);
        client.sends();
        let rejection = client.rejects(&to(302, location));
        assert_eq!(
            rejection.detail,
            format!("test.hurl:1:1: the response redirects, but {reason}")
        );
        assert_eq!(rejection.outcome, Outcome::WrongStatus);
        client.user.begin();
        assert_eq!(client.sends().line(), "GET /");
    }
}

#[test]
fn a_retry_and_a_repetition_begin_with_the_first_request() {
    let text = "POST http://a/job\n[Options]\nlocation: true\nretry: 2\nretry-interval: 30ms\nrepeat: 2\ndelay: 5ms\n\
                `x`\nHTTP 200\n[Asserts]\nredirects count == 1\n";
    let mut client = Client::new(scenario(text));
    let ms = Duration::from_millis;
    for (pause, last) in [(5, 500), (30, 200), (5, 200)] {
        let first = client.sends();
        assert_eq!((&*first.line(), first.text()), ("POST /job", "x"));
        assert_eq!(first.pause, ms(pause));
        client.takes(&to(303, "/state"));
        let next = client.sends();
        assert_eq!((&*next.line(), next.pause), ("GET /state", ms(0)));
        client.takes(&Given::status(last));
    }
    client.ends();
}

#[test]
fn a_flow_that_ended_in_the_middle_of_redirects_does_not_change_the_next_one() {
    let mut client = Client::new(scenario(
        "GET http://a/\n[Options]\nlocation: true\nHTTP 200\n[Asserts]\nredirects count == 0\n",
    ));
    client.exchange(&to(302, "/y"));
    client.sends();
    // A timeout ends it.
    client.user.begin();
    assert_eq!(client.sends().path, "/");
    client.takes(&Given::status(200));
    client.ends();
}

#[test]
fn an_entry_is_one_row_with_its_method() {
    let scenario = scenario("POST http://a/login\n[Options]\nlocation: true\n");
    let names: Vec<&str> = scenario
        .entries()
        .iter()
        .map(|entry| entry.name())
        .collect();
    assert_eq!(names, ["POST /login"]);
}
