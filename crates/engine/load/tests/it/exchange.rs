//! Single exchanges: which are repeated, and what one that fails says about how far it came.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::h2_frames::{HEADERS, read_frame, read_preface};
use prony_load::tls::{Offer, TlsClient, TlsSettings, Trust};
use prony_load::{Conversation, EncodedTraffic, ExchangeError, exchange, negotiate};
use prony_testkit::certificate::Certificate;
use prony_testkit::{PATIENCE, connections, tls_server};
use prony_traffic::{HttpVersion, RequestParts, Response, Traffic};
use rustls::{ServerConnection, StreamOwned};

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

fn any_certificate() -> TlsClient {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    settings.client("localhost", Offer::Both).unwrap()
}

/// A request over HTTP/2 that is not idempotent.
fn post(scheme: &str) -> Traffic {
    let url = format!("{scheme}://a/").parse().unwrap();
    let request = RequestParts::new("POST", &url, &[], b"").unwrap();
    Traffic::requests(request, HttpVersion::Http2).unwrap()
}

#[test]
fn an_exchange_that_takes_too_long_names_what_it_waits_for() {
    // A busy machine may need some of it.
    const TIMEOUT: Duration = Duration::from_secs(3);
    let tls = any_certificate();
    let http1 = RequestParts::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
    // What the server sends.
    let server = |bytes: &'static [u8]| {
        let address = connections::serve(move |mut stream| {
            stream.write_all(bytes)?;
            stream.read_to_end(&mut Vec::new())
        });
        address.into()
    };
    let after = |bytes, request: Traffic, tls| {
        exchange(&server(bytes), &request, tls, TIMEOUT).unwrap_err()
    };
    let part = b"HTTP/1.1 200 OK\r\nContent-";
    // The waits overlap.
    thread::scope(|scope| {
        let (after, tls) = (&after, &tls);
        for (error, awaited) in [
            (
                scope.spawn(|| negotiate(&server(b""), tls, TIMEOUT).unwrap_err()),
                "during the TLS handshake",
            ),
            (
                scope.spawn(move || after(b"", post("https"), Some(tls))),
                "during the TLS handshake",
            ),
            (
                scope.spawn(move || after(&SETTINGS, post("http"), None)),
                "before any byte of a response",
            ),
            (
                scope.spawn(move || after(part, http1.into(), None)),
                "in the middle of the response's head",
            ),
        ] {
            assert_eq!(
                error.join().unwrap().to_string(),
                format!("timed out after 3s {awaited}")
            );
        }
    });
}

/// An HTTP/2 server, and how many connections it has had. Over each connection it responds to the requests with these
/// frames, one after another.
fn server_of(connections: Vec<Vec<&'static [u8]>>) -> (SocketAddr, Arc<AtomicUsize>) {
    let accepted = Arc::new(AtomicUsize::new(0));
    let (count, connections) = (accepted.clone(), Arc::new(connections));
    let address = connections::serve(move |mut stream| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        stream.write_all(&SETTINGS).ok()?;
        read_preface(&mut stream)?;
        for response in connections.get(number)? {
            while read_frame(&mut stream)?.0 != HEADERS {}
            stream.write_all(response).ok()?;
        }
        stream.read_to_end(&mut Vec::new()).ok()
    });
    (address, accepted)
}

/// The status of a response, or why there is none.
fn status(response: Result<Response, ExchangeError>) -> Result<u16, String> {
    let status = response.map(|response| response.status);
    status.map_err(|error| error.to_string())
}

#[test]
fn an_unprocessed_request_is_repeated_once_over_a_new_connection() {
    for (unprocessed, message) in [
        (&REFUSED[..], "the server reset the stream: REFUSED_STREAM"),
        (&GO_AWAY, "the server is going away: NO_ERROR"),
    ] {
        for (times, expected) in [(1, Ok(200)), (2, Err(message.to_owned()))] {
            let mut connections = vec![vec![unprocessed]; times];
            connections.push(vec![&OK]);
            let (address, accepted) = server_of(connections);
            let response = exchange(&address.into(), &post("http"), None, PATIENCE);
            assert_eq!(status(response), expected);
            assert_eq!(accepted.load(Ordering::SeqCst), 2);
        }
    }
}

/// A server of HTTP/2 over TLS that goes away together with the end of the handshake, over its first connections.
fn leaving(times: usize) -> SocketAddr {
    let mut config = tls_server::config(&Certificate::new(), None);
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.send_half_rtt_data = true;
    let (config, accepted) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    connections::serve(move |mut socket| {
        let mut tls = ServerConnection::new(config.clone()).unwrap();
        tls.read_tls(&mut socket).ok()?;
        tls.process_new_packets().ok()?;
        tls.writer().write_all(&SETTINGS).ok()?;
        if accepted.fetch_add(1, Ordering::SeqCst) < times {
            tls.writer().write_all(&GO_AWAY).ok()?;
        }
        let mut stream = StreamOwned::new(tls, socket);
        read_preface(&mut stream)?;
        while read_frame(&mut stream)?.0 != HEADERS {}
        stream.write_all(&OK).ok()?;
        stream.flush().ok()
    })
}

#[test]
fn a_server_that_goes_away_with_the_end_of_the_handshake_is_left_once() {
    let (request, tls) = (post("https"), any_certificate());
    let message = "the server is going away: NO_ERROR".to_owned();
    let sent = EncodedTraffic::of(&request).unwrap();
    for (times, expected) in [(1, Ok(200)), (2, Err(message))] {
        let endpoint = leaving(times).into();
        let mut conversation = Conversation::new(&endpoint, &sent, Some(&tls), PATIENCE);
        assert_eq!(status(conversation.request()), expected);
        assert_eq!(conversation.connections(), 2);
    }
}

#[test]
fn a_server_may_go_away_between_two_requests() {
    let (address, _) = server_of(vec![vec![&OK, &GO_AWAY_AFTER_1], vec![&OK]]);
    let request = post("http");
    let sent = EncodedTraffic::of(&request).unwrap();
    let mut conversation = Conversation::new(&address.into(), &sent, None, PATIENCE);
    for connections in [1, 2] {
        assert_eq!(conversation.request().unwrap().status, 200);
        assert_eq!(conversation.connections(), connections);
    }
}
