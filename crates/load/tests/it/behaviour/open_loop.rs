//! Users with their own schedules (httpmon's open model), against fast, slow and dead servers.

use std::io::Write;
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan, PlanError};
use prony_model::{Ended, LatencyHistogram, LoadResult, LoadShape, Outcome};

use crate::plans::{self, assert_outcome, get_from};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    the_budget_is_spent_at_the_rate_of_the_schedule,
    late_arrivals_are_counted_and_their_wait_is_latency,
    a_request_without_a_response_by_its_deadline_is_an_error,
    the_deadline_runs_from_the_scheduled_arrival,
    a_connection_is_opened_when_its_user_first_needs_it,
    a_connection_that_the_server_closes_between_two_arrivals_is_no_error,
    the_warm_up_takes_no_budget,
    an_open_load_ends_by_time_with_its_users_waiting,
    with_no_listener_every_arrival_is_refused
);

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    users: usize,
    think_time_s: f64,
    requests: u64,
) -> LoadPlan {
    let mut plan = get_from(event_loop, server.address(), requests);
    (plan.connections, plan.threads) = (users, users.min(2));
    plan.shape = LoadShape::UsersOpen { think_time_s };
    plan
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = plans::load(plan);
    let latencies = LatencyHistogram::from_base64(&result.histogram).unwrap();
    assert_eq!(latencies.count(), result.outcomes[Outcome::Ok]);
    result
}

fn slow_server(delay: Duration) -> ScriptedServer {
    ScriptedServer::start(move |stream, _| {
        thread::sleep(delay);
        stream.write_all(HELLO.as_bytes()).unwrap();
        After::Keep
    })
}

fn the_budget_is_spent_at_the_rate_of_the_schedule(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    // 50 users with an arrival every 100 ms: 500 per second.
    let mut plan = plan(event_loop, &server, 50, 0.1, 500);
    // With one thread arrivals are taken in order, however late it is.
    plan.threads = 1;
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 500);
    assert_eq!(server.requests(), 500);
    assert_eq!(result.ended, Ended::Requests);
    let open = result.open.unwrap();
    assert_eq!((open.due, open.sent, open.rate_ratio), (500, 500, 1.0));
    let lag = LatencyHistogram::from_base64(&open.schedule_lag_histogram).unwrap();
    assert_eq!(lag.count(), 500);
    // The load ends with the response to the last arrival, whose latency runs from its due time. So however busy the
    // machine is, the due time lies between these two.
    let latest = result.duration_s;
    let earliest = latest - result.latency_ns.unwrap().max as f64 / 1e9;
    // For this seed. The sum of 500 exponentials of 2 ms has a mean of 1 s and a standard deviation of 45 ms.
    let due = 1.0125;
    assert!(
        earliest <= due + 0.001 && due <= latest,
        "due after {due} s, sent between {earliest} s and {latest} s"
    );
}

fn late_arrivals_are_counted_and_their_wait_is_latency(event_loop: EventLoopChoice) {
    let delay = Duration::from_millis(30);
    let server = slow_server(delay);
    // One user whose arrivals come every 10 ms, and responses that take 30 ms.
    let result = load(&plan(event_loop, &server, 1, 0.01, 40));
    assert_outcome(&result, Outcome::Ok, 40);
    let open = result.open.unwrap();
    assert!(
        (25..40).contains(&open.queued),
        "nearly all: {}",
        open.queued
    );
    let latency = result.latency_ns.unwrap();
    // 40 responses take 1.2 s, their arrivals 0.4 s: the last one waits for the rest.
    assert!(latency.max > 400_000_000, "{}", latency.max);
    assert!(latency.min >= delay.as_nanos() as u64);
    // The server causes all that waiting: the generator itself was not late.
    let lag = open.schedule_lag_ns.unwrap();
    assert!(lag.p50 <= latency.p50, "{lag:?}");
}

fn a_request_without_a_response_by_its_deadline_is_an_error(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_millis(60));
    let mut plan = plan(event_loop, &server, 1, 0.02, 60);
    plan.deadline = Some(Duration::from_millis(300));
    let result = load(&plan);
    let (ok, shed) = (result.outcomes[Outcome::Ok], result.outcomes[Outcome::Shed]);
    let timed_out = result.outcomes[Outcome::TimedOut];
    assert!(ok > 0 && shed + timed_out > 20, "{:?}", result.outcomes);
    assert_eq!(ok + shed + timed_out, 60);
    assert!(server.requests() <= 60 - shed);
    // The histogram has three digits.
    let longest = result.latency_ns.unwrap().max;
    assert!(longest <= 300_300_000, "{longest} ns");
}

fn the_deadline_runs_from_the_scheduled_arrival(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|_, _| {
        thread::sleep(Duration::from_secs(3600));
        After::Close
    });
    let mut plan = plan(event_loop, &server, 2, 0.02, 8);
    plan.deadline = Some(Duration::from_millis(100));
    let result = load(&plan);
    let (timed_out, shed) = (
        result.outcomes[Outcome::TimedOut],
        result.outcomes[Outcome::Shed],
    );
    assert_eq!(timed_out + shed, 8, "{:?}", result.outcomes);
    assert!(timed_out > 0 && result.latency_ns.is_none());
}

fn a_connection_is_opened_when_its_user_first_needs_it(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let result = load(&plan(event_loop, &server, 60, 5.0, 3));
    assert_outcome(&result, Outcome::Ok, 3);
    assert!(
        (1..=3).contains(&result.connections_opened),
        "60 users, 3 arrivals"
    );
    assert_eq!(server.connections(), result.connections_opened);
}

fn a_connection_that_the_server_closes_between_two_arrivals_is_no_error(
    event_loop: EventLoopChoice,
) {
    let server = ScriptedServer::responding(HELLO, After::Close);
    let result = load(&plan(event_loop, &server, 4, 0.02, 60));
    assert_outcome(&result, Outcome::Ok, 60);
    assert_eq!(server.requests(), 60);
    assert!(result.reconnects >= 56, "{}", result.reconnects);
}

fn the_warm_up_takes_no_budget(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 10, 0.01, 50);
    // Long enough for a response even if the machine stands still for a while.
    plan.warmup = Duration::from_millis(300);
    let result = load(&plan);
    let warmup = result.warmup.unwrap().outcomes.total();
    assert_eq!(result.requests, 50);
    assert!(warmup > 0);
    assert_eq!(server.requests(), 50 + warmup);
}

fn an_open_load_ends_by_time_with_its_users_waiting(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 5, 0.02, 1);
    (plan.requests, plan.duration) = (None, Some(Duration::from_millis(300)));
    let result = load(&plan);
    assert_eq!(result.ended, Ended::Duration);
    assert!(result.open.unwrap().due > 0);
    assert!(result.duration_s >= 0.3, "{}", result.duration_s);
}

fn with_no_listener_every_arrival_is_refused(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let bound = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    bound.bind(&any.into()).unwrap();
    let mut plan = plan(event_loop, &server, 3, 0.01, 9);
    plan.endpoint = bound.local_addr().unwrap().as_socket().unwrap().into();
    let result = load(&plan);
    assert_outcome(&result, Outcome::Refused, 9);
}

#[test]
fn a_think_time_of_zero_is_refused() {
    let event_loop = EventLoopChoice::Auto;
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for think_time_s in [0.0, -1.0, 1e-9, f64::NAN, f64::INFINITY] {
        let error = plan(event_loop, &server, 1, think_time_s, 1)
            .validate()
            .unwrap_err();
        assert!(matches!(error, PlanError::Zero { .. }), "{think_time_s}");
    }
}
