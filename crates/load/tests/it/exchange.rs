//! Single exchanges: which are repeated, and what one that fails says about how far it came.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::h2_frames::{HEADERS, read_frame, read_preface};
use prony_load::tls::{Offer, TlsSettings, Trust};
use prony_load::wire::h2::StreamRequest;
use prony_load::{Conversation, WireRequest, exchange, negotiate};

const TIMEOUT: Duration = Duration::from_millis(100);
/// An empty SETTINGS frame.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// A HEADERS frame that is a whole response on stream 1, with status 200.
const OK: [u8; 10] = [0, 0, 1, 1, 0x5, 0, 0, 0, 1, 0x88];
/// A RST_STREAM frame with REFUSED_STREAM on stream 1.
const REFUSED: [u8; 13] = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7];
/// A GOAWAY frame with NO_ERROR: no stream was processed.
const GO_AWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// A GOAWAY frame with NO_ERROR: stream 1 was processed, but none after it.
const GO_AWAY_AFTER_1: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

/// A server that sends these bytes over its first connection, and reads until the client closes it.
fn server(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(bytes)?;
        stream.read_to_end(&mut Vec::new())
    });
    address
}

#[test]
fn a_handshake_that_does_not_end_is_named() {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let tls = settings.client("localhost", Offer::Both).unwrap();
    let error = negotiate(&server(b"").into(), &tls, TIMEOUT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "timed out after 100ms during the TLS handshake"
    );
    let request = StreamRequest::http(&http::Method::GET, "https", "a", "/", &[], b"").unwrap();
    let error = exchange(&server(b"").into(), &request.into(), Some(&tls), TIMEOUT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "timed out after 100ms during the TLS handshake"
    );
}

#[test]
fn settings_are_no_part_of_a_response() {
    let request = StreamRequest::http(&http::Method::GET, "http", "a", "/", &[], b"").unwrap();
    let error = exchange(&server(&SETTINGS).into(), &request.into(), None, TIMEOUT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "timed out after 100ms before any byte of a response"
    );
}

#[test]
fn a_part_of_a_head_is_named() {
    let url = "http://a/".parse().unwrap();
    let request = prony_load::Request::new("GET", &url, &[], b"").unwrap();
    let server = server(b"HTTP/1.1 200 OK\r\nContent-");
    let error = exchange(&server.into(), &request.into(), None, TIMEOUT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "timed out after 100ms in the middle of the response's head"
    );
}

/// An HTTP/2 server, and how many connections it has had. Over each connection it responds to the requests with these
/// frames, one after another.
fn server_of(connections: Vec<Vec<&'static [u8]>>) -> (SocketAddr, Arc<AtomicUsize>) {
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    let address = crate::h2_frames::server(move |mut stream| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        stream.write_all(&SETTINGS).ok()?;
        read_preface(&mut stream)?;
        for response in connections.get(number)? {
            while read_frame(&mut stream)?.0 != HEADERS {}
            stream.write_all(response).ok()?;
        }
        stream.read_to_end(&mut Vec::new()).ok().map(|_| ())
    });
    (address, accepted)
}

/// A request that is not idempotent.
fn post() -> WireRequest {
    StreamRequest::http(&http::Method::POST, "http", "a", "/", &[], b"")
        .unwrap()
        .into()
}

#[test]
fn an_unprocessed_request_is_repeated_over_a_new_connection() {
    for unprocessed in [&REFUSED[..], &GO_AWAY] {
        let (address, accepted) = server_of(vec![vec![unprocessed], vec![&OK]]);
        let response = exchange(&address.into(), &post(), None, TIMEOUT).unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(accepted.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn an_unprocessed_request_is_repeated_only_once() {
    for (unprocessed, message) in [
        (&REFUSED[..], "the server reset the stream: REFUSED_STREAM"),
        (&GO_AWAY, "the server is going away: NO_ERROR"),
    ] {
        let connections = vec![vec![unprocessed], vec![unprocessed], vec![&OK]];
        let (address, accepted) = server_of(connections);
        let error = exchange(&address.into(), &post(), None, TIMEOUT).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(accepted.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn a_server_may_go_away_between_two_requests() {
    let (address, _) = server_of(vec![vec![&OK, &GO_AWAY_AFTER_1], vec![&OK]]);
    let request = post();
    let mut conversation = Conversation::new(&address.into(), &request, None, TIMEOUT);
    for connections in [1, 2] {
        assert_eq!(conversation.request().unwrap().status, 200);
        assert_eq!(conversation.connections(), connections);
    }
}
