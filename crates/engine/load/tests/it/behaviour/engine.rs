//! The engine against servers that behave well and badly.
//!
//! Every test compares the client's count with the server's own.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use prony_load::{EventLoopChoice, LoadError, LoadPlan, Progress, run};
use prony_model::{Ended, LatencyHistogram, LoadResult, Outcome, Seconds};
use prony_testkit::table::rows;
use prony_testkit::{PATIENCE, contains, until};
use prony_traffic::HttpVersion;
use socket2::{Domain, Socket, Type};

use crate::plans::{assert_outcomes, get_from, load, plan_to, shapes};
use crate::scenarios::{Step, flows_of};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    every_framing_of_a_response_is_read,
    responses_that_arrive_byte_by_byte_are_whole,
    a_long_body_is_sent_whole,
    closes_after_whole_responses_are_reconnects_not_errors,
    wrong_responses_have_the_matching_outcome,
    a_missing_response_times_out,
    requests_in_flight_at_the_end_are_unfinished,
    with_no_listener_every_request_is_refused_and_the_load_ends,
    the_warm_up_of_several_threads_is_counted_separately,
    an_interrupt_ends_the_load_and_keeps_its_result,
    a_worker_that_fails_ends_the_load,
    the_last_figures_that_an_observer_sees_are_those_of_the_result,
    uneven_shares_add_up_to_all_connections_and_requests
);

fn plan(event_loop: EventLoopChoice, server: &ScriptedServer, requests: u64) -> LoadPlan {
    get_from(event_loop, server.address(), requests)
}

/// Runs the load and checks what holds for every load.
fn load_and_reconcile(plan: &LoadPlan, server: &ScriptedServer) -> LoadResult {
    let result = load(plan);
    let warmup = result.warmup.as_ref();
    let warmup = warmup.map_or(0, |warmup| warmup.outcomes.total());
    let requests = result.requests + warmup;
    server.catch_up(requests, result.connections_opened);
    let counted = (server.requests(), server.connections());
    assert_eq!(counted, (requests, result.connections_opened));
    let latencies = LatencyHistogram::from_base64(&result.histogram).unwrap();
    assert_eq!(latencies.count(), result.outcomes[Outcome::Ok]);
    result
}

fn every_framing_of_a_response_is_read(event_loop: EventLoopChoice) {
    let long = "x".repeat(100_000);
    let chunk = format!("186a0\r\n{long}\r\n");
    for [method, response] in rows(
        r"
        GET | HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello
        GET | HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n
        GET | HTTP/1.1 204 No Content\r\n\r\n
        GET | HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n
        GET | HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi
        GET | HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n
        GET | HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nLONG
        GET | HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nCHUNKCHUNK0\r\n\r\n
        HEAD | HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n
        ",
    ) {
        let sent = response.replace("LONG", &long).replace("CHUNK", &chunk);
        let bytes = sent.len() as u64;
        let server = ScriptedServer::responding(sent, After::Keep);
        let plan = plan_to(event_loop, server.address(), method, &[], b"", 50);
        let result = load_and_reconcile(&plan, &server);
        assert_eq!(result.outcomes[Outcome::Ok], 50, "{response}");
        assert_eq!(result.bytes_read, 50 * bytes, "{response}");
        let connections = (result.reconnects, result.connections_opened);
        assert_eq!(connections, (0, 3), "{response}");
        assert_eq!(result.ended, Ended::Requests);
    }
}

fn responses_that_arrive_byte_by_byte_are_whole(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, _| {
        for byte in HELLO {
            stream.write_all(&[*byte]).unwrap();
        }
        After::Keep
    });
    let result = load_and_reconcile(&plan(event_loop, &server, 20), &server);
    assert_outcomes(&result, "20 ok");
}

fn a_long_body_is_sent_whole(event_loop: EventLoopChoice) {
    let body = vec![b'b'; 8 * 1024 * 1024];
    let server = ScriptedServer::hello();
    let plan = plan_to(event_loop, server.address(), "POST", &["X-A: b"], &body, 6);
    let result = load_and_reconcile(&plan, &server);
    assert_outcomes(&result, "6 ok");
    assert!(result.bytes_written > 6 * body.len() as u64);
}

fn closes_after_whole_responses_are_reconnects_not_errors(event_loop: EventLoopChoice) {
    for response in [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nuntil the connection closes",
    ] {
        let server = ScriptedServer::responding(response, After::Close);
        let result = load_and_reconcile(&plan(event_loop, &server, 40), &server);
        assert_outcomes(&result, "40 ok");
        let reconnects = result.reconnects;
        assert_eq!(reconnects, result.connections_opened - 3);
        assert!((37..=40).contains(&reconnects), "{reconnects}: {response}");
    }
    let server = ScriptedServer::hello();
    let closing = plan_to(
        event_loop,
        server.address(),
        "GET",
        &["Connection: close"],
        b"",
        10,
    );
    assert!(load_and_reconcile(&closing, &server).reconnects >= 7);
}

fn wrong_responses_have_the_matching_outcome(event_loop: EventLoopChoice) {
    for [outcome, after, response] in rows(
        r#"
        wrong_status | keep | HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno
        malformed | keep | 220 mail.example ESMTP\r\n
        // Chunks of another size than they say.
        malformed | keep | HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello\r\n0\r\n\r\n
        malformed | keep | HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n
        reset | close | ""
        truncated | close | HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nhalf
        truncated | close | HTTP/1.1 200 OK\r\nContent-Le
        "#,
    ) {
        let after = match after {
            "keep" => After::Keep,
            _ => After::Close,
        };
        let server = ScriptedServer::responding(response, after);
        let result = load_and_reconcile(&plan(event_loop, &server, 12), &server);
        assert_outcomes(&result, &format!("12 {outcome}"));
        assert_eq!(result.first_wrong.unwrap().outcome, outcome);
        // There is no latency without an ok response, no rate, and no second try.
        assert_eq!(result.latency_ns, None, "{outcome}");
        assert_eq!((result.rate_per_s, result.resent), (0.0, 0), "{outcome}");
        let errors = result.statuses.get(&500).copied();
        assert_eq!(errors, (outcome == "wrong_status").then_some(12));
    }
}

fn a_missing_response_times_out(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding("HTTP/1.1 200 OK\r\n", After::Keep);
    let result = load(
        &plan(event_loop, &server, 6).with(|plan| plan.load.timeout = Seconds::from_millis(150)),
    );
    // A server that is slow to read may miss a request whose connection is reset.
    assert!(server.requests() <= 6, "{}", server.requests());
    assert_outcomes(&result, "6 timed_out");
    // Two rounds of three.
    assert!(result.duration_s >= 0.3, "{}", result.duration_s);
}

fn requests_in_flight_at_the_end_are_unfinished(event_loop: EventLoopChoice) {
    let server = ScriptedServer::slow(Duration::from_secs(3600));
    let plan = plan(event_loop, &server, 1000)
        .with(|plan| plan.load.duration = Some(Seconds::from_millis(300)));
    let result = load_and_reconcile(&plan, &server);
    assert_outcomes(&result, "3 unfinished");
    assert_eq!(result.outcomes.errors(), 0);
    assert_eq!(result.ended, Ended::Duration);
}

fn with_no_listener_every_request_is_refused_and_the_load_ends(event_loop: EventLoopChoice) {
    // Bound, so that nobody else gets the port, but not listening.
    let bound = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    bound.bind(&any.into()).unwrap();
    let address = bound.local_addr().unwrap().as_socket().unwrap();
    for shape in shapes(0.01) {
        let result = load(&get_from(event_loop, address, 9).with(|plan| plan.load.shape = shape));
        assert_outcomes(&result, "9 refused");
        assert_eq!(result.connections_opened, 0);
        contains(&result.first_wrong.unwrap().detail, "cannot connect");
    }
}

fn a_worker_that_fails_ends_the_load(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let endless = plan(event_loop, &server, 1).with(|plan| {
        plan.load.requests = None;
        plan.load.duration = Some(Seconds(PATIENCE * 2));
        // No machine has the second one.
        plan.here.cpus = vec![0, 1_000_000];
    });
    let begun = Instant::now();
    let failed = run(&endless, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    assert!(matches!(failed, LoadError::System { .. }), "{failed}");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

fn the_warm_up_of_several_threads_is_counted_separately(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let url = format!("http://{}/", server.address());
    for shape in shapes(0.005) {
        for entries in [None, Some([Step::GET; 2])] {
            let mut plan = plan(event_loop, &server, 40).with(|plan| {
                plan.load.shape = shape.clone();
                plan.load.warmup = Seconds::from_millis(100);
            });
            if let Some(steps) = &entries {
                plan.request = flows_of(&url, steps, HttpVersion::Http1).0;
            }
            let case = format!(
                "{:?}, {} entries",
                plan.load.shape,
                entries.map_or(1, |it| it.len())
            );
            // If the machine stands still, a warm-up may have none.
            until("a response in a warm-up", || {
                let before = server.requests();
                let result = load(&plan);
                let warmup = result.warmup.unwrap();
                assert!(warmup.duration_s >= 0.1, "{case}");
                match result.flows {
                    None => assert_eq!(result.requests, 40, "{case}"),
                    Some(flows) => assert_eq!(flows.ok, 40, "{case}"),
                }
                let counted = server.requests() - before;
                assert_eq!(counted, result.requests + warmup.outcomes.total(), "{case}");
                (warmup.outcomes[Outcome::Ok] > 0).then_some(())
            });
        }
    }
}

fn an_interrupt_ends_the_load_and_keeps_its_result(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, &server, 1).with(|plan| {
        plan.load.requests = None;
        plan.load.duration = Some(Seconds::from_secs(3600));
    });
    let interrupt = AtomicBool::new(false);
    let mut seen = 0;
    let result = run(&plan, &interrupt, &mut |progress| {
        seen = seen.max(progress.ok);
        interrupt.fetch_or(progress.ok > 0, SeqCst);
    })
    .unwrap();
    assert_eq!(result.ended, Ended::Interrupted);
    assert!(seen > 0 && result.outcomes[Outcome::Ok] >= seen);
}

fn the_last_figures_that_an_observer_sees_are_those_of_the_result(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, &server, 100).with(|plan| {
        plan.load.warmup = Seconds::from_millis(50);
        plan.load.connections = 4;
    });
    let mut last = Progress::default();
    let mut observe = |progress| last = progress;
    let result = run(&plan, &AtomicBool::new(false), &mut observe).unwrap();
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

fn uneven_shares_add_up_to_all_connections_and_requests(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let plan = plan(event_loop, &server, 1001).with(|plan| {
        plan.load.connections = 7;
        plan.load.threads = 4;
    });
    let result = load_and_reconcile(&plan, &server);
    assert_outcomes(&result, "1001 ok");
    assert_eq!(result.connections_opened, 7);
}
