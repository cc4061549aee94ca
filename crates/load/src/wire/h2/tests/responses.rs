//! Responses to plain requests.

use super::*;

#[test]
fn a_response_has_a_head_a_body_and_trailers() {
    let requests = get();
    let block = block(&[(":status", "200"), ("a", "b")]);
    let padded = [&[3][..], &[0, 0, 0, 1, 16], &block, &[0; 3]].concat();
    let bytes = [
        headers(1, 0, &[(":status", "103"), ("link", "x")]),
        frame(Kind::HEADERS, END_HEADERS | PADDED | PRIORITY, 1, &padded),
        frame(Kind::PRIORITY, 0, 1, &[0, 0, 0, 0, 16]),
        data(1, 0, b""),
        // ORIGIN, and an unknown one.
        [&[0, 0, 1, 0xc, 0, 0, 0, 0, 0][..], b"x"].concat(),
        vec![0, 0, 0, 0xff, 0xff, 0x80, 0, 0, 7],
        frame(Kind::DATA, PADDED, 1, b"\x04hello\0\0\0\0"),
        // All of it is padding.
        frame(Kind::DATA, PADDED, 1, b"\x02\0\0"),
        frame(Kind::HEADERS, END_STREAM, 1, b"\0\x01c"),
        frame(Kind::CONTINUATION, END_HEADERS, 1, b"\x01d"),
    ]
    .concat();
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut client = Client::requesting(&requests, 1);
        for piece in pieces {
            client.eat(piece).unwrap();
        }
        assert_eq!(client.wire.close(), OnClose::BeforeResponse);
        assert_eq!(client.sent(), []);
        client.done.remove(0)
    };
    let expected = read(&mut [&bytes[..]].into_iter());
    let whole = Whole {
        status: 200,
        body_bytes: 5,
        keep_alive: true,
        rpc_status: None,
    };
    assert_eq!(expected.whole(), whole);
    assert_eq!(expected.response.body, b"hello");
    assert_eq!(expected.response.headers.len(), 2);
    assert_eq!(expected.response.header("a"), Some("b"));
    assert_eq!(expected.response.header("c"), Some("d"));
    for at in 0..=bytes.len() {
        let pieces = [&bytes[..at], &bytes[at..]];
        assert_eq!(read(&mut pieces.into_iter()), expected, "split at {at}");
    }
    assert_eq!(read(&mut bytes.chunks(1)), expected);
}

#[test]
fn equal_heads_mean_the_same_and_others_do_not() {
    let requests = get();
    let mut client = Client::requesting(&requests, 6);
    let blocks: [(&[u8], u16); 6] = [
        (b"\x48\x03201", 201),
        (b"\xbe", 201),
        (b"\xbe", 201),
        (b"\x48\x03404", 404),
        (b"\xbe", 404),
        (b"\xbf", 201),
    ];
    for (number, (block, status)) in blocks.into_iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        let head = frame(Kind::HEADERS, END_HEADERS | END_STREAM, stream, block);
        // Only what is not kept may be recognised.
        let eaten = client.wire.eat(&head, &mut NotKept).unwrap();
        let End::Whole(whole) = eaten.ended.unwrap().end else {
            panic!("not whole");
        };
        assert_eq!(whole.status, status, "{number}");
    }
}

struct NotKept;

impl Responses for NotKept {
    fn begun(&mut self, _: usize) {}
    fn keep(&mut self, _: usize) -> Option<&mut Collect> {
        None
    }
    fn events(&mut self, _: usize, _: u64) {}
}

#[test]
fn responses_without_a_body_may_announce_one() {
    let head = StreamRequest::http(&Method::HEAD, "http", "localhost", "/", &[], b"").unwrap();
    let requests = [head, get()[0].clone()];
    for (number, status) in [(0, "200"), (1, "304")] {
        let mut client = Client::connected(&requests, &[]);
        client.request(number);
        let announced = [(":status", status), ("content-length", "100")];
        let done = client.ended(&headers(1, END_STREAM, &announced));
        assert_eq!(done[0].whole().body_bytes, 0);
        client.request(number);
        let bytes = [headers(3, 0, &announced), data(3, END_STREAM, b"x")].concat();
        let fault = Malformed::BodyNotAllowed.into();
        assert_eq!(client.ended(&bytes)[0].end, End::Failed(fault));
    }
}

#[test]
fn short_bodies_are_kept_for_each_response() {
    let requests = get();
    let mut client = Client::of(H2Wire::new(&requests, false).keeping_bodies(Some(4)));
    client.eat(&settings(&[])).unwrap();
    for _ in 0..3 {
        let first = 2 * client.requests as u32 + 1;
        (0..3).for_each(|_| client.request(0));
        let bytes = [
            frame(Kind::HEADERS, END_HEADERS, first, OK),
            data(first, 0, b"sho"),
            response(first + 2, b"long body"),
            data(first, END_STREAM, b"r"),
            response(first + 4, b""),
        ];
        let kept: Vec<_> = (client.ended(&bytes.concat()).into_iter())
            .map(|done| done.short_body.unwrap())
            .collect();
        // One byte more shows that it was longer.
        assert_eq!(kept, [&b"long "[..], b"shor", b""]);
    }
}

#[test]
fn events_are_counted_for_each_stream() {
    let requests = get();
    let mut client = Client::of(H2Wire::new(&requests, true));
    client.eat(&settings(&[])).unwrap();
    (0..2).for_each(|_| client.request(0));
    let bytes = [
        frame(Kind::HEADERS, END_HEADERS, 1, OK),
        frame(Kind::HEADERS, END_HEADERS, 3, OK),
        data(1, 0, b"data: a\n"),
        data(3, 0, b"data: b\n\n"),
        data(1, 0, b"\ndata: c\n\nda"),
        data(3, END_STREAM, b""),
        data(1, END_STREAM, b"ta: d\n\n"),
    ];
    let done = client.ended(&bytes.concat());
    let events: Vec<_> = done.iter().map(|done| (done.number, done.events)).collect();
    assert_eq!(events, [(1, 1), (0, 3)]);
}

/// A malformed response fails alone: the connection goes on.
#[test]
fn a_malformed_response_fails_alone() {
    let requests = get();
    let status = |status| vec![headers(1, 0, &[(":status", status)])];
    let with = |name, value| vec![headers(1, 0, &[(":status", "200"), (name, value)])];
    let head = || headers(1, 0, &[(":status", "200")]);
    let length = |length| headers(1, 0, &[(":status", "200"), ("content-length", length)]);
    let cases = [
        (vec![headers(1, 0, &[])], Malformed::PseudoField),
        (vec![headers(1, 0, &[("a", "b")])], Malformed::PseudoField),
        (
            vec![headers(1, 0, &[("a", "b"), (":status", "200")])],
            Malformed::PseudoField,
        ),
        (with(":status", "200"), Malformed::PseudoField),
        (
            vec![headers(1, 0, &[(":path", "/")])],
            Malformed::PseudoField,
        ),
        (
            vec![head(), headers(1, END_STREAM, &[(":status", "200")])],
            Malformed::PseudoField,
        ),
        (status("20"), Malformed::Status),
        (status("099"), Malformed::Status),
        (status("2000"), Malformed::Status),
        (status("2x0"), Malformed::Status),
        (status("101"), Malformed::SwitchingProtocols),
        (
            vec![headers(1, END_STREAM, &[(":status", "100")])],
            Malformed::OnlyInterim,
        ),
        (with("A", "b"), Malformed::Field),
        (with("", "b"), Malformed::Field),
        (with("a b", "c"), Malformed::Field),
        (with("a", "b\nc"), Malformed::Field),
        (with("a", " b"), Malformed::Field),
        (with("a", "b\t"), Malformed::Field),
        (with("connection", "close"), Malformed::Field),
        (with("transfer-encoding", "chunked"), Malformed::Field),
        (with("content-length", "5, 5"), Malformed::ContentLength),
        (
            vec![headers(
                1,
                0,
                &[
                    (":status", "200"),
                    ("content-length", "5"),
                    ("content-length", "6"),
                ],
            )],
            Malformed::ContentLength,
        ),
        (
            vec![length("3"), data(1, 0, b"four")],
            Malformed::BodyLength,
        ),
        (
            vec![length("3"), data(1, END_STREAM, b"2!")],
            Malformed::BodyLength,
        ),
        (
            vec![length("3"), headers(1, END_STREAM, &[])],
            Malformed::BodyLength,
        ),
        (
            vec![headers(1, 0, &[(":status", "204")]), data(1, 0, b"x")],
            Malformed::BodyNotAllowed,
        ),
        (vec![data(1, 0, b"x")], Malformed::BodyBeforeHead),
        (
            vec![headers(1, 0, &[(":status", "100")]), data(1, 0, b"x")],
            Malformed::BodyBeforeHead,
        ),
        (
            vec![head(), headers(1, 0, &[("a", "b")])],
            Malformed::AfterTrailers,
        ),
    ];
    for (frames_of_server, malformed) in cases {
        let bytes = frames_of_server.concat();
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&bytes);
        assert_eq!(done.len(), 1, "{malformed}");
        assert_eq!(done[0].end, End::Failed(malformed.into()), "{malformed}");
        let last = frames(&bytes).pop().unwrap();
        let resets = match last.flags & END_STREAM {
            0 => frames(&reset(1, ErrorCode::PROTOCOL_ERROR)),
            _ => Vec::new(),
        };
        assert_eq!(client.sent(), resets, "{malformed}");
        assert_eq!(client.ended(&response(3, b"x"))[0].whole().body_bytes, 1);
        let mut cut = Client::requesting(&requests, 2);
        for byte in bytes.chunks(1) {
            cut.eat(byte).unwrap();
        }
        assert_eq!(cut.done, done, "{malformed}, byte by byte");
    }
}
