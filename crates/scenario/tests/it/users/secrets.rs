//! No message shows a secret.

use prony_load::Scenario;
use prony_scenario::{HurlScenario, Secrets, Sources};

use crate::users::{Client, Given, refusal, scenario, scenario_of};

fn with_secrets(text: &str, secrets: &[&str]) -> prony_scenario::HurlScenario {
    let mut sources = Sources::default();
    for (number, secret) in secrets.iter().enumerate() {
        sources.set_secret(&format!("s{number}"), secret).unwrap();
    }
    scenario_of(text, sources)
}

/// The reason why an echo of these secrets is rejected.
fn echoed(secrets: &[&str], body: &str) -> String {
    let text = "GET http://a/{{s0}}\nHTTP 200\n[Asserts]\nbody == \"x\"\n";
    let scenario = with_secrets(text, secrets);
    let mut client = Client::of(&scenario);
    client.sends();
    client.rejects(&Given::ok(body)).detail
}

#[test]
fn a_rejection_has_no_secret() {
    let told = echoed(&["sesame2"], "you are sesame2, sesame2");
    assert!(told.contains("<you are ***, ***>"), "{told}");
}

#[test]
fn a_secret_with_white_space_is_hidden_although_the_message_is_one_line() {
    for secret in ["two  words", "a\ttab", "two\nlines"] {
        let told = echoed(&[secret], &format!("-{secret}-"));
        assert!(told.contains("<-***->"), "{told}");
    }
}

#[test]
fn a_secret_in_another_one_does_not_leave_its_rest() {
    for secrets in [["pass", "password"], ["password", "pass"]] {
        let told = echoed(&secrets, "-password-pass-");
        assert!(told.contains("<-***-***->"), "{told}");
    }
}

#[test]
fn a_secret_that_a_long_message_cuts_is_hidden() {
    for before in 340..420 {
        let told = echoed(
            &["0123456789"],
            &format!("{}0123456789", "x".repeat(before)),
        );
        assert!(!told.contains("01"), "{before}: {told}");
    }
}

#[test]
fn a_secret_in_json_and_in_a_url_is_hidden() {
    let told = echoed(&["a\"b\""], "[\"a\\\"b\\\"\"]");
    assert!(told.contains("<[\"***\"]>"), "{told}");
    let told = echoed(&["a b"], "http://a/a%20b?x=a%20b");
    assert!(told.contains("<http://a/***?x=***>"), "{told}");
}

/// The reason why the second response of a flow is rejected, which shows the credentials of the first request.
fn echoed_credentials(text: &str, sources: Sources, sent: &str) -> String {
    let text = format!("{text}HTTP 200\nGET http://a/next\nHTTP 200\n[Asserts]\nbody == \"x\"\n");
    let mut client = Client::new(scenario_of(&text, sources));
    client.user.begin();
    assert_eq!(client.sends().field("authorization"), Some(sent));
    client.takes(&Given::ok(""));
    client.sends();
    client.rejects(&Given::ok(format!("<{sent}>"))).detail
}

#[test]
fn credentials_with_a_secret_are_hidden_in_base64() {
    let sent = "Basic YW5uOnN3b3JkZmlzaDEyMw==";
    for text in [
        "GET http://a/\n[BasicAuth]\nann: {{s}}\n",
        "GET http://a/\n[BasicAuth]\n{{name}}: {{s}}\n",
        "GET http://a/\n[Options]\nuser: ann:{{s}}\n",
        "GET http://ann:{{s}}@a/\n",
    ] {
        let mut sources = Sources::default();
        sources.set_secret("s", "swordfish123").expect("a name");
        // Such a request is not the same in all flows.
        if text.contains("name") {
            let folder = tempfile::tempdir().unwrap();
            let rows = folder.path().join("rows.csv");
            std::fs::write(&rows, "name\nann\n").unwrap();
            sources.add_file(&rows).unwrap();
        }
        let told = echoed_credentials(text, sources, sent);
        assert!(told.contains("<<Basic ***>>"), "{text}{told}");
    }
    // Too short to be found within other base64.
    let mut sources = Sources::default();
    sources.set_secret("s", "pw").expect("a name");
    let text = "GET http://a/\n[BasicAuth]\nann: {{s}}\n";
    let told = echoed_credentials(text, sources, "Basic YW5uOnB3");
    assert!(told.contains("<<Basic ***>>"), "{told}");
}

#[test]
fn a_part_of_a_variable_is_hidden_if_it_is_a_given_secret() {
    let text = "GET http://a/{{token}}\nHTTP 200\n[Asserts]\nbody == \"x\"\n";
    let mut secrets = Secrets::default();
    secrets.add("swordfish");
    let mut sources = Sources::default();
    sources
        .set_secret("token", "Bearer swordfish")
        .expect("a name");
    let scenario = HurlScenario::hiding(secrets, "a.hurl", text, sources).unwrap();
    let mut client = Client::of(&scenario);
    client.sends();
    let told = client.rejects(&Given::ok("c3dvcmRmaXNo swordfish")).detail;
    assert!(told.contains("<*** ***>"), "{told}");
}

#[test]
fn debugging_shows_no_secret() {
    let text = "GET http://a/{{s0}}\n[BasicAuth]\nann: {{s0}}\n";
    let mut sources = Sources::default();
    sources.set_secret("s0", "sesame2").expect("a name");
    let shown = format!("{sources:?} {:?}", scenario_of(text, sources.clone()));
    assert!(shown.contains("test.hurl"), "{shown}");
    assert!(!shown.contains("sesame2"), "{shown}");
}

#[test]
fn an_empty_secret_changes_nothing() {
    let text = "GET http://a/\nHTTP 200\n[Asserts]\nbody == \"x\"\n";
    let scenario = with_secrets(text, &[""]);
    let mut client = Client::of(&scenario);
    client.sends();
    let told = client.rejects(&Given::ok("abc")).detail;
    assert!(told.contains("<abc>"), "{told}");
}

#[test]
fn a_redacted_capture_is_a_secret() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\ntoken: jsonpath \"$.token\" redact\n\
                GET http://a/\nAuthorization: Bearer {{token}}\nHTTP 200\n[Asserts]\nbody == \"x\"\n";
    let mut client = Client::new(scenario(text));
    for token in ["first-token", "other-token"] {
        client.user.begin();
        client.exchange(&Given::ok(format!("{{\"token\": \"{token}\"}}")));
        let sent = client.sends();
        assert_eq!(
            sent.field("authorization"),
            Some(&*format!("Bearer {token}"))
        );
        let told = client.rejects(&Given::ok(format!("no {token}"))).detail;
        assert!(told.contains("<no ***>"), "{told}");
    }
}

#[test]
fn a_flow_that_cannot_go_on_says_no_secret() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nv: body\nGET http://{{v}}/{{s0}}\n";
    let scenario = with_secrets(text, &["sesame2"]);
    let mut client = Client::of(&scenario);
    client.exchange(&Given::ok("b"));
    let reason = client.fails();
    assert!(
        reason.contains("http://b/*** is on another server"),
        "{reason}"
    );
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
        let mut sources = Sources::default();
        sources.set_secret("s0", "sesame 2").expect("a name");
        let told = refusal(text, sources);
        assert!(!told.contains("sesame"), "{text}{told}");
    }
}

#[test]
fn names_of_entries_have_no_secret() {
    let scenario = with_secrets("GET http://a/{{s0}}\n", &["sesame2"]);
    assert_eq!(scenario.entries()[0].name(), "GET /{{s0}}");
}
