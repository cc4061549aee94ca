//! Known work for each request: responses stay right, and take longer.

use std::time::{Duration, Instant};

use crate::common::{Client, Running, config, start_with};
use prony_reference::{Config, Work};

/// Enough to stand out from the other costs of a request on any machine.
const STEPS: u64 = 500_000;

fn server(steps: u64) -> Running {
    start_with(&Config {
        work: Work::steps(steps),
        ..config(1)
    })
}

/// The shortest of several times that this takes; other programs only make them longer.
fn shortest(mut act: impl FnMut()) -> Duration {
    let time = |_| {
        let begin = Instant::now();
        act();
        begin.elapsed()
    };
    (0..10).map(time).min().unwrap()
}

#[test]
fn responses_stay_right_whatever_the_work() {
    let (idle, busy) = (server(0), server(10_000));
    let (mut idle, mut busy) = (idle.connect(), busy.connect());
    for path in ["/hello", "/byte", "/", "/sse-20k", "/nothing"] {
        let (expected, response) = (idle.get(path), busy.get(path));
        assert_eq!(response.status, expected.status, "{path}");
        assert!(response.body == expected.body, "{path}");
    }
}

#[test]
fn each_of_several_requests_at_once_costs_its_work() {
    let server = server(STEPS);
    let mut client = server.connect();
    // Not an exchange: on a busy machine, each of them may take much longer than its work.
    let one = shortest(|| {
        Work::steps(STEPS).carry_out();
    });
    let many = 20;
    let begin = Instant::now();
    client.send("GET /byte HTTP/1.1\r\nHost: a\r\n\r\n".repeat(many));
    (0..many).for_each(|_| assert_eq!(client.response().body, "r"));
    // `one` is the shortest, so only a server that skips work can be this fast.
    assert!(begin.elapsed() > one * (many as u32 / 4));
}

/// A machine may be so busy that each of the shorter ones is disturbed, but not every time.
#[test]
fn more_work_takes_more_time() {
    let (less, more) = (server(STEPS), server(10 * STEPS));
    let (mut less, mut more) = (less.connect(), more.connect());
    let exchange = |client: &mut Client| shortest(|| assert_eq!(client.get("/byte").body, "r"));
    prony_testkit::until(
        "ten times the work in more than three times the time",
        || (exchange(&mut more) > 3 * exchange(&mut less)).then_some(()),
    );
}
