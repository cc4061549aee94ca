//! Servers whose writes are known.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread;

use prony_testkit::certificate::Certificate;
use prony_testkit::{connections, tls_server};
use prony_traffic::{HttpUrl, HttpVersion, RequestParts, Traffic};
use rustls::{ServerConnection, StreamOwned};

use super::*;
use crate::tls::{Offer, TlsSettings, Trust};

const TIMEOUT: Duration = Duration::from_secs(20);
const PLAIN: &[&str] = &["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"];
const CLOSING: &[&str] = &[
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n",
    "hello",
];
const STREAM: &[&str] = &[
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
    "9\r\ndata: 1\n\n\r\n",
    "9\r\ndata: 2\n\n\r\n",
    "9\r\ndata: 3\n\n\r\n",
    "0\r\n\r\n",
];

/// Responds to each request with these writes, each of which leaves at once.
fn respond(mut stream: impl Read + Write, writes: &[&str]) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while let Ok(1) = stream.read(&mut byte) {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        head.clear();
        for write in writes {
            stream.write_all(write.as_bytes()).unwrap();
            stream.flush().unwrap();
        }
        if writes == CLOSING {
            return;
        }
    }
}

fn request() -> Traffic {
    let url: HttpUrl = "http://localhost/".parse().unwrap();
    RequestParts::new("GET", &url, &[], b"").unwrap().into()
}

/// On a busy machine the kernel may send a segment again before it is acknowledged, but not each time.
fn until_counted(address: SocketAddr, tls: Option<&TlsClient>, each: Segments) {
    let expected = Segments {
        responses: 20,
        bytes: 20 * each.bytes,
        segments: 20 * each.segments,
        events: 20 * each.events,
    };
    let counted: Vec<_> = (0..20)
        .map(|_| segments_of(&address.into(), &request(), tls, 20, TIMEOUT).unwrap())
        .take_while(|it| *it != expected)
        .collect();
    assert!(counted.len() < 20, "{expected:?}, but {counted:?}");
}

/// Of one response; with TLS 1.3, whose records have 22 bytes more than their content: a header of 5, the type, and a tag
/// of 16.
fn each(writes: &[&str], events: u64, added: u64) -> Segments {
    let segments = writes.len() as u64;
    let length: usize = writes.iter().map(|write| write.len()).sum();
    Segments {
        responses: 1,
        bytes: length as u64 + segments * added,
        segments,
        events,
    }
}

#[test]
fn each_write_is_a_segment_and_each_event_counts() {
    for (writes, events) in [(PLAIN, 0), (STREAM, 3), (CLOSING, 0)] {
        let address = connections::serve(move |stream| {
            stream.set_nodelay(true).unwrap();
            respond(stream, writes);
        });
        until_counted(address, None, each(writes, events, 0));
    }
}

#[test]
fn tls_adds_its_records_and_neither_handshake_nor_tickets() {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let client = settings.client("localhost", Offer::Only(HttpVersion::Http1));
    let config = Arc::new(tls_server::config(&Certificate::new(), None));
    let address = connections::serve(move |stream| {
        stream.set_nodelay(true).unwrap();
        let tls = ServerConnection::new(config.clone()).unwrap();
        respond(StreamOwned::new(tls, stream), STREAM);
    });
    until_counted(address, Some(&client.unwrap()), each(STREAM, 3, 22));
}

#[test]
fn a_socket_without_segments_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || respond(listener.accept().unwrap().0, PLAIN));
    let counted = segments_of(&Endpoint::Unix(path), &request(), None, 1, TIMEOUT);
    let is_named = matches!(counted, Err(SegmentsError::NotCounted));
    assert!(is_named, "{counted:?}");
}

#[test]
fn a_server_that_does_not_respond_is_an_error() {
    let (_bound, address) = connections::refusing();
    let counted = segments_of(&address.into(), &request(), None, 1, TIMEOUT);
    let is_named = matches!(counted, Err(SegmentsError::Exchange(_)));
    assert!(is_named, "{counted:?}");
}
