//! How bytes are split into records, and records into reads and writes.

use std::sync::Arc;

use prony_load::ScenarioRequest;
use prony_load::wire::h1::{Collect, H1Wire};
use prony_load::wire::tls::Channel;
use prony_load::wire::{Eaten, Fault, OnClose, Responses, Which, Wire};
use proptest::prelude::*;
use rustls::version::{TLS12, TLS13};

use super::peer::*;

#[test]
fn the_server_may_split_its_bytes_anywhere() {
    let certificate = Certificate::new();
    let set = requests(b"");
    for version in [&TLS12, &TLS13] {
        let mut channel = channel(&set, &client(&certificate.trusted()));
        let mut server = Server::with(&certificate, version);
        let mut responses = Vec::new();
        let mut is_requested = false;
        for _ in 0..8 {
            send(&mut channel, &mut server).unwrap();
            if server.received.ends_with(b"\r\n\r\n") {
                server.received.clear();
                server.send(&response(b"hello"));
            }
            for byte in server.unsent() {
                responses.extend(eat(&mut channel, &[byte]).unwrap());
                if channel.is_ready() && !is_requested {
                    is_requested = true;
                    channel.request(Which::default());
                }
                send(&mut channel, &mut server).unwrap();
            }
        }
        assert_eq!(responses, [(200, b"hello".to_vec())]);
    }
}

#[test]
fn several_responses_in_a_record_are_told_apart() {
    let certificate = Certificate::new();
    let set = requests(b"");
    let mut channel = channel(&set, &client(&certificate.trusted()));
    let mut server = Server::new(&Arc::new(certificate.server()));
    shake(&mut channel, &mut server).unwrap();
    for _ in 0..3 {
        channel.request(Which::default());
    }
    send(&mut channel, &mut server).unwrap();
    server.send(&[response(b"a"), response(b"bc"), response(b"")].concat());
    let bytes = server.unsent();
    let mut collect = Collect::default();
    let eaten = channel.eat(&bytes, &mut collect).unwrap();
    assert_eq!(eaten.bytes, bytes.len());
    assert!(eaten.ended.is_some() && channel.has_more());
    // To have something to send does no harm to what is left.
    channel.request(Which::default());
    send(&mut channel, &mut server).unwrap();
    let rest = eat(&mut channel, b"").unwrap();
    assert_eq!(rest, [(200, b"bc".to_vec()), (200, Vec::new())]);
    server.send(&response(b"d"));
    let last = eat(&mut channel, &server.unsent()).unwrap();
    assert_eq!(last, [(200, b"d".to_vec())]);
    assert!(!channel.has_more());
}

#[test]
fn records_that_wait_are_kept_while_a_request_is_encrypted() {
    let certificate = Certificate::new();
    let set = requests(b"");
    let mut channel = channel(&set, &client(&certificate.trusted()));
    let mut server = Server::new(&Arc::new(certificate.server()));
    shake(&mut channel, &mut server).unwrap();
    channel.request(Which::default());
    channel.request(Which::default());
    send(&mut channel, &mut server).unwrap();
    server.send(&response(b"first"));
    let mut bytes = server.unsent();
    server.send(&response(b"second"));
    bytes.extend(server.unsent());
    let eaten = channel.eat(&bytes, &mut Collect::default()).unwrap();
    assert!(eaten.ended.is_some() && channel.has_more());
    channel.request(Which::default());
    send(&mut channel, &mut server).unwrap();
    let rest = eat(&mut channel, &bytes[eaten.bytes..]).unwrap();
    assert_eq!(rest, [(200, b"second".to_vec())]);
}

#[test]
fn the_keys_may_change_at_any_time() {
    let certificate = Certificate::new();
    let set = requests(b"");
    let mut channel = channel(&set, &client(&certificate.trusted()));
    let config = certificate.server_of(&[&TLS13], None);
    let mut server = Server::new(&Arc::new(config));
    shake(&mut channel, &mut server).unwrap();
    for _ in 0..100 {
        server.tls.refresh_traffic_keys().unwrap();
        exchange(&mut channel, &mut server, b"ok");
    }
}

#[test]
fn a_long_request_is_encrypted_as_it_is_sent() {
    let body = vec![b'x'; 1 << 20];
    let set = requests(&body);
    let certificate = Certificate::new();
    let mut channel = channel(&set, &client(&certificate.trusted()));
    let mut server = Server::new(&Arc::new(certificate.server()));
    shake(&mut channel, &mut server).unwrap();
    channel.request(Which::default());
    loop {
        let unsent = channel.unsent();
        if unsent.is_empty() {
            break;
        }
        assert!(unsent.len() <= 81 * 1024, "{} bytes at once", unsent.len());
        let length = unsent.len().min(10_000);
        server.take(&unsent[..length]).unwrap();
        channel.sent(length);
    }
    assert!(server.received.ends_with(&body));
    server.send(&response(b"ok"));
    let responses = eat(&mut channel, &server.unsent()).unwrap();
    assert_eq!(responses, [(200, b"ok".to_vec())]);
}

/// Has bytes to send, and notes how many of them were sent.
#[derive(Default)]
struct Sender {
    bytes: Vec<u8>,
    sent: Vec<usize>,
}

impl Wire for Sender {
    fn open(&mut self) {}

    fn request(&mut self, _: Which) {}

    fn request_own(&mut self, _: &ScenarioRequest, _: bool) {}

    fn unsent(&mut self) -> &[u8] {
        &self.bytes[self.sent.iter().sum()..]
    }

    fn sent(&mut self, length: usize) {
        self.sent.push(length);
        assert!(self.sent.iter().sum::<usize>() <= self.bytes.len());
    }

    fn eat(&mut self, bytes: &[u8], _: &mut dyn Responses) -> Result<Eaten, Fault> {
        Ok(Eaten {
            bytes: bytes.len(),
            ended: None,
        })
    }

    fn close(&mut self) -> OnClose {
        // What was sent when the connection ended.
        match self.sent.iter().sum::<usize>() == self.bytes.len() {
            true => OnClose::BeforeResponse,
            false => OnClose::Truncated,
        }
    }
}

#[test]
fn plaintext_is_sent_when_the_end_of_its_record_is() {
    let certificate = Certificate::new();
    let client = client(&certificate.trusted());
    let sender = Sender {
        bytes: vec![7; 100],
        ..Sender::default()
    };
    let mut channel = Channel::new(sender, &client, None);
    channel.open();
    let mut server = Server::new(&Arc::new(certificate.server_of(&[&TLS13], None)));
    // The record leaves together with the last message of the handshake.
    let unsent = channel.unsent().to_vec();
    channel.sent(unsent.len());
    server.take(&unsent).unwrap();
    eat(&mut channel, &server.unsent()).unwrap();
    let unsent = channel.unsent().to_vec();
    channel.sent(unsent.len() - 1);
    assert_eq!(channel.close(), OnClose::Truncated);
    channel.sent(1);
    assert_eq!(channel.close(), OnClose::BeforeResponse);
    server.take(&unsent).unwrap();
    assert_eq!(server.received, [7; 100]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_sizes_arrive_whole_however_they_are_split(
        is_old: bool,
        request in 0..70_000usize,
        bodies in prop::collection::vec(0..70_000usize, 1..6),
        writes in prop::collection::vec(1..40_000usize, 1..8),
        reads in prop::collection::vec(1..70_000usize, 1..8),
        sends in prop::collection::vec(1..70_000usize, 1..8),
    ) {
        let set = requests(&vec![b'r'; request]);
        let version = if is_old { &TLS12 } else { &TLS13 };
        CERTIFICATE.with(|certificate| {
            let mut channel = channel(&set, &client(&certificate.trusted()));
            let mut server = Server::with(certificate, version);
            shake(&mut channel, &mut server).unwrap();
            for _ in &bodies {
                channel.request(Which::default());
            }
            send_in_pieces(&mut channel, &mut server, &sends);
            assert_eq!(server.received, set.requests()[0].bytes().repeat(bodies.len()));
            let expected: Vec<_> = bodies.iter().map(|&length| (200, body(length))).collect();
            let plaintext: Vec<u8> =
                bodies.iter().flat_map(|&length| response(&body(length))).collect();
            let ciphertext = write_in_pieces(&mut server, &plaintext, &writes);
            let responses = read_in_pieces(&mut channel, &ciphertext, &reads);
            assert!(responses == expected, "{:?}", (responses.len(), expected.len()));
        });
    }
}

thread_local! {
    static CERTIFICATE: Certificate = Certificate::new();
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn send_in_pieces(channel: &mut Channel<H1Wire<'_>>, server: &mut Server, sizes: &[usize]) {
    for &size in sizes.iter().cycle() {
        let unsent = channel.unsent();
        if unsent.is_empty() {
            return;
        }
        let length = unsent.len().min(size);
        server.take(&unsent[..length]).unwrap();
        channel.sent(length);
    }
}

fn write_in_pieces(server: &mut Server, mut plaintext: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut ciphertext = Vec::new();
    for &size in sizes.iter().cycle() {
        if plaintext.is_empty() {
            break;
        }
        let (piece, rest) = plaintext.split_at(size.min(plaintext.len()));
        server.send(piece);
        ciphertext.extend(server.unsent());
        plaintext = rest;
    }
    ciphertext
}

/// Reads responses, which may span several reads.
fn read_in_pieces(
    channel: &mut Channel<H1Wire<'_>>,
    mut ciphertext: &[u8],
    sizes: &[usize],
) -> Vec<(u16, Vec<u8>)> {
    let (mut collect, mut responses) = (Collect::default(), Vec::new());
    for &size in sizes.iter().cycle() {
        if ciphertext.is_empty() {
            break;
        }
        let (mut piece, rest) = ciphertext.split_at(size.min(ciphertext.len()));
        ciphertext = rest;
        while !piece.is_empty() || channel.has_more() {
            let eaten = channel.eat(piece, &mut collect).unwrap();
            piece = &piece[eaten.bytes..];
            if eaten.ended.is_none() {
                assert!(piece.is_empty());
                break;
            }
            let response = std::mem::take(&mut collect).into_response();
            responses.push((response.status, response.body));
        }
    }
    responses
}
