//! The engine against servers that break the rules: its counts stay exact, and it ends.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use http::Method;
use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadShape, Outcome, Seconds};
use prony_testkit::connections::serve;
use prony_testkit::contains;

use crate::h2_frames::most_streams;
use crate::plans::{assert_outcomes, even, http2_plan_to, load, plan_to};
use crate::scripted::{HELLO, ScriptedServer};

over_each_loop!(
    an_unread_request_body_is_one_reset,
    a_response_before_the_request_is_fully_sent_is_not_ok,
    failed_reconnects_are_not_counted,
    a_budget_below_the_requests_in_flight_after_the_warm_up_is_kept,
    a_load_ends_despite_an_endless_response,
    an_endless_response_times_out_without_starving_others,
    a_server_that_goes_away_at_the_start_is_a_reset_at_once,
    a_drip_of_bytes_does_not_postpone_the_timeout,
    a_server_that_expects_tls_is_recognised_over_either_version_of_http,
    a_server_that_expects_the_other_version_of_http_is_recognised,
    a_connection_that_has_become_a_tunnel_carries_no_second_request
);

/// Reads up to the end of a head; false if the client is gone.
fn read_head(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

fn read_some(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 1024]);
}

fn plan(event_loop: EventLoopChoice, address: SocketAddr, requests: u64) -> LoadPlan {
    with_body(event_loop, address, "GET", b"", requests)
}

fn with_body(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    method: &str,
    body: &[u8],
    requests: u64,
) -> LoadPlan {
    plan_to(event_loop, address, method, &[], body, requests).with(|plan| plan.load.threads = 1)
}

fn an_unread_request_body_is_one_reset(event_loop: EventLoopChoice) {
    let address = serve(|mut stream| {
        // The unread rest makes the kernel reset the connection.
        read_some(&mut stream);
        // By then the client waits for room to send.
        thread::sleep(Duration::from_millis(50));
    });
    let body = vec![b'b'; 8 * 1024 * 1024];
    let result = load(&with_body(event_loop, address, "POST", &body, 7));
    assert_outcomes(&result, "7 reset");
}

fn a_response_before_the_request_is_fully_sent_is_not_ok(event_loop: EventLoopChoice) {
    let address = serve(|mut stream| {
        read_some(&mut stream);
        let _ = stream.write_all(HELLO);
        // Reads no more, but lets the client read the response.
        thread::sleep(Duration::from_secs(3600));
    });
    let body = vec![b'b'; 16 * 1024 * 1024];
    let result = load(&with_body(event_loop, address, "POST", &body, 7));
    assert_outcomes(&result, "7 malformed");
    contains(&result.first_wrong.unwrap().detail, "before the request");
}

fn failed_reconnects_are_not_counted(event_loop: EventLoopChoice) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let streams: Vec<TcpStream> = (0..3).map(|_| listener.accept().unwrap().0).collect();
        drop(listener);
        for mut stream in streams {
            assert!(read_head(&mut stream));
            stream.shutdown(Shutdown::Both).unwrap();
        }
    });
    let result = load(&plan(event_loop, address, 12));
    server.join().unwrap();
    assert_outcomes(&result, "9 refused and 3 reset");
    assert_eq!((result.connections_opened, result.reconnects), (3, 0));
}

fn a_budget_below_the_requests_in_flight_after_the_warm_up_is_kept(event_loop: EventLoopChoice) {
    let server = ScriptedServer::slow(Duration::from_millis(20));
    let result = load(&plan(event_loop, server.address(), 5).with(|plan| {
        plan.load.connections = 32;
        plan.load.threads = 2;
        plan.load.warmup = Seconds::from_millis(500);
    }));
    assert_eq!(result.requests, 5, "{:?}", result.outcomes);
    assert!(result.warmup.unwrap().outcomes[Outcome::Ok] > 0);
}

/// Sends `head`, and then `piece` for ever.
fn endless(head: &'static str, piece: Vec<u8>) -> SocketAddr {
    serve(move |mut stream| {
        if read_head(&mut stream) && stream.write_all(head.as_bytes()).is_ok() {
            while stream.write_all(&piece).is_ok() {}
        }
    })
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn a_load_ends_despite_an_endless_response(event_loop: EventLoopChoice) {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999\r\n\r\n",
    ] {
        let address = endless(head, vec![b'x'; 1 << 20]);
        let result = load(
            &plan(event_loop, address, 9)
                .with(|plan| plan.load.duration = Some(Seconds::from_millis(300))),
        );
        assert_eq!(result.ended, Ended::Duration);
        assert_outcomes(&result, "3 unfinished");
    }
}

fn an_endless_response_times_out_without_starving_others(event_loop: EventLoopChoice) {
    // Costly to parse: the server is always ahead.
    let interims = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(40_000);
    let chunks = b"1\r\nx\r\n".repeat(150_000);
    for address in [endless("", interims), endless(CHUNKED, chunks)] {
        let result = load(
            &plan(event_loop, address, 6)
                .with(|plan| plan.load.timeout = Seconds::from_millis(300)),
        );
        assert_outcomes(&result, "6 timed_out");
    }
}

fn a_server_that_goes_away_at_the_start_is_a_reset_at_once(event_loop: EventLoopChoice) {
    let address = serve(|stream| {
        stream.shutdown(Shutdown::Write).unwrap();
        // The connection stays open but silent.
        thread::sleep(Duration::from_secs(3600));
    });
    assert_outcomes(&load(&plan(event_loop, address, 9)), "9 reset");
}

fn a_drip_of_bytes_does_not_postpone_the_timeout(event_loop: EventLoopChoice) {
    let address = serve(|mut stream| {
        read_some(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"x: y\r\n").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let result = load(
        &plan(event_loop, address, 3).with(|plan| plan.load.timeout = Seconds::from_millis(200)),
    );
    assert_outcomes(&result, "3 timed_out");
}

/// All requests fail, and the first one says that the server seems to expect something else.
#[track_caller]
fn assert_expects(plan: &LoadPlan, expected: &str) {
    let result = load(plan);
    assert_outcomes(&result, &format!("{} malformed", result.requests));
    let detail = result.first_wrong.unwrap().detail;
    let end = format!("it seems to expect {expected}");
    assert!(detail.ends_with(&end), "{detail}");
}

fn a_server_that_expects_tls_is_recognised_over_either_version_of_http(
    event_loop: EventLoopChoice,
) {
    let address = serve(|mut stream| {
        read_some(&mut stream);
        // The alert protocol_version, and nothing else.
        let _ = stream.write_all(&[21, 3, 1, 0, 2, 2, 70]);
    });
    assert_expects(&plan(event_loop, address, 6), "TLS");
    assert_expects(
        &http2_plan_to(event_loop, address, Method::GET, b"", 6),
        "TLS",
    );
}

fn a_server_that_expects_the_other_version_of_http_is_recognised(event_loop: EventLoopChoice) {
    let http1 = serve(|mut stream| {
        read_some(&mut stream);
        let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n");
    });
    assert_expects(
        &http2_plan_to(event_loop, http1, Method::GET, b"", 6),
        "HTTP/1.1",
    );

    // Its settings do not wait for a request, so they may arrive while the connection is idle.
    let http2 = serve(|mut stream| {
        let _ = stream.write_all(&most_streams(100));
        while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {}
    });
    for shape in [LoadShape::Closed, even(100.0)] {
        let plan = plan(event_loop, http2, 6).with(|plan| plan.load.shape = shape);
        assert_expects(&plan, "HTTP/2");
    }
}

fn a_connection_that_has_become_a_tunnel_carries_no_second_request(event_loop: EventLoopChoice) {
    let address = serve(|mut stream| {
        let _ = read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSSH-2.0-x\r\n");
        assert!(!read_head(&mut stream), "a second request arrived");
    });
    let result = load(&with_body(event_loop, address, "CONNECT", b"", 6));
    assert_outcomes(&result, "6 ok");
    assert_eq!(result.connections_opened, 6);
}
