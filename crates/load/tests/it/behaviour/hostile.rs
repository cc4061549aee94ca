//! The engine against servers that break the rules: its counts stay exact, and it ends.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, LoadShape, Outcome};

use crate::plans::{self, assert_outcome, even, http2_plan_to, plan_to};

over_each_loop!(
    an_unread_request_body_is_one_reset,
    a_response_before_the_request_is_fully_sent_is_not_ok,
    failed_reconnects_are_not_counted,
    a_budget_below_the_requests_in_flight_after_the_warm_up_is_kept,
    a_load_ends_despite_an_endless_response,
    an_endless_response_times_out_without_starving_others,
    a_server_that_goes_away_at_the_start_is_a_reset_at_once,
    a_drip_of_bytes_does_not_postpone_the_timeout,
    endless_heads_and_chunk_extensions_are_malformed,
    chunks_of_the_wrong_size_are_malformed,
    a_server_that_expects_tls_is_recognised_over_either_version_of_http,
    a_server_that_expects_the_other_version_of_http_is_recognised,
    a_connection_that_has_become_a_tunnel_carries_no_second_request
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that runs `conversation` with every connection, each on its own thread, until the test process ends.
fn server(conversation: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let conversation = Arc::new(conversation);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let conversation = conversation.clone();
            thread::spawn(move || conversation(stream.unwrap()));
        }
    });
    address
}

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
    let mut plan = plan_to(event_loop, address, method, &[], body, requests);
    plan.threads = 1;
    plan
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = plans::load(plan);
    assert!(result.reconnects <= result.connections_opened, "{result:?}");
    result
}

fn an_unread_request_body_is_one_reset(event_loop: EventLoopChoice) {
    let address = server(|mut stream| {
        // The unread rest makes the kernel reset the connection.
        let _ = stream.read(&mut [0; 1024]);
        // By then the client waits for room to send.
        thread::sleep(Duration::from_millis(50));
    });
    let body = vec![b'b'; 8 * 1024 * 1024];
    let result = load(&with_body(event_loop, address, "POST", &body, 7));
    assert_outcome(&result, Outcome::Reset, 7);
    assert_eq!(result.requests, 7);
}

fn a_response_before_the_request_is_fully_sent_is_not_ok(event_loop: EventLoopChoice) {
    let address = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(HELLO);
        // Reads no more, but lets the client read the response.
        thread::sleep(Duration::from_secs(3600));
    });
    let body = vec![b'b'; 16 * 1024 * 1024];
    let result = load(&with_body(event_loop, address, "POST", &body, 7));
    assert_outcome(&result, Outcome::Malformed, 7);
    assert!(
        result
            .first_wrong
            .unwrap()
            .detail
            .contains("before the request")
    );
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
    assert_outcome(&result, Outcome::Reset, 3);
    assert_outcome(&result, Outcome::Refused, 9);
    assert_eq!((result.connections_opened, result.reconnects), (3, 0));
}

fn a_budget_below_the_requests_in_flight_after_the_warm_up_is_kept(event_loop: EventLoopChoice) {
    let address = server(|mut stream| {
        while read_head(&mut stream) {
            thread::sleep(Duration::from_millis(20));
            if stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let mut plan = plan(event_loop, address, 5);
    (plan.connections, plan.threads) = (32, 2);
    plan.warmup = Duration::from_millis(500);
    let result = load(&plan);
    assert_eq!(result.requests, 5, "{:?}", result.outcomes);
    assert!(result.warmup.unwrap().outcomes[Outcome::Ok] > 0);
}

/// Sends `head`, and then `piece` for ever.
fn endless(head: &'static [u8], piece: Vec<u8>) -> SocketAddr {
    server(move |mut stream| {
        if !read_head(&mut stream) || stream.write_all(head).is_err() {
            return;
        }
        while stream.write_all(&piece).is_ok() {}
    })
}

fn a_load_ends_despite_an_endless_response(event_loop: EventLoopChoice) {
    let until_close = endless(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 1 << 20]);
    let length = endless(
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999\r\n\r\n",
        vec![b'x'; 1 << 20],
    );
    for address in [until_close, length] {
        let mut plan = plan(event_loop, address, 9);
        plan.duration = Some(Duration::from_millis(300));
        let result = load(&plan);
        assert_eq!(result.ended, Ended::Duration);
        assert_outcome(&result, Outcome::Unfinished, 3);
    }
}

fn an_endless_response_times_out_without_starving_others(event_loop: EventLoopChoice) {
    // Costly to parse: the server is always ahead.
    let interims = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(40_000);
    let chunks = b"1\r\nx\r\n".repeat(150_000);
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for address in [endless(b"", interims), endless(chunked, chunks)] {
        let mut plan = plan(event_loop, address, 6);
        plan.timeout = Duration::from_millis(300);
        let result = load(&plan);
        assert_outcome(&result, Outcome::TimedOut, 6);
    }
}

fn a_server_that_goes_away_at_the_start_is_a_reset_at_once(event_loop: EventLoopChoice) {
    let address = server(|stream| {
        stream.shutdown(Shutdown::Write).unwrap();
        // The connection stays open but silent.
        thread::sleep(Duration::from_secs(3600));
    });
    let result = load(&plan(event_loop, address, 9));
    assert_outcome(&result, Outcome::Reset, 9);
}

fn a_drip_of_bytes_does_not_postpone_the_timeout(event_loop: EventLoopChoice) {
    let address = server(|mut stream| {
        let _ = read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"x: y\r\n").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let mut plan = plan(event_loop, address, 3);
    plan.timeout = Duration::from_millis(200);
    assert_eq!(load(&plan).outcomes[Outcome::TimedOut], 3);
}

fn endless_heads_and_chunk_extensions_are_malformed(event_loop: EventLoopChoice) {
    let heads = endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n".repeat(1000));
    let extensions = endless(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        vec![b'x'; 10_000],
    );
    for address in [heads, extensions] {
        let result = load(&plan(event_loop, address, 6));
        assert_outcome(&result, Outcome::Malformed, 6);
    }
}

fn chunks_of_the_wrong_size_are_malformed(event_loop: EventLoopChoice) {
    for chunks in ["6\r\nhello\r\n0\r\n\r\n", "4\r\nhello\r\n0\r\n\r\n"] {
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        let address = server(move |mut stream| {
            while read_head(&mut stream) && stream.write_all(response.as_bytes()).is_ok() {}
        });
        let result = load(&plan(event_loop, address, 9));
        assert_outcome(&result, Outcome::Malformed, 9);
    }
}

/// Fails every request, and says why.
fn all_malformed(plan: &LoadPlan) -> String {
    let result = load(plan);
    let malformed = result.outcomes[Outcome::Malformed];
    assert_eq!(malformed, result.requests, "{:?}", result.outcomes);
    result.first_wrong.unwrap().detail
}

fn a_server_that_expects_tls_is_recognised_over_either_version_of_http(
    event_loop: EventLoopChoice,
) {
    let address = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        // The alert protocol_version, and nothing else.
        let _ = stream.write_all(&[21, 3, 1, 0, 2, 2, 70]);
    });
    for plan in [
        plan(event_loop, address, 6),
        http2_plan_to(event_loop, address, 6),
    ] {
        let detail = all_malformed(&plan);
        assert!(detail.ends_with("it seems to expect TLS"), "{detail}");
    }
}

fn a_server_that_expects_the_other_version_of_http_is_recognised(event_loop: EventLoopChoice) {
    let http1 = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n");
    });
    let detail = all_malformed(&http2_plan_to(event_loop, http1, 6));
    assert!(detail.ends_with("it seems to expect HTTP/1.1"), "{detail}");

    // Its settings do not wait for a request, so they may arrive while the connection is idle.
    let http2 = server(|mut stream| {
        let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        let _ = stream.write_all(&settings);
        while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {}
    });
    let rate = even(100.0);
    for shape in [LoadShape::Closed, rate] {
        let plan = LoadPlan {
            shape,
            ..plan(event_loop, http2, 6)
        };
        let detail = all_malformed(&plan);
        assert!(detail.ends_with("it seems to expect HTTP/2"), "{detail}");
    }
}

fn a_connection_that_has_become_a_tunnel_carries_no_second_request(event_loop: EventLoopChoice) {
    let address = server(|mut stream| {
        let _ = read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSSH-2.0-x\r\n");
        assert!(!read_head(&mut stream), "a second request arrived");
    });
    let result = load(&with_body(event_loop, address, "CONNECT", b"", 6));
    assert_outcome(&result, Outcome::Ok, 6);
    assert_eq!(result.connections_opened, 6);
}
