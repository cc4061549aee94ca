//! HTTP/2 connections on which some requests fail: each has the outcome that is its own.

use prony_model::Seconds;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use http::Method;
use prony_load::{Endpoint, EventLoopChoice, LoadPlan};
use prony_testkit::connections::serve;
use prony_testkit::contains;
use rustix::event::{PollFd, PollFlags, poll};
use tempfile::TempDir;

use crate::h2_frames::{
    DATA, HEADERS, REFUSED_STREAM, SETTINGS, converse, ok, read_frame, read_preface, reset,
};
use crate::plans::{assert_outcomes, even, http2_plan_to, load, over_one_connection};

over_each_loop!(
    only_a_response_that_has_begun_is_truncated,
    a_connection_whose_last_request_is_reset_is_replaced,
    a_broken_connection_fails_one_request_if_the_others_may_be_sent_again,
    every_request_to_a_server_that_always_breaks_the_rules_is_malformed,
    an_early_response_fails_its_own_request_alone,
    requests_that_were_never_sent_are_sent_over_the_next_connection,
    the_overdue_request_times_out_even_if_it_is_not_the_first
);

/// The longest windows, of streams and of the connection.
const WIDE: [u8; 28] = [
    0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff, //
    0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0,
];
/// More than sockets and queues hold.
const LONG: usize = 2 << 20;

/// Three requests at a time over one connection.
fn plan(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    method: Method,
    body: usize,
    requests: u64,
) -> LoadPlan {
    let plan = http2_plan_to(event_loop, address, method, &vec![b'x'; body], requests);
    over_one_connection(plan).with(|plan| plan.load.pipeline = 3)
}

/// Reads frames until as many requests have begun.
fn read_heads(stream: &mut impl Read, count: u64) -> Option<()> {
    let mut heads = 0;
    while heads < count {
        heads += u64::from(read_frame(stream)?.0 == HEADERS);
    }
    Some(())
}

/// Begins to respond to one of three requests, and closes the connection.
fn begin_one(mut stream: TcpStream, begun: u8) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&SETTINGS).ok()?;
    read_heads(&mut stream, 3)?;
    let head = [0, 0, 1, HEADERS, 4, 0, 0, 0, begun, 0x88];
    stream.write_all(&head).ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    while read_frame(&mut stream).is_some() {}
    Some(())
}

fn only_a_response_that_has_begun_is_truncated(event_loop: EventLoopChoice) {
    for begun in [1, 3, 5] {
        let address = serve(move |stream| begin_one(stream, begun));
        let result = load(&plan(event_loop, address, Method::POST, 0, 3));
        assert_outcomes(&result, "1 truncated and 2 reset");
    }
}

fn a_connection_whose_last_request_is_reset_is_replaced(event_loop: EventLoopChoice) {
    const INTERNAL_ERROR: u8 = 2;
    let address = serve(|stream| {
        converse(stream, &SETTINGS, |frame| match frame.kind {
            HEADERS => reset(frame.stream, INTERNAL_ERROR),
            _ => vec![],
        })
    });
    for per_connection in [None, Some(1), Some(2)] {
        let result = load(
            &http2_plan_to(event_loop, address, Method::GET, b"", 10)
                .with(|plan| plan.load.requests_per_connection = per_connection),
        );
        assert_outcomes(&result, "10 reset");
        let least = per_connection.map_or(1, |most| 10 / most);
        assert!(result.connections_opened >= least, "{per_connection:?}");
    }
}

/// The server breaks the rules when the first request arrives, over as many connections as `breaks`, and then responds.
fn breaking(breaks: usize) -> SocketAddr {
    /// A frame that no server may send: DATA on stream 0.
    const INVALID: [u8; 9] = [0; 9];
    let connections = Arc::new(AtomicUsize::new(0));
    serve(move |stream| {
        let is_broken = connections.fetch_add(1, SeqCst) < breaks;
        converse(stream, &SETTINGS, |frame| match frame.kind {
            HEADERS if is_broken => INVALID.into(),
            HEADERS => ok(frame.stream),
            _ => vec![],
        })
    })
}

fn a_broken_connection_fails_one_request_if_the_others_may_be_sent_again(
    event_loop: EventLoopChoice,
) {
    for (method, expected, resent) in [
        (Method::GET, "5 ok and 1 malformed", 2),
        (Method::POST, "3 ok and 3 malformed", 0),
    ] {
        let result = load(&plan(event_loop, breaking(1), method, 0, 6));
        assert_outcomes(&result, expected);
        assert_eq!(result.resent, resent);
    }
}

fn every_request_to_a_server_that_always_breaks_the_rules_is_malformed(
    event_loop: EventLoopChoice,
) {
    // The first request of each connection is never sent again.
    for (method, resent) in [(Method::GET, 1..6), (Method::POST, 0..1)] {
        let result = load(&plan(event_loop, breaking(usize::MAX), method, 0, 6));
        assert_outcomes(&result, "6 malformed");
        assert!(resent.contains(&result.resent), "{}", result.resent);
    }
}

/// Responds to the first request before its body has arrived, as a server may that does not read it, and then tells the
/// client not to send the rest (RFC 9113, section 8.1). Reads the others to their end.
fn respond_early_once(stream: TcpStream) -> Option<()> {
    const FIRST: [u8; 4] = [0, 0, 0, 1];
    const NO_ERROR: u8 = 0;
    // Room for the bodies on the connection; the streams get theirs one by one.
    let settings = [&SETTINGS[..], &WIDE[15..]].concat();
    converse(stream, &settings, |frame| {
        match (frame.kind, frame.stream) {
            (HEADERS, FIRST) => [ok(FIRST), reset(FIRST, NO_ERROR)].concat(),
            (HEADERS, other) => [&[0, 0, 4, 8, 0][..], &other, &[0, 0x7f, 0, 0]].concat(),
            (DATA, other) if other != FIRST && frame.ends_request => ok(other),
            _ => vec![],
        }
    })
}

fn an_early_response_fails_its_own_request_alone(event_loop: EventLoopChoice) {
    // More than the window of a stream, so that the request is not fully sent.
    const BODY: usize = 100_000;
    let result = load(&plan(
        event_loop,
        serve(respond_early_once),
        Method::POST,
        BODY,
        12,
    ));
    assert_outcomes(&result, "11 ok and 1 malformed");
    let detail = result.first_wrong.unwrap().detail;
    contains(&detail, "before the request was");
    assert_eq!((result.connections_opened, result.resent), (1, 0));
}

/// A load of a server on a Unix socket, which holds a fixed number of bytes. `first` is the conversation over its first
/// connection; over the others it responds to each request once it has arrived whole.
fn unix_plan(
    event_loop: EventLoopChoice,
    folder: &TempDir,
    (method, requests): (Method, u64),
    first: impl FnOnce(UnixStream) -> Option<()> + Send + 'static,
) -> LoadPlan {
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        thread::spawn(|| first(stream));
        for stream in listener.incoming() {
            thread::spawn(|| {
                converse(stream.unwrap(), &WIDE, |frame| {
                    if frame.ends_request {
                        ok(frame.stream)
                    } else {
                        vec![]
                    }
                })
            });
        }
    });
    plan(
        event_loop,
        ([127, 0, 0, 1], 1).into(),
        method,
        LONG,
        requests,
    )
    .with(|plan| plan.endpoint = Endpoint::Unix(path))
}

/// Closes the connection while the first request clogs it, and then says how many requests have begun to arrive.
fn close_clogged(mut stream: UnixStream, arrived: &Sender<u64>) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&WIDE).ok()?;
    read_heads(&mut stream, 1)?;
    thread::sleep(Duration::from_millis(500));
    stream.shutdown(Shutdown::Write).ok()?;
    // The client would send more if there was room before it knew: this waits until it has closed, too.
    poll(&mut [PollFd::new(&stream, PollFlags::empty())], None).ok()?;
    let mut heads = 1;
    while let Some((kind, _)) = read_frame(&mut stream) {
        heads += u64::from(kind == HEADERS);
    }
    arrived.send(heads).ok()
}

fn requests_that_were_never_sent_are_sent_over_the_next_connection(event_loop: EventLoopChoice) {
    let folder = tempfile::tempdir().unwrap();
    let (sender, arrived) = channel();
    let first = move |stream| close_clogged(stream, &sender);
    let result = load(
        &unix_plan(event_loop, &folder, (Method::POST, 3), first)
            .with(|plan| plan.load.shape = even(5.0)),
    );
    let lost = arrived.recv().unwrap();
    assert!((1..3).contains(&lost), "{lost}");
    assert_outcomes(&result, &format!("{} ok and {lost} reset", 3 - lost));
    assert_eq!(result.resent, 0);
}

/// Refuses the first request when the second one arrives, and then reads nothing, but wants responses.
fn refuse_first(mut stream: UnixStream) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&WIDE).ok()?;
    read_heads(&mut stream, 2)?;
    let refusal = reset([0, 0, 0, 1], REFUSED_STREAM);
    stream.write_all(&refusal).ok()?;
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // So that they clog the client once its bodies do.
    thread::sleep(Duration::from_millis(300));
    stream.write_all(&ping.repeat(9000)).ok()?;
    thread::sleep(Duration::from_secs(20));
    Some(())
}

fn the_overdue_request_times_out_even_if_it_is_not_the_first(event_loop: EventLoopChoice) {
    let folder = tempfile::tempdir().unwrap();
    // The first request is sent again behind the second one, and times out two seconds earlier.
    let result = load(
        &unix_plan(event_loop, &folder, (Method::PUT, 2), refuse_first).with(|plan| {
            plan.load.shape = even(0.5);
            plan.load.timeout = Seconds::from_secs(4);
        }),
    );
    assert_outcomes(&result, "1 ok and 1 timed_out");
}
