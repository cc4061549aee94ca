//! What the end of a connection means.

use prony_load::wire::tls::Failure;
use prony_load::wire::{OnClose, Wire};
use rustls::version::{TLS12, TLS13};

use super::peer::*;

/// A response whose body ends with the connection.
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nsome";

/// Pairs over both versions of TLS.
fn shaken() -> [Pair; 2] {
    let certificate = Certificate::new();
    [&TLS12, &TLS13].map(|version| Pair::shaken(&certificate, version))
}

/// Those after a request and a part of its response.
fn responding(response: &[u8]) -> [Pair; 2] {
    shaken().map(|mut pair| {
        pair.request();
        pair.server.send(response);
        assert_eq!(pair.receive().unwrap(), []);
        pair
    })
}

#[test]
fn a_close_during_the_handshake_is_a_failure() {
    let certificate = Certificate::new();
    let pair = || Pair::new(&trusted(&certificate), server(&certificate));
    let (silent, mut half) = (pair(), pair());
    half.send().unwrap();
    let flight = half.server.unsent();
    half.eat(&flight[..flight.len() / 2]).unwrap();
    for mut channel in [silent.channel, half.channel] {
        let failure = failed_close(channel.close());
        assert_eq!(failure, Failure::ClosedDuringHandshake);
    }
}

#[test]
fn a_body_that_ends_with_the_connection_needs_a_close_notify() {
    for mut pair in responding(UNTIL_CLOSE) {
        assert_eq!(failed_close(pair.channel.close()), Failure::Truncated);
    }
    for mut pair in responding(UNTIL_CLOSE) {
        pair.server.tls.send_close_notify();
        pair.receive().unwrap();
        assert!(!pair.channel.is_finished(), "a response is due");
        let OnClose::Whole(whole) = pair.channel.close() else {
            panic!("the response is whole");
        };
        assert_eq!(whole.body_bytes, 4);
    }
}

#[test]
fn a_close_between_responses_needs_none() {
    for mut pair in shaken() {
        pair.exchange(b"ok");
        assert_eq!(pair.channel.close(), OnClose::BeforeResponse);
    }
}

#[test]
fn a_response_that_is_cut_short_is_truncated_with_or_without() {
    for mut pair in responding(&response(b"hello")[..40]) {
        assert_eq!(pair.channel.close(), OnClose::Truncated);
        pair.server.tls.send_close_notify();
        pair.receive().unwrap();
        assert_eq!(pair.channel.close(), OnClose::Truncated);
    }
    // Not even its first record is whole.
    for mut pair in shaken() {
        pair.request();
        pair.server.send(&response(b"hello"));
        let bytes = pair.server.unsent();
        pair.eat(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(pair.channel.close(), OnClose::Truncated);
    }
}

#[test]
fn a_close_notify_is_returned_and_ends_the_connection() {
    for mut pair in shaken() {
        pair.exchange(b"ok");
        let is_open = (!pair.channel.is_finished(), pair.channel.room());
        assert_eq!(is_open, (true, usize::MAX));
        pair.server.tls.send_close_notify();
        pair.receive().unwrap();
        assert_eq!(pair.channel.room(), 0);
        assert!(pair.channel.is_finished());
        let unsent = pair.channel.unsent();
        pair.server.tls.read_tls(&mut &unsent[..]).unwrap();
        let state = pair.server.tls.process_new_packets().unwrap();
        assert!(state.peer_has_closed());
    }
}
