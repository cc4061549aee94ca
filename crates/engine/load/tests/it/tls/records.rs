//! How bytes are split into records, and records into reads and writes.

use prony_load::wire::{Eaten, Fault, OnClose, Responses, Which, Wire};
use prony_traffic::{Collect, ScenarioRequest};
use proptest::prelude::*;
use rustls::version::{TLS12, TLS13};

use super::peer::*;

#[test]
fn the_server_may_split_its_bytes_anywhere() {
    let certificate = Certificate::new();
    for version in [&TLS12, &TLS13] {
        let config = server_of(&certificate, &[version], None);
        let mut pair = Pair::new(&trusted(&certificate), config);
        let (mut responses, mut is_requested) = (Vec::new(), false);
        for _ in 0..8 {
            pair.send().unwrap();
            if pair.server.received.ends_with(b"\r\n\r\n") {
                pair.server.received.clear();
                pair.server.send(&response(b"hello"));
            }
            for byte in pair.server.unsent() {
                responses.extend(pair.eat(&[byte]).unwrap());
                if pair.channel.is_ready() && !is_requested {
                    is_requested = true;
                    pair.channel.request(Which::default());
                }
                pair.send().unwrap();
            }
        }
        assert_eq!(responses, [(200, b"hello".to_vec())]);
    }
}

#[test]
fn several_responses_in_a_record_are_told_apart() {
    let mut pair = Pair::shaken(&Certificate::new(), &TLS13);
    (0..3).for_each(|_| pair.request());
    let three = [response(b"a"), response(b"bc"), response(b"")];
    pair.server.send(&three.concat());
    let bytes = pair.server.unsent();
    let eaten = pair.channel.eat(&bytes, &mut Collect::default()).unwrap();
    assert_eq!(eaten.bytes, bytes.len());
    assert!(eaten.ended.is_some() && pair.channel.has_more());
    // To have something to send does no harm to what is left.
    pair.request();
    let rest = pair.eat(b"").unwrap();
    assert_eq!(rest, [(200, b"bc".to_vec()), (200, Vec::new())]);
    pair.server.send(&response(b"d"));
    assert_eq!(pair.receive().unwrap(), [(200, b"d".to_vec())]);
    assert!(!pair.channel.has_more());
}

#[test]
fn records_that_wait_are_kept_while_a_request_is_encrypted() {
    let mut pair = Pair::shaken(&Certificate::new(), &TLS13);
    (0..2).for_each(|_| pair.request());
    pair.server.send(&response(b"first"));
    let mut bytes = pair.server.unsent();
    pair.server.send(&response(b"second"));
    bytes.extend(pair.server.unsent());
    let eaten = pair.channel.eat(&bytes, &mut Collect::default()).unwrap();
    assert!(eaten.ended.is_some() && pair.channel.has_more());
    pair.request();
    let rest = pair.eat(&bytes[eaten.bytes..]).unwrap();
    assert_eq!(rest, [(200, b"second".to_vec())]);
}

#[test]
fn the_keys_may_change_at_any_time() {
    let mut pair = Pair::shaken(&Certificate::new(), &TLS13);
    for _ in 0..100 {
        pair.server.tls.refresh_traffic_keys().unwrap();
        pair.exchange(b"ok");
    }
}

#[test]
fn a_long_request_is_encrypted_as_it_is_sent() {
    let (body, certificate) = (vec![b'x'; 1 << 20], Certificate::new());
    let mut pair = Pair::requesting(&body, &trusted(&certificate), server(&certificate));
    pair.shake().unwrap();
    pair.channel.request(Which::default());
    send_in_pieces(&mut pair, &[10_000]);
    assert!(pair.server.received.ends_with(&body));
    pair.server.send(&response(b"ok"));
    assert_eq!(pair.receive().unwrap(), [(200, b"ok".to_vec())]);
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
        if self.sent.iter().sum::<usize>() == self.bytes.len() {
            OnClose::BeforeResponse
        } else {
            OnClose::Truncated
        }
    }
}

#[test]
fn plaintext_is_sent_when_the_end_of_its_record_is() {
    let certificate = Certificate::new();
    let sender = Sender {
        bytes: vec![7; 100],
        ..Sender::default()
    };
    let config = server_of(&certificate, &[&TLS13], None);
    let mut pair = Pair::of(sender, &client(&trusted(&certificate)), None, config);
    // The record leaves together with the last message of the handshake.
    pair.send().unwrap();
    pair.receive().unwrap();
    let unsent = pair.channel.unsent().to_vec();
    pair.channel.sent(unsent.len() - 1);
    assert_eq!(pair.channel.close(), OnClose::Truncated);
    pair.channel.sent(1);
    assert_eq!(pair.channel.close(), OnClose::BeforeResponse);
    pair.server.take(&unsent).unwrap();
    assert_eq!(pair.server.received, [7; 100]);
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
        let version = if is_old { &TLS12 } else { &TLS13 };
        CERTIFICATE.with(|certificate| {
            let config = server_of(certificate, &[version], None);
            let request = vec![b'r'; request];
            let mut pair = Pair::requesting(&request, &trusted(certificate), config);
            pair.shake().unwrap();
            for _ in &bodies {
                pair.channel.request(Which::default());
            }
            send_in_pieces(&mut pair, &sends);
            let sent = request_with(&request)[0].bytes().repeat(bodies.len());
            assert!(pair.server.received == sent);
            let bodies: Vec<_> = bodies.iter().map(|&length| body(length)).collect();
            let plaintext: Vec<u8> = bodies.iter().flat_map(|body| response(body)).collect();
            let ciphertext = write_in_pieces(&mut pair.server, &plaintext, &writes);
            let responses = read_in_pieces(&mut pair, &ciphertext, &reads);
            assert!(responses.iter().all(|(status, _)| *status == 200));
            let received: Vec<_> = responses.into_iter().map(|(_, body)| body).collect();
            assert!(received == bodies, "{:?}", (received.len(), bodies.len()));
        });
    }
}

thread_local! {
    static CERTIFICATE: Certificate = Certificate::new();
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn send_in_pieces(pair: &mut Pair, sizes: &[usize]) {
    for &size in sizes.iter().cycle() {
        let unsent = pair.channel.unsent();
        if unsent.is_empty() {
            return;
        }
        assert!(unsent.len() <= 81 * 1024, "{} bytes at once", unsent.len());
        let length = unsent.len().min(size);
        pair.server.take(&unsent[..length]).unwrap();
        pair.channel.sent(length);
    }
}

/// What to take of bytes at a time, again and again in these sizes.
fn pieces<'a>(mut bytes: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    sizes.iter().cycle().map_while(move |&size| {
        let piece = bytes.split_off(..size.min(bytes.len())).unwrap();
        (!piece.is_empty()).then_some(piece)
    })
}

fn write_in_pieces(server: &mut Server, plaintext: &[u8], sizes: &[usize]) -> Vec<u8> {
    let write = |piece| {
        server.send(piece);
        server.unsent()
    };
    pieces(plaintext, sizes).flat_map(write).collect()
}

/// Reads responses, which may span several reads.
fn read_in_pieces(pair: &mut Pair, ciphertext: &[u8], sizes: &[usize]) -> Vec<(u16, Vec<u8>)> {
    let (mut collect, mut responses) = (Collect::default(), Vec::new());
    for mut piece in pieces(ciphertext, sizes) {
        while !piece.is_empty() || pair.channel.has_more() {
            let eaten = pair.channel.eat(piece, &mut collect).unwrap();
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
