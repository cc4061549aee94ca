//! Cookies: what a user keeps during a flow.

use crate::users::{Client, Given, scenario, sent};

const TWO: &str = "GET http://a/login\nGET http://a/next\n";

fn setting(cookie: &str) -> Given {
    Given::status(200).field("Set-Cookie", cookie)
}

#[test]
fn a_cookie_goes_to_later_requests_of_the_flow_alone() {
    let mut client = Client::new(scenario(TWO));
    for number in 0..3 {
        let (first, second) = {
            let first = client.exchange(&setting(&format!("s={number}; Path=/")));
            (first, client.sends())
        };
        assert_eq!(first.field("cookie"), None, "flow {number}");
        assert_eq!(second.field("cookie"), Some(&*format!("s={number}")));
        client.takes(&Given::status(200));
        client.ends();
        client.user.begin();
    }
}

#[test]
fn a_flow_that_ends_early_leaves_no_cookie() {
    let mut client = Client::new(scenario(
        "GET http://a/1\nHTTP 200\nGET http://a/2\nHTTP 200\n",
    ));
    client.sends();
    client.rejects(&Given::status(500).field("Set-Cookie", "s=1; Path=/"));
    client.user.begin();
    assert_eq!(client.sends().field("cookie"), None);
}

#[test]
fn users_have_cookies_of_their_own() {
    let scenario = scenario(TWO);
    let (mut one, mut two) = (Client::of(&scenario), Client::of(&scenario));
    one.sends();
    one.takes(&setting("s=1; Path=/"));
    two.sends();
    two.takes(&Given::status(200));
    assert_eq!(one.sends().field("cookie"), Some("s=1"));
    assert_eq!(two.sends().field("cookie"), None);
}

#[test]
fn cookies_of_the_file_follow_those_that_are_kept() {
    let text = "GET http://a/login\nGET http://a/next\n[Cookies]\nown: 2\n";
    let mut client = Client::new(scenario(text));
    client.exchange(&setting("kept=1; Path=/").field("Set-Cookie", "more=3"));
    let second = client.sends();
    assert_eq!(second.field("cookie"), Some("kept=1; more=3; own=2"));
    let cookies = second
        .fields
        .iter()
        .filter(|line| line.starts_with("cookie:"));
    assert_eq!(cookies.count(), 1);
    // The prepared request has not changed.
    client.user.begin();
    client.exchange(&Given::status(200));
    assert_eq!(client.sends().field("cookie"), Some("own=2"));
}

#[test]
fn cookies_of_one_entry_that_is_sent_again_are_kept() {
    for options in ["repeat: 2", "retry: 1\nretry-interval: 0"] {
        let text = format!("GET http://a/\n[Options]\n{options}\nHTTP 200\n");
        let mut client = Client::new(scenario(&text));
        client.sends();
        let status = if options == "repeat: 2" { 200 } else { 503 };
        let _ = client.respond(&Given::status(status).field("Set-Cookie", "s=1"));
        assert_eq!(client.sends().field("cookie"), Some("s=1"), "{options}");
    }
}

#[test]
fn a_cookie_of_another_path_is_not_sent() {
    let mut client = Client::new(scenario(
        "GET http://a/login\nGET http://a/admin/x\nGET http://a/other\n",
    ));
    client.exchange(&setting("s=1; Path=/admin"));
    assert_eq!(client.sends().field("cookie"), Some("s=1"));
    client.takes(&Given::status(200));
    assert_eq!(client.sends().field("cookie"), None);
}

#[test]
fn without_a_response_that_sets_one_there_are_only_the_cookies_of_the_file() {
    let all = sent(
        "GET http://a/\nGET http://a/\n[Cookies]\na: 1\nGET http://a/\n",
        &[],
    );
    let cookies: Vec<Option<&str>> = all.iter().map(|sent| sent.field("cookie")).collect();
    assert_eq!(cookies, [None, Some("a=1"), None]);
}
