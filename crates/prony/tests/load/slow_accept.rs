//! A server whose accept queue overflows: Prony shows what the kernel counted.

use std::fs;

use crate::common::{run, schema};
use crate::slow_acceptor::slow_acceptor;
use crate::{load, loaded};

/// How the explanation continues after the counts.
const OVERFLOWED: &str = "the server's accept queue overflowed";

#[test]
fn a_second_of_latency_is_explained_by_retransmitted_syns() {
    let url = format!("http://{}/", slow_acceptor());
    let (stdout, result) = loaded(&["--rate", "80/s", "--no-keepalive", "-d2s", &url]);
    let tcp = &result["tcp"];
    assert!(tcp["retransmitted_syns"].as_u64() > Some(0), "{tcp}");
    assert!(tcp["accept_queue_overflows"].as_u64() > Some(0), "{tcp}");
    let because = result["slow_because"].as_str().unwrap();
    assert!(
        because.contains("sent again after waiting 1 s or longer"),
        "{because}"
    );
    assert!(because.contains(OVERFLOWED), "{because}");
    let line = stdout.lines().find(|line| line.contains(because)).unwrap();
    assert!(
        line.trim_start().starts_with('p') && line.contains(" of "),
        "{line}"
    );
}

#[test]
fn a_rate_that_fails_because_of_the_accept_queue_says_so() {
    let url = format!("http://{}/", slow_acceptor());
    let folder = tempfile::tempdir().unwrap();
    // Each response takes 25 ms or longer.
    let mut command = load(folder.path(), &["--find-capacity", "--no-keepalive", "-t1"]);
    command.args(["--slo", "p50<5ms", "--warmup", "50ms", "-d240ms", "-c80"]);
    command.args(["--budget", "20s", "--json", "result.json", &url]);
    let ended = run(command);
    let result = schema::capacity(&fs::read_to_string(folder.path().join("result.json")).unwrap());
    let attempts = result["attempts"].as_array().unwrap();
    let explained = |attempt: &&serde_json::Value| {
        let because = attempt["slow_because"].as_str();
        because.is_some_and(|because| because.contains(OVERFLOWED))
    };
    let explained: Vec<_> = attempts.iter().filter(explained).collect();
    assert!(!explained.is_empty(), "{}", ended.all());
    for attempt in explained {
        assert_ne!(attempt["verdict"], "held");
        assert!(attempt["tcp"]["accept_queue_overflows"].as_u64() > Some(0));
    }
    assert!(ended.stdout.contains(OVERFLOWED), "{}", ended.all());
    assert!(ended.stderr.contains(OVERFLOWED), "{}", ended.all());
}
