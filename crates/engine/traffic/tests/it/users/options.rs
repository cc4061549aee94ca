//! Options of entries.

use std::time::Duration;

use crate::users::{Given, Sent, client, client_with, paths, sent};

const MS: Duration = Duration::from_millis(1);

/// What an entry with these options sends, and another one.
fn with(options: &str) -> Vec<Sent> {
    let text = format!("GET http://a/1\n[Options]\n{options}\nGET http://a/2\n");
    sent(&text, &[("no", "false"), ("n", "2")])
}

#[test]
fn an_entry_is_skipped_or_repeated() {
    for (options, expected) in [
        ("skip: true", &["/2"][..]),
        ("skip: false", &["/1", "/2"]),
        ("repeat: 0", &["/2"]),
        ("repeat: 3", &["/1", "/1", "/1", "/2"]),
        ("skip: {{no}}\nrepeat: {{n}}", &["/1", "/1", "/2"]),
    ] {
        assert_eq!(paths(&with(options)), expected, "{options}");
    }
}

#[test]
fn an_option_may_depend_on_a_response() {
    let text = "GET http://a/1\nHTTP 200\n[Captures]\nn: jsonpath \"$.n\"\nno: jsonpath \"$.no\"\n\
                GET http://a/2\n[Options]\nrepeat: {{n}}\nGET http://a/3\n[Options]\nskip: {{no}}\n";
    let mut client = client(text);
    let all = client.flow(Given::ok("{\"n\": 2, \"no\": true}"));
    assert_eq!(paths(&all), ["/1", "/2", "/2"]);
    let all = client.flow(Given::ok("{\"n\": 1, \"no\": false}"));
    assert_eq!(paths(&all), ["/1", "/2", "/3"]);
    client.talk(&[
        "begin",
        "GET /1 | 200 + body: {\"n\": \"many\", \"no\": true}",
    ]);
    let reason = client.fails();
    assert!(reason.starts_with("test.hurl:8:"), "{reason}");
}

#[test]
fn an_entry_is_tried_again_until_its_response_is_as_expected() {
    let text = "GET http://a/1\n[Options]\nretry: 2\nretry-interval: 30ms\ndelay: 5ms\nHTTP 200\nGET http://a/2\n";
    client(text).talk(&[
        "GET /1 + pause: 5ms | 503",
        "GET /1 + pause: 30ms | 503",
        "GET /1 + pause: 30ms | 200",
        "GET /2",
        // The next flow may try as often.
        "begin",
        "GET /1 | 503",
        "GET /1 | 503",
        "GET /1 | 503 | WrongStatus test.hurl:6:6: Assert status code: actual value is <503>",
    ]);
}

#[test]
fn an_entry_that_is_tried_and_repeated_has_its_attempts_each_time() {
    let text = "GET http://a/1\n[Options]\nretry: 1\nretry-interval: 1\nrepeat: 2\nHTTP 200\n";
    let attempts = ["GET /1 | 503", "GET /1 | 200"];
    client(text).talk(&[&attempts[..], &attempts, &["end"]].concat());
}

#[test]
fn an_entry_may_be_tried_without_end() {
    let text = "GET http://a/1\n[Options]\nretry: -1\nHTTP 200\n";
    let mut lines = ["GET /1 + pause: 1s | 503"; 50];
    lines[0] = "GET /1 + pause: 0ns | 503";
    client(text).talk(&lines);
}

#[test]
fn an_attempt_reads_the_variables_again() {
    let text = "GET http://a/{{n}}\n[Options]\nretry: 1\nretry-interval: 0\nHTTP 200\n[Captures]\nn: header \"n\"\n\
                [Asserts]\nbody == \"done\"\n";
    client_with(text, &[("n", "0")]).talk(&[
        "GET /0 | 200 + N: 1 + body: more",
        "GET /1 | 200 + N: 2 + body: done",
        "end",
    ]);
}

#[test]
fn delays_and_time_limits_have_units() {
    for (option, pause, timeout) in [
        ("delay: 20", 20, None),
        ("delay: 20ms", 20, None),
        ("delay: 2s", 2000, None),
        ("delay: 1m", 60_000, None),
        ("max-time: 250ms", 0, Some(250)),
        ("max-time: 250", 0, Some(250)),
        // As for curl, zero is no limit.
        ("max-time: 0", 0, None),
        ("max-time: 3s\nrepeat: 2\ndelay: 1s", 1000, Some(3000)),
    ] {
        let all = with(option);
        let (last, repeated) = all.split_last().unwrap();
        let expected = (pause * MS, timeout.map(|it| it * MS));
        for sent in repeated {
            assert_eq!((sent.pause, sent.timeout), expected, "{option}");
        }
        assert_eq!(
            (last.pause, last.timeout),
            (Duration::ZERO, None),
            "{option}"
        );
    }
}

#[test]
fn options_set_variables_for_this_entry_and_later_ones_of_the_flow() {
    let text = "GET http://a/{{v}}\nGET http://a/{{v}}\n[Options]\nvariable: v=one\nGET http://a/{{v}}\n\
                GET http://a/{{v}}\n[Options]\nvariable: w=two\nvariable: v={{w}}\n";
    let flow = [
        "GET /given | 200",
        "GET /one | 200",
        "GET /one | 200",
        "GET /two | 200",
        "end",
        "begin",
    ];
    client_with(text, &[("v", "given")]).talk(&[flow, flow].concat());
}

#[test]
fn options_change_header_fields() {
    let all = sent(
        "GET http://a/\nA: 1\nB: 2\n[Options]\nheader: C: {{v}}:4\nno-header: b\n\
         GET http://a/\n[Options]\nuser: u:secret\ncompressed: true\n\
         GET http://a/\nAuthorization: own\nAccept-Encoding: br\n[Options]\nuser: u:p\ncompressed: true\n\
         GET http://a/\nX: 1\nX: 2\n[Options]\nheader: X: 3\n",
        &[("v", "3")],
    );
    let codings = format!("accept-encoding: {}", prony_traffic::ALL_CODINGS);
    let is_own =
        |line: &&String| !line.starts_with("accept: ") && !line.starts_with("user-agent: ");
    let fields =
        |sent: &Sent| Vec::from_iter(sent.fields.iter().filter(is_own).cloned()).join("\n");
    let expected = [
        "a: 1\nc: 3:4",
        &format!("{codings}\nauthorization: Basic dTpzZWNyZXQ="),
        "authorization: own\naccept-encoding: br",
        "x: 1\nx: 2\nx: 3",
    ];
    assert_eq!(all.iter().map(fields).collect::<Vec<_>>(), expected);
}
