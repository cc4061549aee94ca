use super::*;
use crate::request::Request;
use crate::wire::OtherProtocol;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn set(methods: &[&str]) -> Vec<Request> {
    let url = "http://a/".parse().unwrap();
    let requests = methods.iter();
    requests
        .map(|method| Request::new(method, &url, &[], b"").unwrap())
        .collect()
}

fn number(number: usize) -> Which {
    Which {
        number,
        last: false,
    }
}

fn whole(wire: &mut H1Wire<'_>, bytes: &[u8]) -> Option<(u16, u64, usize)> {
    let eaten = wire.eat(bytes, &mut Ignore).unwrap();
    let whole = eaten.ended?.whole()?;
    Some((whole.status, whole.body_bytes, eaten.bytes))
}

#[test]
fn a_request_is_sent_in_pieces_and_repeatedly() {
    let set = set(&["GET"]);
    let request = set[0].bytes();
    let mut wire = H1Wire::new(&set, false);
    assert!(wire.unsent().is_empty());
    for _ in 0..2 {
        wire.request(number(0));
        wire.sent(4);
        assert_eq!(wire.unsent(), &request[4..]);
        wire.sent(request.len() - 4);
        assert_eq!(whole(&mut wire, &RESPONSE[..10]), None);
        assert_eq!(
            whole(&mut wire, &RESPONSE[10..]),
            Some((200, 2, RESPONSE.len() - 10))
        );
    }
}

/// Sends pieces of at most this many bytes, and returns what was sent.
fn drain(wire: &mut H1Wire<'_>, most: usize, until: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < until && !wire.unsent().is_empty() {
        let piece = wire.unsent();
        let length = piece.len().min(most).min(until - all.len());
        all.extend_from_slice(&piece[..length]);
        wire.sent(length);
    }
    all
}

#[test]
fn a_long_body_of_a_user_is_sent_whole_and_is_not_copied() {
    let url = "http://a/".parse().unwrap();
    let body: Vec<u8> = (0..LONG_BODY + 7).map(|number| number as u8).collect();
    let own = |body: &[u8]| {
        let parts = RequestParts::new("POST", &url, &[], body).unwrap();
        (
            Request::of(&parts).bytes().to_vec(),
            ScenarioRequest::new(parts).unwrap(),
        )
    };
    let ((long, long_own), (short, short_own)) = (own(&body), own(b"short"));
    let mut wire = H1Wire::new(&[], false);
    for _ in 0..2 {
        wire.request_own(&long_own, false);
        assert_eq!(drain(&mut wire, 1000, usize::MAX), long);
        assert!(wire.outgoing.several.capacity() < 1000);
    }
    // Another one may follow before it is sent.
    for sent in [0, 1, long.len() - 1, long.len()] {
        wire.request_own(&long_own, false);
        let begin = drain(&mut wire, usize::MAX, sent);
        for own in [&short_own, &long_own, &short_own] {
            wire.request_own(own, false);
        }
        let rest = drain(&mut wire, 10_000, usize::MAX);
        assert_eq!(
            [begin, rest].concat(),
            [&long[..], &short, &long, &short].concat()
        );
    }
}

#[test]
fn a_request_is_unsent_until_its_first_byte_is() {
    let set = set(&["GET"]);
    let length = set[0].bytes().len();
    let mut wire = H1Wire::new(&set, false);
    (0..3).for_each(|_| wire.request(number(0)));
    assert_eq!(wire.unsent_requests(), 3);
    for (sent, unsent) in [(1, 2), (length - 1, 2), (1, 1), (length, 0)] {
        wire.sent(sent);
        assert_eq!(wire.unsent_requests(), unsent);
    }
}

#[test]
fn several_requests_are_sent_together_and_their_responses_read_in_order() {
    let set = set(&["GET", "HEAD"]);
    let bytes = |number: usize| set[number].bytes();
    let mut wire = H1Wire::new(&set, false);
    wire.request(number(0));
    wire.sent(3);
    wire.request(number(1));
    wire.request(number(0));
    let rest = [&bytes(0)[3..], bytes(1), bytes(0)].concat();
    assert_eq!(wire.unsent(), rest);
    wire.sent(rest.len());
    assert!(wire.unsent().is_empty());
    let head = &RESPONSE[..RESPONSE.len() - 2];
    let responses = [RESPONSE, head, RESPONSE].concat();
    let first = whole(&mut wire, &responses).unwrap();
    assert_eq!(first, (200, 2, RESPONSE.len()));
    let second = whole(&mut wire, &responses[first.2..]).unwrap();
    assert_eq!(second, (200, 0, head.len()), "the response to a HEAD");
    let third = whole(&mut wire, &responses[first.2 + second.2..]).unwrap();
    assert_eq!(third, first);
    // The next one is sent without a copy again.
    wire.request(number(1));
    assert_eq!(wire.unsent(), bytes(1));
}

#[test]
fn the_last_request_of_a_connection_says_so() {
    let set = set(&["GET"]);
    let mut wire = H1Wire::new(&set, false);
    wire.request(Which {
        number: 0,
        last: true,
    });
    let text = String::from_utf8(wire.unsent().to_vec()).unwrap();
    assert!(text.contains("Connection: close\r\n"), "{text}");
}

#[test]
fn unexpected_bytes_are_a_fault() {
    let excess = Fault::H1(Malformed::ExcessBytes);
    let set = set(&["GET"]);
    let mut wire = H1Wire::new(&set, false);
    assert_eq!(wire.eat(RESPONSE, &mut Ignore), Err(excess.clone()));
    wire.request(number(0));
    assert_eq!(
        wire.eat(&[RESPONSE, b"!"].concat(), &mut Ignore),
        Err(excess.clone())
    );
    wire.open();
    wire.request(number(0));
    assert!(whole(&mut wire, RESPONSE).is_some());
    assert_eq!(wire.eat(b"HTTP/1.1 200 ", &mut Ignore), Err(excess));
}

#[test]
fn an_unexpected_start_of_another_protocol_is_named() {
    let set = set(&["GET"]);
    for (bytes, other) in [
        (&b"\0\0\0\x04\0\0\0\0\0"[..], OtherProtocol::Http2),
        (b"\x15\x03\x01\0\x02\x02\n", OtherProtocol::Tls),
    ] {
        let mut wire = H1Wire::new(&set, false);
        let fault = Fault::H1(other.into());
        assert_eq!(wire.eat(bytes, &mut Ignore), Err(fault));
    }
}

#[test]
fn an_unexpected_408_is_an_orderly_end() {
    let set = set(&["GET"]);
    let mut wire = H1Wire::new(&set, false);
    let notice = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    for bytes in [&notice[..], b"HTTP/1.0 408"] {
        let fault = wire.eat(bytes, &mut Ignore).unwrap_err();
        assert!(matches!(fault, Fault::Ended(_)), "{fault:?}");
    }
    wire.request(number(0));
    let eaten = wire.eat(&[RESPONSE, notice].concat(), &mut Ignore).unwrap();
    assert_eq!(eaten.bytes, RESPONSE.len() + notice.len());
    let response = eaten.ended.unwrap().whole().unwrap();
    assert_eq!((response.status, response.keep_alive), (200, false));
    // After a request, it is a response like any other.
    wire.open();
    wire.request(number(0));
    let notice = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(whole(&mut wire, notice), Some((408, 0, notice.len())));
}

#[test]
fn bytes_after_a_2xx_to_connect_belong_to_the_tunnel() {
    let set = set(&["CONNECT", "GET"]);
    let mut wire = H1Wire::new(&set, false);
    wire.request(number(0));
    let tunnel = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nSSH-2.0-x\r\n";
    let eaten = wire.eat(tunnel, &mut Ignore).unwrap();
    let whole = eaten.ended.unwrap().whole().unwrap();
    assert_eq!((eaten.bytes, whole.body_bytes), (tunnel.len(), 0));
    assert!(!whole.keep_alive);
    for (method, status) in [(0, 400), (1, 200)] {
        wire.open();
        wire.request(number(method));
        let response = format!("HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\nok!");
        let refused = wire.eat(response.as_bytes(), &mut Ignore).unwrap_err();
        assert_eq!(refused, Fault::H1(Malformed::ExcessBytes));
    }
}

/// How many events were reported each time.
struct Events(Vec<u64>);

impl Responses for Events {
    fn begun(&mut self, _: usize) {}

    fn keep(&mut self, _: usize) -> Option<&mut Collect> {
        None
    }

    fn events(&mut self, _: usize, count: u64) {
        self.0.push(count);
    }
}

#[test]
fn events_are_counted_over_the_pieces_of_a_response() {
    let set = set(&["GET"]);
    let mut wire = H1Wire::new(&set, true);
    wire.request(number(0));
    let body = "data: a\n\ndata: b\n\n";
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (first, rest) = response.as_bytes().split_at(response.len() - 3);
    let mut events = Events(Vec::new());
    assert!(wire.eat(first, &mut events).unwrap().ended.is_none());
    assert_eq!((wire.skippable(), &events.0), (0, &vec![1]));
    assert!(wire.eat(rest, &mut events).unwrap().ended.is_some());
    assert_eq!(events.0, [1, 1]);
}
