//! The engine against servers that behave well and badly.
//!
//! Every test compares the client's count with the server's own.

use std::io::Write;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use prony_load::{
    EventLoopChoice, LoadPlan, Mismatch, Progress, Response, ResponseCheck, SampleChoice, Sampling,
    run,
};
use prony_model::{Ended, LoadResult, Outcome};

use socket2::{Domain, Socket, Type};

use crate::plans::{assert_outcome, load, plan_to};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    every_framing_of_a_response_is_read,
    responses_that_arrive_byte_by_byte_are_whole,
    a_response_to_head_has_no_body,
    a_long_body_is_sent_whole,
    closes_after_whole_responses_are_reconnects_not_errors,
    wrong_responses_have_the_matching_outcome,
    a_missing_response_times_out,
    requests_in_flight_at_the_end_are_unfinished,
    with_no_listener_every_request_is_refused_and_the_load_ends,
    the_warm_up_is_counted_separately,
    an_interrupt_ends_the_load_and_keeps_its_result,
    the_last_figures_that_an_observer_sees_are_those_of_the_result,
    sampled_responses_are_compared_and_all_lengths_are,
    even_rare_sampling_covers_the_measured_part,
    uneven_shares_add_up_to_all_connections_and_requests
);

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plan(event_loop: EventLoopChoice, server: &ScriptedServer, requests: u64) -> LoadPlan {
    plan_with(event_loop, server, "GET", &[], b"", requests)
}

fn plan_with(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    method: &str,
    headers: &[&str],
    body: &[u8],
    requests: u64,
) -> LoadPlan {
    plan_to(
        event_loop,
        server.address(),
        method,
        headers,
        body,
        requests,
    )
}

/// Runs the load and checks what holds for every load.
fn load_and_reconcile(plan: &LoadPlan, server: &ScriptedServer) -> LoadResult {
    let result = load(plan);
    let warmup = result
        .warmup
        .as_ref()
        .map_or(0, |warmup| warmup.outcomes.total());
    let connected = result.requests + warmup - result.outcomes[Outcome::Refused];
    server.catch_up(connected, result.connections_opened);
    assert_eq!(
        connected,
        server.requests(),
        "both sides count the same requests"
    );
    assert_eq!(result.connections_opened, server.connections());
    let latencies = prony_model::LatencyHistogram::from_base64(&result.histogram).unwrap();
    assert_eq!(latencies.count(), result.outcomes[Outcome::Ok]);
    result
}

fn every_framing_of_a_response_is_read(event_loop: EventLoopChoice) {
    let long_body = "x".repeat(100_000);
    let responses = [
        ("length", HELLO.to_owned()),
        (
            "empty",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(),
        ),
        ("no content", "HTTP/1.1 204 No Content\r\n\r\n".into()),
        (
            "not modified",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n".into(),
        ),
        (
            "interim",
            format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n{HELLO}"),
        ),
        (
            "chunked with trailers",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
             3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n"
                .into(),
        ),
        (
            "long",
            format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{long_body}"),
        ),
        (
            "long chunks",
            format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 186a0\r\n{long_body}\r\n186a0\r\n{long_body}\r\n0\r\n\r\n"
            ),
        ),
    ];
    for (name, response) in responses {
        let bytes = response.len() as u64;
        let server = ScriptedServer::responding(response, After::Keep);
        let result = load_and_reconcile(&plan(event_loop, &server, 50), &server);
        assert_eq!(result.outcomes[Outcome::Ok], 50, "{name}");
        assert_eq!(result.bytes_read, 50 * bytes, "{name}");
        assert_eq!(
            (result.reconnects, result.connections_opened),
            (0, 3),
            "{name}"
        );
        assert_eq!(result.ended, Ended::Requests);
    }
}

fn responses_that_arrive_byte_by_byte_are_whole(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, _| {
        for byte in HELLO.as_bytes() {
            stream.write_all(&[*byte]).unwrap();
        }
        After::Keep
    });
    let result = load_and_reconcile(&plan(event_loop, &server, 20), &server);
    assert_outcome(&result, Outcome::Ok, 20);
}

fn a_response_to_head_has_no_body(event_loop: EventLoopChoice) {
    let server =
        ScriptedServer::responding("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", After::Keep);
    let result = load_and_reconcile(
        &plan_with(event_loop, &server, "HEAD", &[], b"", 30),
        &server,
    );
    assert_outcome(&result, Outcome::Ok, 30);
}

fn a_long_body_is_sent_whole(event_loop: EventLoopChoice) {
    let body = vec![b'b'; 8 * 1024 * 1024];
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let result = load_and_reconcile(
        &plan_with(event_loop, &server, "POST", &["X-A: b"], &body, 6),
        &server,
    );
    assert_outcome(&result, Outcome::Ok, 6);
    assert!(result.bytes_written > 6 * body.len() as u64);
}

fn closes_after_whole_responses_are_reconnects_not_errors(event_loop: EventLoopChoice) {
    let closing = [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nuntil the connection closes",
    ];
    for response in closing {
        let server = ScriptedServer::responding(response, After::Close);
        let result = load_and_reconcile(&plan(event_loop, &server, 40), &server);
        assert_eq!(result.outcomes[Outcome::Ok], 40, "{response:?}");
        assert_eq!(result.outcomes.errors(), 0, "{:?}", result.first_wrong);
        assert_eq!(result.reconnects, result.connections_opened - 3);
        assert!(
            (37..=40).contains(&result.reconnects),
            "{}",
            result.reconnects
        );
    }
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let closing = plan_with(event_loop, &server, "GET", &["Connection: close"], b"", 10);
    assert!(load_and_reconcile(&closing, &server).reconnects >= 7);
}

/// The outcome of every request to this server.
fn only_outcome(
    event_loop: EventLoopChoice,
    outcome: Outcome,
    server: &ScriptedServer,
) -> LoadResult {
    let result = load_and_reconcile(&plan(event_loop, server, 12), server);
    assert_eq!(result.outcomes[outcome], 12, "{:?}", result.outcomes);
    assert_eq!(result.first_wrong.as_ref().unwrap().outcome, outcome.name());
    assert_eq!(result.latency_ns, None, "no latency without an ok response");
    result
}

fn wrong_responses_have_the_matching_outcome(event_loop: EventLoopChoice) {
    let error = "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno";
    let wrong = only_outcome(
        event_loop,
        Outcome::WrongStatus,
        &ScriptedServer::responding(error, After::Keep),
    );
    assert_eq!(wrong.statuses[&500], 12);
    assert_eq!(wrong.rate_per_s, 0.0);
    let garbage = "220 mail.example ESMTP\r\n";
    only_outcome(
        event_loop,
        Outcome::Malformed,
        &ScriptedServer::responding(garbage, After::Keep),
    );
    let excess = format!("{HELLO}{HELLO}");
    only_outcome(
        event_loop,
        Outcome::Malformed,
        &ScriptedServer::responding(excess, After::Keep),
    );
    only_outcome(
        event_loop,
        Outcome::Reset,
        &ScriptedServer::responding("", After::Close),
    );
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nhalf";
    only_outcome(
        event_loop,
        Outcome::Truncated,
        &ScriptedServer::responding(half, After::Close),
    );
    let half_head = "HTTP/1.1 200 OK\r\nContent-Le";
    only_outcome(
        event_loop,
        Outcome::Truncated,
        &ScriptedServer::responding(half_head, After::Close),
    );
}

fn a_missing_response_times_out(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding("HTTP/1.1 200 OK\r\n", After::Keep);
    let mut plan = plan(event_loop, &server, 6);
    plan.timeout = Duration::from_millis(150);
    // A server that is slow to read may miss a request whose connection is reset.
    let result = load(&plan);
    assert!(server.requests() <= 6, "{}", server.requests());
    assert_outcome(&result, Outcome::TimedOut, 6);
    assert!(
        result.duration_s >= 0.3,
        "two rounds of three: {}",
        result.duration_s
    );
}

fn requests_in_flight_at_the_end_are_unfinished(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|_, _| {
        thread::sleep(Duration::from_secs(3600));
        After::Close
    });
    let mut plan = plan(event_loop, &server, 1000);
    plan.duration = Some(Duration::from_millis(300));
    let result = load_and_reconcile(&plan, &server);
    assert_outcome(&result, Outcome::Unfinished, 3);
    assert_eq!(result.outcomes.errors(), 0);
    assert_eq!((result.requests, result.ended), (3, Ended::Duration));
}

fn with_no_listener_every_request_is_refused_and_the_load_ends(event_loop: EventLoopChoice) {
    // Bound, so that nobody else gets the port, but not listening.
    let bound = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    bound
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 9);
    plan.endpoint = bound.local_addr().unwrap().as_socket().unwrap().into();
    let result = load(&plan);
    assert_outcome(&result, Outcome::Refused, 9);
    assert_eq!(result.connections_opened, 0);
    assert!(
        result
            .first_wrong
            .unwrap()
            .detail
            .contains("cannot connect")
    );
}

fn the_warm_up_is_counted_separately(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 100);
    plan.warmup = Duration::from_millis(100);
    let result = load_and_reconcile(&plan, &server);
    assert_eq!(result.requests, 100);
    let warmup = result.warmup.unwrap();
    assert!(warmup.outcomes[Outcome::Ok] > 0);
    assert!(warmup.duration_s >= 0.1);
}

fn an_interrupt_ends_the_load_and_keeps_its_result(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 1);
    (plan.requests, plan.duration) = (None, Some(Duration::from_secs(3600)));
    let interrupt = AtomicBool::new(false);
    let mut seen = 0;
    let result = run(&plan, &interrupt, &mut |progress| {
        seen = seen.max(progress.ok);
        if progress.ok > 0 {
            interrupt.store(true, SeqCst);
        }
    })
    .unwrap();
    assert_eq!(result.ended, Ended::Interrupted);
    assert!(seen > 0 && result.outcomes[Outcome::Ok] >= seen);
}

fn the_last_figures_that_an_observer_sees_are_those_of_the_result(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 100);
    plan.warmup = Duration::from_millis(50);
    (plan.connections, plan.threads) = (4, 2);
    let mut last = Progress::default();
    let result = run(&plan, &AtomicBool::new(false), &mut |progress| {
        last = progress;
    })
    .unwrap();
    assert!(last.measuring);
    assert_eq!(last.outcomes, result.outcomes);
    assert_eq!(last.bytes_read, result.bytes_read);
    assert_eq!(last.bytes_written, result.bytes_written);
    assert_eq!(last.latency.total(), result.outcomes[Outcome::Ok]);
    // The histogram, which knows three digits of each latency, has almost the same mean.
    let mean = last.latency_sum_ns as f64 / last.latency.total() as f64;
    let of_result = result.latency_ns.unwrap().mean;
    assert!((mean / of_result - 1.0).abs() < 0.002, "{mean} {of_result}");
}

/// Every body must be this one.
struct Exactly(&'static str);

impl ResponseCheck for Exactly {
    fn check(&self, response: &Response) -> Result<(), Mismatch> {
        let actual = String::from_utf8_lossy(&response.body).into_owned();
        if actual == self.0 {
            Ok(())
        } else {
            Err(Mismatch {
                expected: self.0.into(),
                received: actual,
            })
        }
    }

    fn body_length(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }
}

fn sampled_responses_are_compared_and_all_lengths_are(event_loop: EventLoopChoice) {
    let outcomes = |every: u64, second: &'static str| {
        // Every second response on a connection is wrong.
        let server = ScriptedServer::start(move |stream, number| {
            let body = if number % 2 == 0 { "hello" } else { second };
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .unwrap();
            After::Keep
        });
        let mut plan = plan(event_loop, &server, 40);
        (plan.connections, plan.threads) = (1, 1);
        plan.sampling = Some(Sampling {
            check: Arc::new(Exactly("hello")),
            choice: SampleChoice::EveryNth(every.try_into().unwrap()),
        });
        load_and_reconcile(&plan, &server)
    };
    let all = outcomes(1, "HELLO");
    assert_eq!(
        (all.outcomes[Outcome::Ok], all.outcomes[Outcome::WrongBody]),
        (20, 20)
    );
    assert_eq!(all.first_wrong.unwrap().detail, "expected hello, got HELLO");
    let one_in_four = outcomes(4, "HELLO");
    assert_eq!(
        one_in_four.outcomes[Outcome::WrongBody],
        0,
        "only correct responses were sampled"
    );
    let by_length = outcomes(4, "hello!");
    assert_eq!(
        by_length.outcomes[Outcome::WrongBody],
        20,
        "lengths are always compared"
    );
}

/// Counts its calls.
#[derive(Default)]
struct Counting(AtomicU64);

impl ResponseCheck for Counting {
    fn check(&self, _: &Response) -> Result<(), Mismatch> {
        self.0.fetch_add(1, SeqCst);
        Ok(())
    }
}

fn even_rare_sampling_covers_the_measured_part(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 5);
    (plan.connections, plan.threads) = (1, 1);
    plan.warmup = Duration::from_millis(50);
    let check = Arc::new(Counting::default());
    plan.sampling = Some(Sampling {
        check: check.clone(),
        choice: SampleChoice::EveryNth(NonZeroU64::MAX),
    });
    load_and_reconcile(&plan, &server);
    assert_eq!(check.0.load(SeqCst), 2);
}

fn uneven_shares_add_up_to_all_connections_and_requests(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, 1001);
    (plan.connections, plan.threads) = (7, 4);
    let result = load_and_reconcile(&plan, &server);
    assert_outcome(&result, Outcome::Ok, 1001);
    assert_eq!(result.connections_opened, 7);
}
