//! A server whose accept queue overflows: Prony shows what the kernel counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::load::{Folder, loaded, schema};
use prony_testkit::contains;
use prony_testkit::slow_acceptor::{acceptor, slow_acceptor};

/// How the explanation continues after the counts.
const OVERFLOWED: &str = "the server's accept queue overflowed";

#[test]
fn a_second_of_latency_is_explained_by_retransmitted_syns() {
    let url = format!("http://{}/", slow_acceptor());
    let (ended, result) = loaded(format!("--rate 80/s --no-keepalive -d500ms {url}"));
    let tcp = &result["tcp"];
    assert!(tcp["retransmitted_syns"].as_u64() > Some(0), "{tcp}");
    assert!(tcp["accept_queue_overflows"].as_u64() > Some(0), "{tcp}");
    let because = result["slow_because"].as_str().unwrap();
    contains(because, "sent again after waiting 1 s or longer");
    contains(because, OVERFLOWED);
    let mut lines = ended.stdout.lines();
    let line = lines.find(|line| line.contains(because)).unwrap();
    assert!(line.trim_start().starts_with('p'), "{line}");
    contains(line, " of ");
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
    // One SYN that is sent again after 1 s breaks this bound, but no load is cut short because of it.
    let search =
        "--find-capacity --objective mean<1ms --warmup 50ms -d240ms --budget 10s --arrivals even";
    let folder = Folder::new();
    let mut running = folder.start(format!(
        "{search} --no-keepalive -t1 -c8 --timeout 2s http://{address}/"
    ));
    // The first guess is of a fast server, so the rates that follow are certainly too high for the slow one, however
    // busy the machine is.
    running.await_stderr("closed loop");
    socket.listen(1).unwrap();
    is_slow.store(true, SeqCst);
    let ended = running.end();
    let result = schema::valid("capacity", &folder.read("result.json"));
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
    ended.prints(OVERFLOWED).says(OVERFLOWED);
}
