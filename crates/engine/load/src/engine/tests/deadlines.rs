//! Responses, connections and requests that are too late.

use nix::errno::Errno;
use prony_model::Seconds;

use super::simulated::Connect;
use super::*;

fn never() -> (SimulatedServer, Clock) {
    responding(|_| None)
}

fn detail(result: &LoadResult) -> &str {
    &result.first_wrong.as_ref().unwrap().detail
}

#[test]
fn a_response_must_take_less_than_the_timeout() {
    let plan = plan(LoadShape::Closed, 1, ms(10_000)).with(|plan| {
        plan.load.timeout = Seconds(ms(300));
        plan.load.requests = Some(3);
    });
    for (after_ms, outcome, connections) in [
        (299, Outcome::Ok, 1),
        (300, Outcome::TimedOut, 1),
        // Nobody waits for it any longer.
        (301, Outcome::TimedOut, 3),
    ] {
        let result = load(&plan, after_ms);
        assert_eq!(outcomes(&result), [(outcome, 3)], "{after_ms} ms");
        assert_eq!(result.connections_opened, connections, "{after_ms} ms");
        if outcome == Outcome::TimedOut {
            assert_eq!(detail(&result), "no whole response within 300ms");
            assert_eq!(result.duration_s, 0.9);
        }
    }
}

#[test]
fn the_deadline_of_a_rate_does_not_bind_its_responses() {
    let plan = plan(even(100.0), 3, ms(10_000)).with(|plan| {
        plan.load.deadline = Some(Seconds(ms(200)));
        plan.load.timeout = Seconds(ms(300));
        plan.load.requests = Some(3);
    });
    let result = run(&plan, never());
    assert_eq!(outcomes(&result), [(Outcome::TimedOut, 3)]);
    assert_eq!(detail(&result), "no whole response within 300ms");
    assert_eq!(result.duration_s, 0.32, "the last is due at 20 ms");
}

#[test]
fn requests_behind_an_overdue_one_are_overdue_too() {
    let plan = plan(LoadShape::Closed, 1, ms(10_000)).with(|plan| {
        plan.load.pipeline = 4;
        plan.load.timeout = Seconds(ms(300));
        plan.load.requests = Some(4);
    });
    let result = run(&plan, never());
    assert_eq!(outcomes(&result), [(Outcome::TimedOut, 4)]);
    assert_eq!((result.resent, result.duration_s), (0, 0.3));
}

#[test]
fn requests_that_cannot_be_sent_in_time_are_shed() {
    let plan =
        plan(even(200.0), 1, ms(300)).with(|plan| plan.load.deadline = Some(Seconds(ms(150))));
    let result = load(&plan, 50);
    // One every 50 ms, until the oldest that waits is 150 ms late. From then on each is 145 ms late.
    assert_eq!(outcomes(&result), [(Outcome::Ok, 9), (Outcome::Shed, 51)]);
    assert_latencies(&result, 50, 195);
    let open = open(&result);
    assert_eq!((open.due, open.sent, open.rate_ratio), (60, 9, 0.15));
    assert_eq!(
        detail(&result),
        "no connection was free until more than 150ms after the request was due"
    );
}

#[test]
fn a_request_that_waits_for_its_connection_times_out() {
    let plan = plan(even(100.0), 2, ms(10_000)).with(|plan| {
        plan.load.timeout = Seconds(ms(200));
        plan.load.requests = Some(12);
    });
    let (server, clock) = never();
    let result = run(&plan, (server.connecting(None), clock));
    assert_eq!(outcomes(&result), [(Outcome::TimedOut, 12)]);
    assert_eq!(detail(&result), "no connection within 200ms");
    assert_eq!(result.connections_opened, 0);
}

#[test]
fn each_refusal_doubles_the_pause_before_the_next_attempt_up_to_a_second() {
    let plan = plan(LoadShape::Closed, 1, ms(10_000));
    let (server, clock) = never();
    let refused = server.connecting(Some(Connect {
        after: 0,
        result: Err(Errno::ECONNREFUSED),
    }));
    let result = run(&plan, (refused, clock));
    // At 0, 10, 30, 70, 150, 310, 630 and 1270 ms, and from then on every second.
    assert_eq!(outcomes(&result), [(Outcome::Refused, 8 + 8)]);
}

#[test]
fn a_connection_that_takes_long_delays_only_its_first_request() {
    let plan = plan(LoadShape::Closed, 1, ms(10_000)).with(|plan| plan.load.requests = Some(3));
    let (server, clock) = responding(|_| Some(10));
    let slow = server.connecting(Some(Connect {
        after: 100 * MS,
        result: Ok(()),
    }));
    let result = run(&plan, (slow, clock));
    assert_eq!(outcomes(&result), [(Outcome::Ok, 3)]);
    assert_eq!(result.duration_s, 0.13);
    assert_latencies(&result, 10, 10);
}
