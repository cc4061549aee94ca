//! Event streams: those of a load's responses, and those held open beside it.

use prony_testkit::contains;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::load::{Ceiling, loaded, outcome};

#[test]
fn the_events_of_responses_are_counted() {
    let ceiling = Ceiling::start();
    let (shown, result) = loaded(&["--sse", "-n40", "-c2", &ceiling.url("sse-20k")]);
    assert_eq!(outcome(&result, "ok"), 40);
    // Each response is one event.
    assert_eq!(result["events"]["count"], 40);
    assert!(shown.contains("  40 events, "), "{shown}");
    assert!(shown.contains("  First event: p50 "), "{shown}");
    assert!(!shown.contains("Between events"), "{shown}");
    let (shown, result) = loaded(&["-n40", "-c2", &ceiling.url("sse-20k")]);
    assert!(!shown.contains("event"), "{shown}");
    assert!(result["events"].is_null());
}

#[test]
fn streams_are_held_open_beside_the_load() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || send_events(stream));
        }
    });
    let (shown, result) = loaded(&["--streams", "5", "-c1", "-t1", "-d300ms", &url]);
    assert!(shown.contains("beside 5 held streams"), "{shown}");
    contains(&shown, "Held open: 5 of 5 streams at the end");
    let streams = &result["streams"];
    assert_eq!(streams["planned"], 5);
    assert_eq!(streams["open_at_end"], 5);
    // Each stream has two, or there would be no gap.
    assert!(streams["events"]["count"].as_u64() >= Some(2), "{streams}");
    assert!(streams["events"]["gap_ns"]["p50"].as_u64().unwrap() > 0);
    assert_eq!(result["load"]["streams"], 5);
}

/// An endless stream.
fn send_events(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    let _ = stream.read(&mut buffer);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let mut going = stream.write_all(head).is_ok();
    while going {
        going = stream.write_all(b"data: tick\n\n").is_ok();
        thread::sleep(Duration::from_millis(20));
    }
}
