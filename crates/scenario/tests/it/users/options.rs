//! Options of entries.

use std::time::Duration;

use prony_model::Outcome;

use crate::users::{Client, Given, Sent, scenario, scenario_with, sent};

const MS: Duration = Duration::from_millis(1);

/// What an entry with these options sends.
fn with(options: &str) -> Vec<Sent> {
    sent(
        &format!("GET http://a/1\n[Options]\n{options}\nGET http://a/2\n"),
        &[],
    )
}

fn paths(all: &[Sent]) -> Vec<&str> {
    all.iter().map(|sent| sent.path.as_str()).collect()
}

#[test]
fn an_entry_is_skipped_or_repeated() {
    assert_eq!(paths(&with("skip: true")), ["/2"]);
    assert_eq!(paths(&with("skip: false")), ["/1", "/2"]);
    assert_eq!(paths(&with("repeat: 0")), ["/2"]);
    assert_eq!(paths(&with("repeat: 3")), ["/1", "/1", "/1", "/2"]);
    let text = "GET http://a/1\n[Options]\nskip: {{no}}\nrepeat: {{n}}\nGET http://a/2\n";
    let all = sent(text, &[("no", "false"), ("n", "2")]);
    assert_eq!(paths(&all), ["/1", "/1", "/2"]);
}

#[test]
fn an_option_may_depend_on_a_response() {
    let text = "GET http://a/1\nHTTP 200\n[Captures]\nn: jsonpath \"$.n\"\nno: jsonpath \"$.no\"\n\
                GET http://a/2\n[Options]\nrepeat: {{n}}\nGET http://a/3\n[Options]\nskip: {{no}}\n";
    let mut client = Client::new(scenario(text));
    let all = client.flow(&Given::ok("{\"n\": 2, \"no\": true}"));
    assert_eq!(paths(&all), ["/1", "/2", "/2"]);
    let all = client.flow(&Given::ok("{\"n\": 1, \"no\": false}"));
    assert_eq!(paths(&all), ["/1", "/2", "/3"]);
    client.user.begin();
    client.exchange(&Given::ok("{\"n\": \"many\", \"no\": true}"));
    let reason = client.fails();
    assert!(reason.starts_with("test.hurl:8:"), "{reason}");
}

#[test]
fn an_entry_is_tried_again_until_its_response_is_as_expected() {
    let text = "GET http://a/1\n[Options]\nretry: 2\nretry-interval: 30ms\ndelay: 5ms\nHTTP 200\nGET http://a/2\n";
    let mut client = Client::new(scenario(text));
    assert_eq!(client.sends().pause, 5 * MS);
    client.takes(&Given::status(503));
    let again = client.sends();
    assert_eq!((again.path.as_str(), again.pause), ("/1", 30 * MS));
    client.takes(&Given::status(503));
    assert_eq!(client.sends().pause, 30 * MS);
    client.takes(&Given::status(200));
    assert_eq!(client.sends().path, "/2");
    // The next flow may try as often.
    client.user.begin();
    for _ in 0..2 {
        assert_eq!(client.sends().path, "/1");
        client.takes(&Given::status(503));
    }
    client.sends();
    assert_eq!(
        client.rejects(&Given::status(503)).outcome,
        Outcome::WrongStatus
    );
}

#[test]
fn an_entry_that_is_tried_and_repeated_has_its_attempts_each_time() {
    let text = "GET http://a/1\n[Options]\nretry: 1\nretry-interval: 1\nrepeat: 2\nHTTP 200\n";
    let mut client = Client::new(scenario(text));
    for _ in 0..2 {
        client.exchange(&Given::status(503));
        client.exchange(&Given::status(200));
    }
    client.ends();
}

#[test]
fn an_entry_may_be_tried_without_end() {
    let mut client = Client::new(scenario("GET http://a/1\n[Options]\nretry: -1\nHTTP 200\n"));
    for number in 0..50 {
        let pause = if number == 0 {
            Duration::ZERO
        } else {
            1000 * MS
        };
        assert_eq!(client.sends().pause, pause);
        client.takes(&Given::status(503));
    }
}

#[test]
fn an_attempt_reads_the_variables_again() {
    let text = "GET http://a/{{n}}\n[Options]\nretry: 1\nretry-interval: 0\nHTTP 200\n[Captures]\nn: header \"n\"\n\
                [Asserts]\nbody == \"done\"\n";
    let mut client = Client::new(scenario_with(text, &[("n", "0")]));
    assert_eq!(client.sends().path, "/0");
    client.takes(&Given::ok("more").field("N", "1"));
    assert_eq!(client.sends().path, "/1");
    client.takes(&Given::ok("done").field("N", "2"));
    client.ends();
}

#[test]
fn delays_and_time_limits_have_units() {
    for (value, expected) in [
        ("20", 20 * MS),
        ("20ms", 20 * MS),
        ("2s", 2000 * MS),
        ("1m", 60_000 * MS),
    ] {
        assert_eq!(
            with(&format!("delay: {value}"))[0].pause,
            expected,
            "{value}"
        );
    }
    let all = with("max-time: 3s\nrepeat: 2\ndelay: 1s");
    let times: Vec<_> = all.iter().map(|it| (it.pause, it.timeout)).collect();
    let of_first = (1000 * MS, Some(3000 * MS));
    assert_eq!(times, [of_first, of_first, (Duration::ZERO, None)]);
    assert_eq!(with("max-time: 250ms")[0].timeout, Some(250 * MS));
    assert_eq!(with("max-time: 250")[0].timeout, Some(250 * MS));
    // As for curl, zero is no limit.
    assert_eq!(with("max-time: 0")[0].timeout, None);
}

#[test]
fn options_set_variables_for_this_entry_and_later_ones() {
    let text = "GET http://a/{{v}}\n[Options]\nvariable: v=one\nGET http://a/{{v}}\n\
                GET http://a/{{v}}\n[Options]\nvariable: w=two\nvariable: v={{w}}\n";
    let mut client = Client::new(scenario(text));
    for _ in 0..2 {
        assert_eq!(
            paths(&client.flow(&Given::status(200))),
            ["/one", "/one", "/two"]
        );
    }
}

#[test]
fn a_variable_of_an_option_is_back_in_the_next_flow() {
    let text = "GET http://a/{{v}}\nGET http://a/{{v}}\n[Options]\nvariable: v=changed\n";
    let mut client = Client::new(scenario_with(text, &[("v", "given")]));
    for _ in 0..2 {
        assert_eq!(
            paths(&client.flow(&Given::status(200))),
            ["/given", "/changed"]
        );
    }
}

#[test]
fn options_change_header_fields() {
    let all = sent(
        "GET http://a/\nA: 1\nB: 2\n[Options]\nheader: C: {{v}}:4\nno-header: b\n\
         GET http://a/\n[Options]\nuser: u:secret\ncompressed: true\n\
         GET http://a/\nAuthorization: own\nAccept-Encoding: br\n[Options]\nuser: u:p\ncompressed: true\n",
        &[("v", "3")],
    );
    assert_eq!(all[0].fields, ["a: 1", "c: 3:4"]);
    assert_eq!(all[1].field("authorization"), Some("Basic dTpzZWNyZXQ="));
    assert_eq!(
        all[1].field("accept-encoding"),
        Some(prony_load::ALL_CODINGS)
    );
    assert_eq!(all[2].fields, ["authorization: own", "accept-encoding: br"]);
}

#[test]
fn every_field_of_a_name_is_kept() {
    let all = sent("GET http://a/\nX: 1\nX: 2\n[Options]\nheader: X: 3\n", &[]);
    assert_eq!(all[0].fields, ["x: 1", "x: 2", "x: 3"]);
}
