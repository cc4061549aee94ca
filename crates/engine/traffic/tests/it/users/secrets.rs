//! No message shows a secret.

use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};
use prony_traffic::{Scenario, Secrets, Sources};

use crate::users::{Client, Given, client, refusal, scenario_of, sources};

/// Sources with these secrets: `s0`, `s1`, …
fn secret(secrets: &[&str]) -> Sources {
    sources(|it| {
        let mut secrets = secrets.iter().enumerate();
        secrets.try_for_each(|(number, secret)| it.set_secret(&format!("s{number}"), secret))
    })
}

const ECHO: &str = "GET http://a/{{s0}}\nHTTP 200\n[Asserts]\nbody == \"x\"\n";

/// The reason why an echo of these secrets is rejected.
fn echoed(secrets: &[&str], body: &str) -> String {
    Client::new(scenario_of(ECHO, secret(secrets))).rejects(Given::ok(body))
}

#[test]
fn a_rejection_has_no_secret() {
    for (secrets, body, reason) in [
        (&["sesame2"][..], "a sesame2, sesame2", "<a ***, ***>"),
        // The message is one line.
        (&["two  words"], "-two  words-", "<-***->"),
        (&["a\ttab"], "-a\ttab-", "<-***->"),
        (&["two\nlines"], "-two\nlines-", "<-***->"),
        // A secret in another one does not leave its rest.
        (&["pass", "password"], "-password-pass-", "<-***-***->"),
        (&["password", "pass"], "-password-pass-", "<-***-***->"),
        (&["a\"b\""], "[\"a\\\"b\\\"\"]", "<[\"***\"]>"),
        (&["a b"], "http://a/a%20b?x=a%20b", "<http://a/***?x=***>"),
        (&[""], "abc", "<abc>"),
    ] {
        contains(&echoed(secrets, body), reason);
    }
}

#[test]
fn a_secret_that_a_long_message_cuts_is_hidden() {
    for before in 340..420 {
        let body = "x".repeat(before) + "0123456789";
        let reason = echoed(&["0123456789"], &body);
        assert!(!reason.contains("01"), "{before}: {reason}");
    }
}

#[test]
fn credentials_with_a_secret_are_hidden_in_base64() {
    for [entry, password, sent] in rows(
        r"
        GET http://a/\n[BasicAuth]\nann: {{s0}}\n | swordfish123 | Basic YW5uOnN3b3JkZmlzaDEyMw==
        GET http://a/\n[BasicAuth]\n{{name}}: {{s0}}\n | swordfish123 | Basic YW5uOnN3b3JkZmlzaDEyMw==
        GET http://a/\n[Options]\nuser: ann:{{s0}}\n | swordfish123 | Basic YW5uOnN3b3JkZmlzaDEyMw==
        GET http://ann:{{s0}}@a/\n | swordfish123 | Basic YW5uOnN3b3JkZmlzaDEyMw==
        // Too short to be found within other base64.
        GET http://a/\n[BasicAuth]\nann: {{s0}}\n | pw | Basic YW5uOnB3
    ",
    ) {
        let mut sources = secret(&[password]);
        // A request with a name of a row is not the same in all flows.
        sources.add_csv("name\nann\n".as_bytes()).unwrap();
        let text =
            format!("{entry}HTTP 200\nGET http://a/next\nHTTP 200\n[Asserts]\nbody == \"x\"\n");
        let mut client = Client::new(scenario_of(&text, sources));
        assert_eq!(client.exchange("200").field("authorization"), Some(sent));
        let reason = client.rejects(Given::ok(format!("<{sent}>")));
        assert!(reason.contains("<<Basic ***>>"), "{entry}{reason}");
    }
}

#[test]
fn a_part_of_a_variable_is_hidden_if_it_is_a_given_secret() {
    let mut secrets = Secrets::default();
    secrets.add("swordfish");
    let sources = secret(&["Bearer swordfish"]);
    let scenario = Scenario::hiding(secrets, "a.hurl", ECHO, sources).unwrap();
    let reason = Client::new(scenario).rejects("200 + body: c3dvcmRmaXNo swordfish");
    contains(&reason, "<*** ***>");
}

#[test]
fn debugging_shows_no_secret() {
    let text = "GET http://a/{{s0}}\n[BasicAuth]\nann: {{s0}}\n";
    let scenario = scenario_of(text, secret(&["sesame2"]));
    let shown = format!("{:?} {scenario:?}", secret(&["sesame2"]));
    contains(&shown, "test.hurl");
    lacks(&shown, "sesame2");
    assert_eq!(scenario.entries()[0].name(), "GET /{{s0}}");
}

#[test]
fn a_redacted_capture_is_a_secret() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\ntoken: jsonpath \"$.token\" redact\n\
                GET http://a/\nAuthorization: Bearer {{token}}\nHTTP 200\n[Asserts]\nbody == \"x\"\n";
    let mut client = client(text);
    for token in ["first-token", "other-token"] {
        let given = format!("200 + body: {{\"token\": \"{token}\"}}");
        let next = format!("GET / + authorization: Bearer {token} | 200 + body: no {token}");
        let reason = "test.hurl:9:0: Assert failure: actual: string <no ***> expected: string <x>";
        client.talk(&["begin", &format!("GET / | {given}")]);
        client.talk(&[&format!("{next} | WrongBody {reason}")]);
    }
}

#[test]
fn a_flow_that_cannot_go_on_says_no_secret() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: body\nGET http://{{v}}/{{s0}}\n";
    let mut client = Client::new(scenario_of(text, secret(&["sesame2"])));
    client.exchange("200 + body: b");
    contains(&client.fails(), "http://b/*** is on another server");
}

#[test]
fn a_file_that_is_refused_says_no_secret() {
    for text in [
        "GET http://a/\nGET http://{{s0}}/\n",
        "GET http://{{s0}} x/\n",
        "GET ftp://{{s0}}/\n",
        "GET {{s0}}\n",
        "GET http://a/\n[Options]\nheader: {{s0}}\n",
        "GET http://a/\n{{s0}}: 1\n",
        "POST http://a/\nfile,{{s0}};\n",
    ] {
        let reason = refusal(text, secret(&["sesame 2"]));
        assert!(!reason.contains("sesame"), "{text}{reason}");
    }
}
