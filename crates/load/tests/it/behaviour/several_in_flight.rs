//! HTTP/2 connections with several requests in flight, of which some fail: each has the outcome that is its own.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use http::Method;
use prony_load::wire::h2::StreamRequest;
use prony_load::{Endpoint, EventLoopChoice, LoadPlan, WireRequest};
use prony_model::{LoadShape, Outcome};
use tempfile::TempDir;

use crate::h2_frames::{HEADERS, read_frame, read_head, read_preface, server};
use crate::plans::{assert_outcome, even, get_from, load};

over_each_loop!(
    only_a_response_that_has_begun_is_truncated,
    a_broken_connection_fails_one_request_if_the_others_may_be_sent_again,
    every_request_to_a_server_that_always_breaks_the_rules_is_malformed,
    an_early_response_fails_its_own_request_alone,
    requests_that_were_never_sent_are_sent_over_the_next_connection,
    the_overdue_request_times_out_even_if_it_is_not_the_first
);

const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// The longest windows, of streams and of the connection.
const WIDE: [u8; 28] = [
    0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff, //
    0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0,
];
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
/// More than sockets and queues hold.
const LONG: usize = 2 << 20;

fn plan(
    event_loop: EventLoopChoice,
    endpoint: Endpoint,
    method: Method,
    body: usize,
    requests: u64,
) -> LoadPlan {
    let body = vec![b'x'; body];
    let request = StreamRequest::http(&method, "http", "localhost", "/", &[], &body).unwrap();
    LoadPlan {
        request: WireRequest::from(request).into(),
        connections: 1,
        max_connections: 1,
        threads: 1,
        pipeline: 3,
        endpoint,
        ..get_from(event_loop, ([127, 0, 0, 1], 1).into(), requests)
    }
}

/// One request per second.
fn slowly() -> LoadShape {
    even(1.0)
}

/// A server on a Unix socket, which holds a fixed number of bytes. `converse` also gets the number of the connection.
fn unix_server(
    folder: &TempDir,
    converse: impl Fn(UnixStream, usize) -> Option<()> + Clone + Send + 'static,
) -> Endpoint {
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let converse = converse.clone();
            thread::spawn(move || converse(stream.unwrap(), number));
        }
    });
    Endpoint::Unix(path)
}

/// Responds to each request once it has arrived whole.
fn respond_to_all(mut stream: UnixStream) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&WIDE).ok()?;
    loop {
        let (_, flags, number) = read_head(&mut stream)?;
        let ends = flags & 1 != 0 && number != [0; 4];
        if ends {
            let head = [&[0, 0, 1, HEADERS, 1 | 4][..], &number, &[0x88]].concat();
            stream.write_all(&head).ok()?;
        }
    }
}

/// Begins to respond to one of three requests, and closes the connection.
fn begin_one(mut stream: TcpStream, begun: u8) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&SETTINGS).ok()?;
    let mut heads = 0;
    while heads < 3 {
        heads += u8::from(read_frame(&mut stream)?.0 == HEADERS);
    }
    let head = [0, 0, 1, HEADERS, 4, 0, 0, 0, begun, 0x88];
    stream.write_all(&head).ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    while read_frame(&mut stream).is_some() {}
    Some(())
}

fn only_a_response_that_has_begun_is_truncated(event_loop: EventLoopChoice) {
    for begun in [1, 3, 5] {
        let address = server(move |stream| begin_one(stream, begun));
        let result = load(&plan(event_loop, address.into(), Method::POST, 0, 3));
        assert_eq!(result.outcomes[Outcome::Truncated], 1, "stream {begun}");
        assert_eq!(result.outcomes[Outcome::Reset], 2, "stream {begun}");
    }
}

/// A frame that no server may send: DATA on stream 0.
const INVALID: [u8; 9] = [0; 9];

/// The server breaks the rules when the first request arrives, over as many connections as `breaks`, and then responds.
fn breaking(breaks: usize) -> SocketAddr {
    let connections = Arc::new(AtomicUsize::new(0));
    server(move |stream| {
        let is_broken = connections.fetch_add(1, SeqCst) < breaks;
        respond_or_break(stream, is_broken)
    })
}

fn respond_or_break(mut stream: TcpStream, is_broken: bool) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&SETTINGS).ok()?;
    loop {
        let (kind, number) = read_frame(&mut stream)?;
        if kind == HEADERS {
            let head = [&[0, 0, 1, HEADERS, 1 | 4][..], &number, &[0x88]].concat();
            let bytes = if is_broken { &INVALID[..] } else { &head };
            stream.write_all(bytes).ok()?;
        }
    }
}

fn a_broken_connection_fails_one_request_if_the_others_may_be_sent_again(
    event_loop: EventLoopChoice,
) {
    for (method, malformed, resent) in [(Method::GET, 1, 2), (Method::POST, 3, 0)] {
        let result = load(&plan(event_loop, breaking(1).into(), method, 0, 6));
        let outcomes = result.outcomes;
        assert_eq!(outcomes[Outcome::Malformed], malformed, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Ok], 6 - malformed, "{outcomes:?}");
        assert_eq!(result.resent, resent);
    }
}

fn every_request_to_a_server_that_always_breaks_the_rules_is_malformed(
    event_loop: EventLoopChoice,
) {
    for method in [Method::GET, Method::POST] {
        let result = load(&plan(
            event_loop,
            breaking(usize::MAX).into(),
            method.clone(),
            0,
            6,
        ));
        let outcomes = result.outcomes;
        assert_eq!(outcomes[Outcome::Malformed], 6, "{outcomes:?}");
        // The first request of each connection never is.
        let may_resend = method == Method::GET;
        assert_eq!(result.resent > 0, may_resend, "{}", result.resent);
        assert!(result.resent < 6, "{}", result.resent);
    }
}

/// Responds to the first request before its body has arrived, as a server may that does not read it, and then tells the
/// client not to send the rest (RFC 9113, section 8.1). Reads the others to their end.
fn respond_early_once(mut stream: TcpStream) -> Option<()> {
    const FIRST: [u8; 4] = [0, 0, 0, 1];
    const END_STREAM: u8 = 1;
    read_preface(&mut stream)?;
    // Room for the bodies on the connection; the streams get theirs one by one.
    let settings = [&SETTINGS[..], &WIDE[15..]].concat();
    stream.write_all(&settings).ok()?;
    loop {
        let (kind, flags, number) = read_head(&mut stream)?;
        let response = [&[0, 0, 1, HEADERS, 1 | 4][..], &number, &[0x88]].concat();
        let bytes = match (kind, number) {
            (HEADERS, FIRST) => {
                let no_error = [&[0, 0, 4, RST_STREAM, 0][..], &number, &[0; 4]].concat();
                [response, no_error].concat()
            }
            (HEADERS, _) => [&[0, 0, 4, 8, 0][..], &number, &[0, 0x7f, 0, 0]].concat(),
            (DATA, other) if other != FIRST && flags & END_STREAM != 0 => response,
            _ => continue,
        };
        stream.write_all(&bytes).ok()?;
    }
}

fn an_early_response_fails_its_own_request_alone(event_loop: EventLoopChoice) {
    const REQUESTS: u64 = 12;
    // More than the window of a stream, so that the request is not fully sent.
    const BODY: usize = 100_000;
    let address = server(respond_early_once);
    let result = load(&plan(
        event_loop,
        address.into(),
        Method::POST,
        BODY,
        REQUESTS,
    ));
    let outcomes = result.outcomes;
    assert_eq!(outcomes[Outcome::Malformed], 1, "{outcomes:?}");
    assert_eq!(outcomes[Outcome::Ok], REQUESTS - 1, "{outcomes:?}");
    let detail = result.first_wrong.unwrap().detail;
    assert!(detail.contains("before the request was"), "{detail}");
    assert_eq!((result.connections_opened, result.resent), (1, 0));
}

/// Closes the connection while the first request clogs it, and then tells how many requests have begun to arrive.
fn close_clogged(mut stream: UnixStream, arrived: &Sender<u64>) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&WIDE).ok()?;
    thread::sleep(Duration::from_millis(500));
    stream.shutdown(Shutdown::Write).ok()?;
    // The client would send more if there was room before it knew.
    thread::sleep(Duration::from_millis(100));
    let mut heads = 0;
    while let Some((kind, _)) = read_frame(&mut stream) {
        heads += u64::from(kind == HEADERS);
    }
    arrived.send(heads).ok()
}

fn requests_that_were_never_sent_are_sent_over_the_next_connection(event_loop: EventLoopChoice) {
    let folder = tempfile::tempdir().unwrap();
    let (sender, arrived) = channel();
    let endpoint = unix_server(&folder, move |stream, number| match number {
        0 => close_clogged(stream, &sender),
        _ => respond_to_all(stream),
    });
    let plan = LoadPlan {
        shape: even(5.0),
        ..plan(event_loop, endpoint, Method::POST, LONG, 3)
    };
    let result = load(&plan);
    let (outcomes, lost) = (result.outcomes, arrived.recv().unwrap());
    assert!((1..3).contains(&lost), "{lost}");
    assert_eq!(outcomes[Outcome::Reset], lost, "{outcomes:?}");
    assert_eq!(outcomes[Outcome::Ok], 3 - lost, "{outcomes:?}");
    assert_eq!(result.resent, 0);
}

/// Refuses the first request when the second one arrives, and then reads nothing, but wants responses.
fn refuse_first(mut stream: UnixStream) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&WIDE).ok()?;
    let mut heads = 0;
    while heads < 2 {
        heads += u8::from(read_frame(&mut stream)?.0 == HEADERS);
    }
    let refusal = [&[0, 0, 4, RST_STREAM, 0, 0, 0, 0, 1][..], &REFUSED_STREAM].concat();
    stream.write_all(&refusal).ok()?;
    let ping = [0, 0, 8, PING, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // So that they clog the client once its bodies do.
    thread::sleep(Duration::from_millis(300));
    stream.write_all(&ping.repeat(9000)).ok()?;
    thread::sleep(Duration::from_secs(20));
    Some(())
}

fn the_overdue_request_times_out_even_if_it_is_not_the_first(event_loop: EventLoopChoice) {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = unix_server(&folder, |stream, number| match number {
        0 => refuse_first(stream),
        _ => respond_to_all(stream),
    });
    let plan = LoadPlan {
        shape: slowly(),
        timeout: Duration::from_secs(2),
        ..plan(event_loop, endpoint, Method::PUT, LONG, 2)
    };
    // The first request is sent again behind the second one, and times out a second earlier.
    let result = load(&plan);
    assert_outcome(&result, Outcome::TimedOut, 1);
    assert_outcome(&result, Outcome::Ok, 1);
}
