//! A server whose accept queue overflows: Prony shows what the kernel counted.

use prony_testkit::contains;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::common::{Running, schema};
use crate::load::{load, loaded};
use prony_testkit::slow_acceptor::{acceptor, slow_acceptor};

/// How the explanation continues after the counts.
const OVERFLOWED: &str = "the server's accept queue overflowed";

#[test]
fn a_second_of_latency_is_explained_by_retransmitted_syns() {
    let url = format!("http://{}/", slow_acceptor());
    let (stdout, result) = loaded(&["--rate", "80/s", "--no-keepalive", "-d500ms", &url]);
    let tcp = &result["tcp"];
    assert!(tcp["retransmitted_syns"].as_u64() > Some(0), "{tcp}");
    assert!(tcp["accept_queue_overflows"].as_u64() > Some(0), "{tcp}");
    let because = result["slow_because"].as_str().unwrap();
    contains(because, "sent again after waiting 1 s or longer");
    assert!(because.contains(OVERFLOWED), "{because}");
    let line = stdout.lines().find(|line| line.contains(because)).unwrap();
    assert!(
        line.trim_start().starts_with('p') && line.contains(" of "),
        "{line}"
    );
}

#[test]
fn a_rate_that_fails_because_of_the_accept_queue_says_so() {
    let is_slow = Arc::new(AtomicBool::new(false));
    let pause = |is_slow| Duration::from_millis(if is_slow { 100 } else { 2 });
    let socket = acceptor(128, {
        let is_slow = is_slow.clone();
        move || pause(is_slow.load(SeqCst))
    });
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let url = format!("http://{address}/");
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &["--find-capacity", "--no-keepalive", "-t1"]);
    // One SYN that is sent again after 1 s breaks this bound, but no load is cut short because of it.
    command.args(["--slo", "mean<1ms", "--warmup", "50ms", "-d240ms", "-c8"]);
    command.args(["--arrivals", "even", "--timeout", "2s", "--budget", "10s"]);
    command.args(["--json", "result.json", &url]);
    let mut running = Running::start(command);
    // The first guess is of a fast server, so the rates that follow are certainly too high for the slow one, however
    // busy the machine is.
    running.await_stderr("closed loop");
    socket.listen(1).unwrap();
    is_slow.store(true, SeqCst);
    let ended = running.end();
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
