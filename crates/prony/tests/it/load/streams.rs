//! Event streams: those of a load's responses, and those held open beside it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::load::{Ceiling, Holds, Shows, failed, loaded};
use prony_testkit::connections;

#[test]
fn the_events_of_responses_are_counted() {
    let ceiling = Ceiling::start();
    let url = ceiling.url("sse-20k");
    let (ended, result) = loaded(format!("--sse -n40 -c2 {url}"));
    // Each response is one event.
    result.holds("outcomes.ok=40 events.count=40");
    let ended = ended.prints("  40 events, ").prints("  First event: p50 ");
    ended.lacks("Between events");
    let (ended, result) = loaded(format!("-n40 -c2 {url}"));
    ended.lacks("event");
    result.holds("events=null");
}

#[test]
fn streams_are_held_open_beside_the_load() {
    let address = connections::serve(send_events);
    let (ended, result) = loaded(format!("--streams 5 -t1 -d2s http://{address}/"));
    ended.shows(
        "beside 5 held streams … no response ends, because the streams are held open … \
         Held open: 5 of 5 streams at the end … Slowest stream: … Events/sec:",
    );
    result.holds("load.connections=1 load.streams=5 streams.planned=5 streams.open_at_end=5");
    // Each stream has two, or there would be no gap.
    let events = &result["streams"]["events"];
    assert!(events["count"].as_u64() >= Some(2), "{events}");
    assert!(events["gap_ns"]["p50"].as_u64() > Some(0), "{events}");
}

#[test]
fn a_load_that_waits_for_the_end_of_event_streams_is_advised() {
    let advice = "The server streams events: use --streams, or --sse if the streams end";
    let address = connections::serve(send_events);
    let load = format!("-c2 -d200ms --timeout 300ms http://{address}/");
    failed(load.clone()).prints(advice);
    failed(format!("--sse {load}")).lacks(advice);
    let silent = connections::serve(stay_silent);
    failed(format!("-c2 -d200ms --timeout 300ms http://{silent}/")).lacks(advice);
}

fn stay_silent(mut stream: TcpStream) -> Option<()> {
    while stream.read(&mut [0; 1024]).ok()? > 0 {}
    Some(())
}

/// An endless stream.
fn send_events(mut stream: TcpStream) -> Option<()> {
    let _ = stream.read(&mut [0; 1024]);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    stream.write_all(head).ok()?;
    loop {
        stream.write_all(b"data: tick\n\n").ok()?;
        thread::sleep(Duration::from_millis(20));
    }
}
