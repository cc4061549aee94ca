//! What the end of a connection means.

use std::sync::Arc;

use prony_load::wire::h1::H1Wire;
use prony_load::wire::tls::{Channel, Failure};
use prony_load::wire::{OnClose, Which, Wire};

use super::peer::*;

/// A response whose body ends with the connection.
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nsome";

fn shaken(certificate: &Certificate, test: impl Fn(Channel<H1Wire<'_>>, Server)) {
    let set = requests(b"");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut channel = channel(&set, &client(&certificate.trusted()));
        let mut server = Server::with(certificate, version);
        shake(&mut channel, &mut server).unwrap();
        test(channel, server);
    }
}

fn ask(channel: &mut Channel<H1Wire<'_>>, server: &mut Server, response: &[u8]) {
    channel.request(Which::default());
    send(channel, server).unwrap();
    server.send(response);
    assert_eq!(eat(channel, &server.unsent()).unwrap(), []);
}

#[test]
fn a_close_during_the_handshake_is_a_failure() {
    let certificate = Certificate::new();
    let set = requests(b"");
    let client = client(&certificate.trusted());
    let mut silent = channel(&set, &client);
    assert_eq!(failed_close(silent.close()), Failure::ClosedDuringHandshake);
    let mut half = channel(&set, &client);
    let mut server = Server::new(&Arc::new(certificate.server()));
    send(&mut half, &mut server).unwrap();
    let flight = server.unsent();
    eat(&mut half, &flight[..flight.len() / 2]).unwrap();
    assert_eq!(failed_close(half.close()), Failure::ClosedDuringHandshake);
}

#[test]
fn a_body_that_ends_with_the_connection_needs_a_close_notify() {
    shaken(&Certificate::new(), |mut channel, mut server| {
        ask(&mut channel, &mut server, UNTIL_CLOSE);
        assert_eq!(failed_close(channel.close()), Failure::Truncated);
    });
    shaken(&Certificate::new(), |mut channel, mut server| {
        ask(&mut channel, &mut server, UNTIL_CLOSE);
        server.tls.send_close_notify();
        eat(&mut channel, &server.unsent()).unwrap();
        assert!(!channel.is_finished(), "a response is due");
        let OnClose::Whole(whole) = channel.close() else {
            panic!("the response is whole");
        };
        assert_eq!(whole.body_bytes, 4);
    });
}

#[test]
fn a_close_between_responses_needs_none() {
    shaken(&Certificate::new(), |mut channel, mut server| {
        exchange(&mut channel, &mut server, b"ok");
        assert_eq!(channel.close(), OnClose::BeforeResponse);
    });
}

#[test]
fn a_response_that_is_cut_short_is_truncated_with_or_without() {
    shaken(&Certificate::new(), |mut channel, mut server| {
        ask(&mut channel, &mut server, &response(b"hello")[..40]);
        assert_eq!(channel.close(), OnClose::Truncated);
        server.tls.send_close_notify();
        eat(&mut channel, &server.unsent()).unwrap();
        assert_eq!(channel.close(), OnClose::Truncated);
    });
    // Not even its first record is whole.
    shaken(&Certificate::new(), |mut channel, mut server| {
        channel.request(Which::default());
        send(&mut channel, &mut server).unwrap();
        server.send(&response(b"hello"));
        let bytes = server.unsent();
        eat(&mut channel, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(channel.close(), OnClose::Truncated);
    });
}

#[test]
fn a_close_notify_is_returned_and_ends_the_connection() {
    shaken(&Certificate::new(), |mut channel, mut server| {
        exchange(&mut channel, &mut server, b"ok");
        assert!(!channel.is_finished());
        assert_eq!(channel.room(), usize::MAX);
        server.tls.send_close_notify();
        eat(&mut channel, &server.unsent()).unwrap();
        assert_eq!(channel.room(), 0);
        assert!(channel.is_finished());
        let unsent = channel.unsent().to_vec();
        channel.sent(unsent.len());
        server.tls.read_tls(&mut &unsent[..]).unwrap();
        let state = server.tls.process_new_packets().unwrap();
        assert!(state.peer_has_closed());
    });
}
