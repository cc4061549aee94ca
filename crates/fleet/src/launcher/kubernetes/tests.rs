use std::os::unix::process::ExitStatusExt;

use prony_testkit::starts_with;

use super::pod::State;
use super::*;

#[test]
fn a_launch_without_an_image_says_how_to_get_one() {
    let launch = Launch {
        agents: 3,
        id: "f",
        interrupt: &false.into(),
    };
    let kubernetes = Kubernetes::default();
    let LaunchError(error) = kubernetes.launch(&launch).err().unwrap();
    starts_with(&error, "no image of the agent is set: build one");
}

fn sight(uid: &str, state: State) -> Sight {
    Sight {
        agent: 1,
        uid: uid.into(),
        pod: "prony-f-1-x".into(),
        node: None,
        state,
    }
}

#[test]
fn an_agent_whose_pod_ends_or_is_replaced_is_lost() {
    let pods = ["u0".to_owned(), "u1".to_owned()];
    let ended = |reason: &str| {
        let reason = reason.to_owned();
        let agent = Some(1);
        Some(Event::Ended { agent, reason })
    };
    let evicted = State::Ended("evicted".into());
    assert_eq!(lost(&sight("u1", evicted), &pods), ended("evicted"));
    assert_eq!(lost(&sight("u1", State::Running), &pods), None);
    let restarted = ended("Kubernetes restarted it: something deleted its pod");
    assert_eq!(lost(&sight("u2", State::Waiting), &pods), restarted);
    assert_eq!(lost(&sight("u1", State::Running), &pods[..1]), None);
}

#[test]
fn the_end_of_a_connection_has_the_words_of_kubectl() {
    let end = |said, code| end_of_connection(said, ExitStatus::from_raw(code << 8));
    let expected = "the connection to it is lost: unexpected EOF";
    assert_eq!(end("error: unexpected EOF", 1), expected);
    let expected = "the connection to it is lost: kubectl ended (exit status: 1)";
    assert_eq!(end("", 1), expected);
    assert_eq!(end("", 0), "the connection to it was closed");
}

#[test]
fn a_missing_right_to_attach_is_named_at_once() {
    let forbidden = r#"Error from server (Forbidden): pods "p" is forbidden: User "u" cannot create resource "pods/attach" in API group "" in the namespace "load""#;
    assert!(Words.may_be_reason(forbidden) && !Words.may_be_reason("a line of the agent"));
    let expected =
        "Kubernetes gives this user no right to `create` `pods/attach` in the namespace `load`; ";
    let (began, status) = (Instant::now(), ExitStatus::from_raw(1 << 8));
    starts_with(&Words.ended(Some(1), status, forbidden), expected);
    assert!(began.elapsed() < REASON);
}
