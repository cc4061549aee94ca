//! HTTP/2 connections that lose their room while they wait for arrivals, or do not have it yet.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{LoadResult, Outcome};

use crate::h2_frames::{HEADERS, read_frame, read_preface, server};
use crate::plans::{assert_outcome, even, http2_plan_to, load};

over_each_loop!(
    arrivals_go_to_connections_with_room,
    a_connection_that_has_room_again_takes_arrivals_again,
    no_request_times_out_in_line_for_a_stream
);

const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const ONE_STREAM: [u8; 15] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1];
/// No stream after the first is processed.
const GO_AWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

const REQUESTS: u64 = 10;

/// Two connections. The server sends `notice` after the first request of the first one, and responds to that request
/// once the second one has had `others` responses.
#[derive(Clone)]
struct Holding {
    notice: &'static [u8],
    others: u64,
    connections: Arc<AtomicU64>,
    responses: Arc<[AtomicU64; 2]>,
}

impl Holding {
    fn new(notice: &'static [u8], others: u64) -> Self {
        Self {
            notice,
            others,
            connections: Arc::default(),
            responses: Arc::default(),
        }
    }

    fn responses(&self, connection: usize) -> u64 {
        self.responses[connection].load(SeqCst)
    }

    fn converse(&self, mut stream: TcpStream) -> Option<()> {
        let connection = self.connections.fetch_add(1, SeqCst) as usize;
        read_preface(&mut stream)?;
        stream.write_all(&SETTINGS).ok()?;
        loop {
            let (kind, number) = read_frame(&mut stream)?;
            if kind != HEADERS {
                continue;
            }
            if connection == 0 && self.responses(0) == 0 {
                stream.write_all(self.notice).ok()?;
                let give_up = Instant::now() + Duration::from_secs(10);
                while self.responses(1) < self.others && Instant::now() < give_up {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            self.responses.get(connection)?.fetch_add(1, SeqCst);
            let head = [&[0, 0, 1, HEADERS, 1 | 4][..], &number, &[0x88]].concat();
            stream.write_all(&head).ok()?;
        }
    }

    fn load(&self, event_loop: EventLoopChoice) -> LoadResult {
        let holding = self.clone();
        let address = server(move |stream| holding.converse(stream));
        let plan = LoadPlan {
            connections: 2,
            max_connections: 2,
            pipeline: 2,
            threads: 1,
            timeout: Duration::from_secs(5),
            // The notice arrives before the third request.
            shape: even(10.0),
            ..http2_plan_to(event_loop, address, REQUESTS)
        };
        load(&plan)
    }
}

fn arrivals_go_to_connections_with_room(event_loop: EventLoopChoice) {
    for notice in [&GO_AWAY[..], &ONE_STREAM] {
        // All the other requests, or the first one has no response.
        let holding = Holding::new(notice, REQUESTS - 1);
        let result = holding.load(event_loop);
        assert_outcome(&result, Outcome::Ok, REQUESTS);
    }
}

fn a_connection_that_has_room_again_takes_arrivals_again(event_loop: EventLoopChoice) {
    let holding = Holding::new(&ONE_STREAM, 4);
    let result = holding.load(event_loop);
    assert_outcome(&result, Outcome::Ok, REQUESTS);
    assert!(holding.responses(0) > 1, "{}", holding.responses(0));
}

/// Reads requests, and never says how many streams it takes.
fn count_heads(mut stream: TcpStream, heads: &AtomicU64) -> Option<()> {
    read_preface(&mut stream)?;
    loop {
        let (kind, _) = read_frame(&mut stream)?;
        heads.fetch_add(u64::from(kind == HEADERS), SeqCst);
    }
}

fn no_request_times_out_in_line_for_a_stream(event_loop: EventLoopChoice) {
    let heads = Arc::new(AtomicU64::new(0));
    let counted = heads.clone();
    let address = server(move |stream| count_heads(stream, &counted));
    let plan = LoadPlan {
        connections: 1,
        max_connections: 1,
        threads: 1,
        pipeline: 300,
        timeout: Duration::from_millis(200),
        ..http2_plan_to(event_loop, address, 300)
    };
    let result = load(&plan);
    assert_outcome(&result, Outcome::TimedOut, 300);
    let give_up = Instant::now() + Duration::from_secs(10);
    while heads.load(SeqCst) < 300 && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(heads.load(SeqCst), 300, "each was sent");
}
