//! Cookies: what a user keeps during a flow.

use crate::users::{Client, client, scenario};

const TWO: &str = "GET http://a/login\nGET http://a/next\n";

#[test]
fn a_cookie_goes_to_later_requests_of_the_flow_to_its_path() {
    let text = "GET http://a/login\nGET http://a/admin/x\nGET http://a/other\n[Cookies]\na: 1\n";
    client(text).talk(&[
        "GET /login + cookie: none | 200 + set-cookie: s=1; Path=/admin",
        "GET /admin/x + cookie: s=1 | 200",
        "GET /other + cookie: a=1 | 200",
        "end",
        "begin",
        "GET /login + cookie: none | 200 + set-cookie: s=2; Path=/",
        "GET /admin/x + cookie: s=2 | 200",
        "GET /other + cookie: s=2; a=1 | 200",
        "end",
        "begin",
        "GET /login + cookie: none | 200",
        "GET /admin/x + cookie: none | 200",
        "GET /other + cookie: a=1 | 200",
    ]);
}

#[test]
fn a_flow_that_ends_early_leaves_no_cookie() {
    let text = "GET http://a/1\nHTTP 200\nGET http://a/2\nHTTP 200\n";
    client(text).talk(&[
        "GET /1 | 500 + set-cookie: s=1; Path=/ | WrongStatus test.hurl:2:6: Assert status code: actual value is <500>",
        "begin",
        "GET /1 + cookie: none",
    ]);
}

#[test]
fn users_have_cookies_of_their_own() {
    let scenario = scenario(TWO);
    let (mut one, mut two) = (Client::of(&scenario), Client::of(&scenario));
    one.talk(&["GET /login | 200 + set-cookie: s=1; Path=/"]);
    two.talk(&["GET /login | 200"]);
    one.talk(&["GET /next + cookie: s=1"]);
    two.talk(&["GET /next + cookie: none"]);
}

#[test]
fn cookies_of_the_file_follow_those_that_are_kept() {
    let mut client = client(&format!("{TWO}[Cookies]\nown: 2\n"));
    client.exchange("200 + set-cookie: kept=1; Path=/ + set-cookie: more=3");
    let fields = client.sends().fields;
    let cookies: Vec<_> = fields
        .iter()
        .filter(|it| it.starts_with("cookie:"))
        .collect();
    assert_eq!(cookies, ["cookie: kept=1; more=3; own=2"]);
    // The prepared request has not changed.
    client.talk(&["begin", "GET /login | 200", "GET /next + cookie: own=2"]);
}

#[test]
fn cookies_of_one_entry_that_is_sent_again_are_kept() {
    for (options, status) in [("repeat: 2", 200), ("retry: 1\nretry-interval: 0", 503)] {
        let text = format!("GET http://a/\n[Options]\n{options}\nHTTP 200\n");
        let first = format!("GET / | {status} + set-cookie: s=1");
        client(&text).talk(&[&first, "GET / + cookie: s=1"]);
    }
}
