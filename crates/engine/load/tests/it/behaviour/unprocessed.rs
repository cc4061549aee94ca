//! Requests that an HTTP/2 server certainly has not processed are sent again once, whatever their method, and counted.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use http::Method;
use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Ended, Outcome, Seconds};
use prony_testkit::connections::serve;
use prony_testkit::until;

use crate::h2_frames::{HEADERS, REFUSED_STREAM, SETTINGS, converse, go_away, ok, reset};
use crate::plans::{assert_outcomes, http2_plan_to, load, over_one_connection};

over_each_loop!(
    requests_beyond_the_last_stream_of_a_goaway_are_sent_over_the_next_connection,
    a_request_refused_by_two_goaways_is_a_reset,
    requests_whose_connections_only_go_away_time_out_while_they_pause,
    a_storm_of_goaways_is_no_storm_of_connections,
    requests_of_refused_streams_are_sent_again_over_the_same_connection,
    a_request_refused_twice_is_a_reset
);

/// A POST over each of three connections.
fn plan(event_loop: EventLoopChoice, address: SocketAddr, requests: u64) -> LoadPlan {
    http2_plan_to(event_loop, address, Method::POST, b"body", requests)
        .with(|plan| plan.load.threads = 1)
}

/// `in_flight` at a time over one connection.
fn in_flight(
    event_loop: EventLoopChoice,
    address: SocketAddr,
    in_flight: usize,
    requests: u64,
) -> LoadPlan {
    over_one_connection(plan(event_loop, address, requests))
        .with(|plan| plan.load.pipeline = in_flight)
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
    fn respond(&self, stream: [u8; 4]) -> Vec<u8> {
        self.responses.fetch_add(1, SeqCst);
        ok(stream)
    }

    /// Waits until it has not processed that many requests, and responded to these: it may be behind.
    #[track_caller]
    fn check(&self, unprocessed: u64, responses: u64) {
        until("the last request", || {
            (self.unprocessed.load(SeqCst) >= unprocessed).then_some(())
        });
        let seen = [&self.unprocessed, &self.responses].map(|count| count.load(SeqCst));
        assert_eq!(seen, [unprocessed, responses]);
    }
}

/// On its first connection the server goes away when the third request arrives, and responds to the first one.
fn go_away_once(stream: TcpStream, seen: &Seen) -> Option<()> {
    let goes_away = seen.connections.fetch_add(1, SeqCst) == 0;
    let mut heads = 0;
    converse(stream, &SETTINGS, |frame| {
        if !goes_away && frame.ends_request {
            return seen.respond(frame.stream);
        }
        if !goes_away || frame.kind != HEADERS {
            return vec![];
        }
        heads += 1;
        seen.unprocessed.fetch_add(u64::from(heads > 1), SeqCst);
        match heads {
            3 => [&go_away(1)[..], &seen.respond([0, 0, 0, 1])].concat(),
            _ => vec![],
        }
    })
}

fn requests_beyond_the_last_stream_of_a_goaway_are_sent_over_the_next_connection(
    event_loop: EventLoopChoice,
) {
    for count in [3, 5] {
        let seen = Seen::default();
        let server_side = seen.clone();
        let address = serve(move |stream| go_away_once(stream, &server_side));
        let result = load(&in_flight(event_loop, address, count, 20));
        assert_outcomes(&result, "20 ok");
        // All that were in flight but the first one.
        assert_eq!(result.resent, count as u64 - 1);
        seen.check(result.resent, 20);
        assert_eq!((result.connections_opened, result.reconnects), (2, 1));
    }
}

/// A server that goes away before it has processed anything, and how many connections it has had.
fn storming() -> (SocketAddr, Arc<AtomicU64>) {
    let connections = Arc::new(AtomicU64::new(0));
    let counted = connections.clone();
    let address = serve(move |stream| {
        counted.fetch_add(1, SeqCst);
        let greeting = [&SETTINGS[..], &go_away(0)].concat();
        converse(stream, &greeting, |_| vec![])
    });
    (address, connections)
}

fn a_request_refused_by_two_goaways_is_a_reset(event_loop: EventLoopChoice) {
    let (address, connections) = storming();
    let result = load(&plan(event_loop, address, 12));
    assert_outcomes(&result, "12 reset");
    let detail = result.first_wrong.unwrap().detail;
    assert!(detail.contains("is going away"), "{detail}");
    assert_eq!((result.resent, result.connections_opened), (12, 24));
    assert_eq!(connections.load(SeqCst), 24);
    // Some connection had four requests, with pauses of 10, 20, 40 and 80 ms before they were sent again.
    assert!(result.duration_s >= 0.15, "{}", result.duration_s);
}

fn requests_whose_connections_only_go_away_time_out_while_they_pause(event_loop: EventLoopChoice) {
    let (address, _) = storming();
    let result = load(
        &plan(event_loop, address, 18).with(|plan| plan.load.timeout = Seconds::from_millis(50)),
    );
    let outcomes = result.outcomes;
    let both = outcomes[Outcome::Reset] + outcomes[Outcome::TimedOut];
    assert_eq!((outcomes.total(), both), (18, 18), "{outcomes:?}");
    // The pauses become longer than the timeout.
    assert!(outcomes[Outcome::TimedOut] > 0, "{outcomes:?}");
}

fn a_storm_of_goaways_is_no_storm_of_connections(event_loop: EventLoopChoice) {
    let (address, connections) = storming();
    let result = load(&plan(event_loop, address, 1).with(|plan| {
        plan.load.requests = None;
        plan.load.duration = Some(Seconds::from_secs(1));
        plan.load.pipeline = 2;
    }));
    assert_eq!(result.ended, Ended::Duration);
    let outcomes = result.outcomes;
    let both = outcomes[Outcome::Reset] + outcomes[Outcome::Unfinished];
    assert_eq!(outcomes.total(), both, "{outcomes:?}");
    // Six pauses of 10, 20, … 320 ms fit into a second. A connection follows each of them, and then one at once.
    let most = 3 * (1 + 2 * 7);
    assert!(result.connections_opened <= most, "{result:?}");
    assert!(connections.load(SeqCst) <= most);
}

/// A server that refuses the streams of some requests, by their number on the connection, and responds to the others.
fn refusing(refuses: fn(u64) -> bool) -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let server_side = seen.clone();
    let address = serve(move |stream| {
        let mut numbers = 0..;
        converse(stream, &SETTINGS, |frame| {
            if !frame.ends_request {
                return vec![];
            }
            if !numbers.next().is_some_and(refuses) {
                return server_side.respond(frame.stream);
            }
            server_side.unprocessed.fetch_add(1, SeqCst);
            reset(frame.stream, REFUSED_STREAM)
        })
    });
    (address, seen)
}

fn requests_of_refused_streams_are_sent_again_over_the_same_connection(
    event_loop: EventLoopChoice,
) {
    let every_other: fn(u64) -> bool = |number| number.is_multiple_of(2);
    // With several in flight the first ones: then it is certain which are sent again.
    for (count, refuses, refused) in [(1, every_other, 12), (4, |number| number < 4, 4)] {
        let (address, seen) = refusing(refuses);
        let result = load(&in_flight(event_loop, address, count, 12));
        assert_outcomes(&result, "12 ok");
        seen.check(refused, 12);
        assert_eq!((result.resent, result.connections_opened), (refused, 1));
    }
}

fn a_request_refused_twice_is_a_reset(event_loop: EventLoopChoice) {
    let (address, seen) = refusing(|_| true);
    let result = load(&in_flight(event_loop, address, 4, 12));
    assert_outcomes(&result, "12 reset");
    seen.check(24, 0);
    assert_eq!((result.resent, result.connections_opened), (12, 1));
}
