//! Event streams: their events are counted and timed, and streams are held open beside a load.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use prony_load::{EventLoopChoice, HttpUrl, LoadPlan, Request, run};
use prony_model::{Ended, LoadResult, Outcome};

const LOOPS: [EventLoopChoice; 2] = [EventLoopChoice::Auto, EventLoopChoice::Epoll];
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Before the first event of a response.
const FIRST: Duration = Duration::from_millis(20);
/// Between two of its events.
const GAP: Duration = Duration::from_millis(5);

/// Responds to every request with a stream of N events.
struct StreamServer {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    /// Events whose sending has begun.
    events: Arc<AtomicU64>,
}

impl StreamServer {
    /// Starts a server; its threads end with their clients or with the test process.
    fn start(events_per_response: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            events: Arc::default(),
        };
        let (requests, events) = (server.requests.clone(), server.events.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, requests, events) =
                    (stream.unwrap(), requests.clone(), events.clone());
                // The conversation ends when the client closes.
                thread::spawn(move || converse(stream, events_per_response, &requests, &events));
            }
        });
        server
    }

    fn requests(&self) -> u64 {
        self.requests.load(SeqCst)
    }

    fn events(&self) -> u64 {
        self.events.load(SeqCst)
    }
}

fn converse(
    mut stream: TcpStream,
    events_per_response: u64,
    requests: &AtomicU64,
    events: &AtomicU64,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut pending, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(at) = pending.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            pending.drain(..at + 4);
            requests.fetch_add(1, SeqCst);
            stream.write_all(HEAD.as_bytes())?;
            thread::sleep(FIRST);
            for number in 0..events_per_response {
                if number > 0 {
                    thread::sleep(GAP);
                }
                events.fetch_add(1, SeqCst);
                send_event(&mut stream, number)?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => pending.extend_from_slice(&buffer[..length]),
        }
    }
}

/// A comment and one event, in two chunks that split a field's name.
fn send_event(stream: &mut TcpStream, number: u64) -> io::Result<()> {
    let text = format!(": still here\n\nid: {number}\ndata: one\r\ndata: two\n\n");
    let (first, second) = text.split_at(text.len() / 2);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    stream.write_all((chunk(first) + &chunk(second)).as_bytes())
}

fn plan(server: &StreamServer, event_loop: EventLoopChoice) -> LoadPlan {
    let url: HttpUrl = format!("http://{}/events", server.address).parse().unwrap();
    let request = Request::new("GET", &url, &[], b"").unwrap();
    LoadPlan {
        timeout: Duration::from_secs(20),
        events: true,
        event_loop,
        ..LoadPlan::new(server.address.into(), url.as_str(), request)
    }
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(result.requests, result.outcomes.total());
    result
}

const fn ns(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

#[test]
fn every_event_of_a_response_is_counted_and_timed() {
    for event_loop in LOOPS {
        let server = StreamServer::start(10);
        let result = load(&LoadPlan {
            connections: 3,
            threads: 2,
            requests: Some(9),
            first_byte: true,
            ..plan(&server, event_loop)
        });
        assert_eq!(result.ended, Ended::Requests);
        assert_eq!(result.outcomes[Outcome::Ok], 9, "{:?}", result.first_wrong);
        assert_eq!((server.requests(), server.events()), (9, 90));
        let events = result.events.unwrap();
        assert_eq!(events.count, 90);
        assert!((events.per_s * result.duration_s - 90.0).abs() < 1e-6);

        let (first, gap) = (events.first_ns.unwrap(), events.gap_ns.unwrap());
        let (first_byte, latency) = (result.first_byte_ns.unwrap(), result.latency_ns.unwrap());
        assert!(first.min >= ns(FIRST), "{}", first.min);
        assert!(latency.min >= ns(FIRST + 9 * GAP), "{}", latency.min);
        // What holds for every request holds for their shortest and their longest.
        for [byte, event, last] in [
            [first_byte.min, first.min, latency.min],
            [first_byte.max, first.max, latency.max],
        ] {
            assert!(byte <= event && event < last, "{byte} {event} {last}");
        }
        // Ten events have nine gaps between them, and most of those are close to their script.
        assert!(
            (ns(GAP) / 2..10 * ns(GAP)).contains(&gap.p50),
            "{}",
            gap.p50
        );
        let all_gaps = gap.mean * 81.0;
        assert!(
            all_gaps <= (latency.mean - first.mean) * 9.0 * 1.01,
            "{all_gaps}"
        );
    }
}

#[test]
fn events_and_first_bytes_are_reported_only_on_request() {
    let server = StreamServer::start(3);
    let result = load(&LoadPlan {
        events: false,
        requests: Some(2),
        ..plan(&server, EventLoopChoice::Auto)
    });
    assert_eq!(result.outcomes[Outcome::Ok], 2);
    assert_eq!(
        (result.events, result.first_byte_ns, result.streams),
        (None, None, None)
    );
}

#[test]
fn a_response_of_one_event_has_no_gap() {
    let server = StreamServer::start(1);
    let result = load(&LoadPlan {
        requests: Some(4),
        ..plan(&server, EventLoopChoice::Auto)
    });
    let events = result.events.unwrap();
    assert_eq!((events.count, events.gap_ns), (4, None));
    assert!(events.first_ns.unwrap().min >= ns(FIRST));
}

#[test]
fn streams_are_held_open_to_the_end_beside_the_load() {
    for event_loop in LOOPS {
        let server = StreamServer::start(u64::MAX);
        let result = load(&LoadPlan {
            connections: 2,
            threads: 2,
            streams: 5,
            duration: Some(Duration::from_millis(800)),
            ..plan(&server, event_loop)
        });
        assert_eq!(result.ended, Ended::Duration);
        // The load's own responses are endless, too.
        assert_eq!(
            (result.requests, result.outcomes[Outcome::Unfinished]),
            (2, 2)
        );
        let streams = result.streams.unwrap();
        assert_eq!(
            (streams.planned, streams.open_at_end, streams.requests),
            (5, 5, 5)
        );
        assert_eq!(streams.outcomes[Outcome::Unfinished], 5);
        assert_eq!(streams.outcomes.total(), 5);
        assert_eq!(server.requests(), result.requests + streams.requests);
        let (own, held) = (result.events.unwrap(), streams.events);
        assert!(own.count >= 2 && held.count >= 5, "{own:?} {held:?}");
        assert!(own.count + held.count <= server.events());
        assert!(held.first_ns.unwrap().min >= ns(FIRST));
        assert!(held.gap_ns.is_some());
    }
}

#[test]
fn a_stream_that_the_server_ends_is_reopened() {
    for event_loop in LOOPS {
        let server = StreamServer::start(4);
        let result = load(&LoadPlan {
            connections: 1,
            streams: 2,
            requests: Some(20),
            ..plan(&server, event_loop)
        });
        assert_eq!(result.outcomes[Outcome::Ok], 20, "{:?}", result.first_wrong);
        assert_eq!(result.events.unwrap().count, 20 * 4);
        let streams = result.streams.unwrap();
        // A response takes about as long as one of the load's, of which there were 20 in a row.
        let ended = streams.outcomes[Outcome::Ok];
        assert!(ended >= 4, "{:?}", streams.outcomes);
        // The others were in flight when the load ended.
        let in_flight = streams.outcomes[Outcome::Unfinished];
        assert_eq!(
            streams.requests,
            ended + in_flight,
            "{:?}",
            streams.outcomes
        );
        assert!(streams.open_at_end <= in_flight && in_flight <= 2);
        let counted = streams.events.count;
        assert!(
            (ended * 4..=(ended + in_flight) * 4).contains(&counted),
            "{counted}"
        );
    }
}
