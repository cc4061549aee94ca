//! Requests that an HTTP/2 server certainly has not processed are sent again once, whatever their method, and counted.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use http::Method;
use prony_load::wire::h2::StreamRequest;
use prony_load::{EventLoopChoice, LoadPlan, WireRequest};
use prony_model::{Ended, Outcome};

use crate::h2_frames::{HEADERS, read_frame, read_head, read_preface, server};
use crate::plans::{assert_outcome, get_from, load};

over_each_loop!(
    requests_beyond_the_last_stream_of_a_goaway_are_sent_over_the_next_connection,
    a_request_refused_by_two_goaways_is_a_reset,
    requests_whose_connections_only_go_away_time_out_while_they_pause,
    a_storm_of_goaways_is_no_storm_of_connections,
    requests_of_refused_streams_are_sent_again_over_the_same_connection,
    a_request_refused_twice_is_a_reset
);

const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const END_STREAM: u8 = 1;
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];

/// A GOAWAY frame with NO_ERROR.
fn go_away(last_stream: u8) -> [u8; 17] {
    [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last_stream, 0, 0, 0, 0]
}

/// A POST, `in_flight` at a time over each of `connections` connections.
fn plan(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    connections: usize,
    in_flight: usize,
    requests: u64,
) -> LoadPlan {
    let request = StreamRequest::http(&Method::POST, "http", "localhost", "/", &[], b"body");
    LoadPlan {
        request: WireRequest::from(request.unwrap()).into(),
        connections,
        max_connections: connections,
        threads: 1,
        pipeline: in_flight,
        ..get_from(event_loop, address, requests)
    }
}

/// What a server has seen.
#[derive(Clone, Default)]
struct Seen {
    connections: Arc<AtomicU64>,
    /// Requests that it responded to.
    responses: Arc<AtomicU64>,
    /// Requests that it has not processed.
    unprocessed: Arc<AtomicU64>,
}

impl Seen {
    fn responses(&self) -> u64 {
        self.responses.load(SeqCst)
    }

    fn respond(&self, stream: &mut TcpStream, number: [u8; 4]) -> Option<()> {
        self.responses.fetch_add(1, SeqCst);
        let head = [&[0, 0, 1, HEADERS, 1 | 4][..], &number, &[0x88]].concat();
        stream.write_all(&head).ok()
    }

    /// How many requests it has not processed, once it has seen `expected`: it may be behind.
    fn unprocessed(&self, expected: u64) -> u64 {
        let give_up = Instant::now() + Duration::from_secs(10);
        while self.unprocessed.load(SeqCst) < expected && Instant::now() < give_up {
            thread::sleep(Duration::from_millis(1));
        }
        self.unprocessed.load(SeqCst)
    }
}

/// On its first connection the server goes away when the third request arrives, and responds to the first one.
fn go_away_once(mut stream: TcpStream, seen: &Seen) -> Option<()> {
    let goes_away = seen.connections.fetch_add(1, SeqCst) == 0;
    read_preface(&mut stream)?;
    stream.write_all(&SETTINGS).ok()?;
    let mut heads = 0;
    loop {
        let (kind, flags, number) = read_head(&mut stream)?;
        let is_whole = matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0;
        if !goes_away {
            if is_whole {
                seen.respond(&mut stream, number)?;
            }
            continue;
        }
        heads += u64::from(kind == HEADERS);
        if kind == HEADERS && heads > 1 {
            seen.unprocessed.fetch_add(1, SeqCst);
        }
        if kind == HEADERS && heads == 3 {
            stream.write_all(&go_away(1)).ok()?;
            seen.respond(&mut stream, [0, 0, 0, 1])?;
        }
    }
}

fn requests_beyond_the_last_stream_of_a_goaway_are_sent_over_the_next_connection(
    event_loop: EventLoopChoice,
) {
    const REQUESTS: u64 = 20;
    for in_flight in [3, 5] {
        let seen = Seen::default();
        let server_side = seen.clone();
        let address = server(move |stream| go_away_once(stream, &server_side));
        let result = load(&plan(event_loop, address, 1, in_flight, REQUESTS));
        assert_outcome(&result, Outcome::Ok, REQUESTS);
        assert_eq!(seen.responses(), REQUESTS);
        // All that were in flight but the first one.
        assert_eq!(result.resent, in_flight as u64 - 1);
        assert_eq!(seen.unprocessed(result.resent), result.resent);
        assert_eq!((result.connections_opened, result.reconnects), (2, 1));
    }
}

/// The server goes away before it has processed anything.
fn storm(mut stream: TcpStream, connections: &AtomicU64) -> Option<()> {
    connections.fetch_add(1, SeqCst);
    read_preface(&mut stream)?;
    stream
        .write_all(&[&SETTINGS[..], &go_away(0)].concat())
        .ok()?;
    while read_frame(&mut stream).is_some() {}
    Some(())
}

fn storming() -> (SocketAddr, Arc<AtomicU64>) {
    let connections = Arc::new(AtomicU64::new(0));
    let counted = connections.clone();
    let address = server(move |stream| storm(stream, &counted));
    (address, connections)
}

fn a_request_refused_by_two_goaways_is_a_reset(event_loop: EventLoopChoice) {
    let (address, connections) = storming();
    let result = load(&plan(event_loop, address, 3, 1, 12));
    assert_outcome(&result, Outcome::Reset, 12);
    let detail = result.first_wrong.unwrap().detail;
    assert!(detail.contains("is going away"), "{detail}");
    assert_eq!((result.resent, result.connections_opened), (12, 24));
    assert_eq!(connections.load(SeqCst), 24);
    // Some connection had four requests, with pauses of 10, 20, 40 and 80 ms before they were sent again.
    assert!(result.duration_s >= 0.15, "{}", result.duration_s);
}

fn requests_whose_connections_only_go_away_time_out_while_they_pause(event_loop: EventLoopChoice) {
    let (address, _) = storming();
    let plan = LoadPlan {
        timeout: Duration::from_millis(50),
        ..plan(event_loop, address, 3, 1, 18)
    };
    let result = load(&plan);
    let outcomes = result.outcomes;
    let both = outcomes[Outcome::Reset] + outcomes[Outcome::TimedOut];
    assert_eq!((outcomes.total(), both), (18, 18), "{outcomes:?}");
    // The pauses become longer than the timeout.
    assert!(outcomes[Outcome::TimedOut] > 0, "{outcomes:?}");
}

fn a_storm_of_goaways_is_no_storm_of_connections(event_loop: EventLoopChoice) {
    let (address, connections) = storming();
    let plan = LoadPlan {
        requests: None,
        duration: Some(Duration::from_secs(1)),
        ..plan(event_loop, address, 3, 2, 1)
    };
    let result = load(&plan);
    assert_eq!(result.ended, Ended::Duration);
    let outcomes = result.outcomes;
    let both = outcomes[Outcome::Reset] + outcomes[Outcome::Unfinished];
    assert_eq!(outcomes.total(), both, "{outcomes:?}");
    // Six pauses of 10, 20, … 320 ms fit into a second. A connection follows each of them, and then one at once.
    let most = 3 * (1 + 2 * 7);
    assert!(result.connections_opened <= most, "{result:?}");
    assert!(connections.load(SeqCst) <= most);
}

/// Refuses the streams of some requests, by their number on the connection, and responds to the others.
fn refuse(mut stream: TcpStream, seen: &Seen, refuses: fn(u64) -> bool) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(&SETTINGS).ok()?;
    let mut wholes = 0;
    loop {
        let (kind, flags, number) = read_head(&mut stream)?;
        if !matches!(kind, HEADERS | DATA) || flags & END_STREAM == 0 {
            continue;
        }
        if refuses(wholes) {
            seen.unprocessed.fetch_add(1, SeqCst);
            let refusal = [&[0, 0, 4, RST_STREAM, 0][..], &number, &REFUSED_STREAM].concat();
            stream.write_all(&refusal).ok()?;
        } else {
            seen.respond(&mut stream, number)?;
        }
        wholes += 1;
    }
}

fn requests_of_refused_streams_are_sent_again_over_the_same_connection(
    event_loop: EventLoopChoice,
) {
    let every_other: fn(u64) -> bool = |number| number.is_multiple_of(2);
    // With several in flight the first ones: then it is certain which are sent again.
    for (in_flight, refuses, refused) in [(1, every_other, 12), (4, |number| number < 4, 4)] {
        let seen = Seen::default();
        let server_side = seen.clone();
        let address = server(move |stream| refuse(stream, &server_side, refuses));
        let result = load(&plan(event_loop, address, 1, in_flight, 12));
        assert_outcome(&result, Outcome::Ok, 12);
        assert_eq!((seen.responses(), result.resent), (12, refused));
        assert_eq!(seen.unprocessed(refused), refused);
        assert_eq!(result.connections_opened, 1);
    }
}

fn a_request_refused_twice_is_a_reset(event_loop: EventLoopChoice) {
    let seen = Seen::default();
    let server_side = seen.clone();
    let address = server(move |stream| refuse(stream, &server_side, |_| true));
    let result = load(&plan(event_loop, address, 1, 4, 12));
    assert_outcome(&result, Outcome::Reset, 12);
    assert_eq!((seen.unprocessed(24), result.resent), (24, 12));
    assert_eq!(result.connections_opened, 1);
}
