//! Responses to plain requests.

use super::*;

#[test]
fn a_response_has_a_head_a_body_and_trailers() {
    let requests = get();
    let block = block(&[(":status", "200"), ("a", "b")]);
    let padded = [&[3][..], &[0, 0, 0, 1, 16], &block, &[0; 3]].concat();
    let bytes = [
        written("HEADERS 1 :status=103&link=x"),
        frame(Kind::HEADERS, END_HEADERS | PADDED | PRIORITY, 1, &padded),
        written("PRIORITY 1 \0\0\0\0\x10; DATA 1"),
        // ORIGIN, and an unknown one.
        written("12 0 x"),
        vec![0, 0, 0, 0xff, 0xff, 0x80, 0, 0, 7],
        // The second has nothing but padding.
        written("DATA+PADDED 1 \x04hello\0\0\0\0; DATA+PADDED 1 \x02\0\0"),
        written("HEADERS+END_STREAM 1 \0\x01c; CONTINUATION+END_HEADERS 1 \x01d"),
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
    let received = Response {
        status: 200,
        headers: [("a", "b"), ("c", "d")]
            .map(|(a, b)| (a.into(), b.into()))
            .into(),
        body: b"hello".to_vec(),
    };
    assert_eq!(expected.response, received);
    for at in 0..=bytes.len() {
        let pieces = [&bytes[..at], &bytes[at..]];
        assert_eq!(read(&mut pieces.into_iter()), expected, "split at {at}");
    }
    assert_eq!(read(&mut bytes.chunks(1)), expected);
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
    let bytes = written(
        "HEADERS 1 :status=200; HEADERS 3 :status=200; DATA 1 data: a\n; DATA 3 data: b\n\n; \
         DATA 1 \ndata: c\n\nda; DATA+END_STREAM 3; DATA+END_STREAM 1 ta: d\n\n",
    );
    let events = client.ended_by_number(&bytes, |done| done.events);
    assert_eq!(events, [(1, 1), (0, 3)]);
}

/// A malformed response fails alone: the connection goes on.
#[test]
fn a_malformed_response_fails_alone() {
    let requests = get();
    for [frames_of_server, malformed] in rows(MALFORMED) {
        let bytes = written(frames_of_server);
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&bytes);
        assert_eq!(done.len(), 1, "{frames_of_server}");
        let reason = format!("Http2({malformed})");
        assert_eq!(done[0].failure(), reason, "{frames_of_server}");
        let last = frames(&bytes).pop().unwrap();
        let resets = match last.flags & END_STREAM {
            0 => frames(&reset(1, ErrorCode::PROTOCOL_ERROR)),
            _ => Vec::new(),
        };
        assert_eq!(client.sent(), resets, "{frames_of_server}");
        assert_eq!(client.ended(&response(3, b"x"))[0].whole().body_bytes, 1);
        let mut cut = Client::requesting(&requests, 2);
        for byte in bytes.chunks(1) {
            cut.eat(byte).unwrap();
        }
        assert_eq!(cut.done, done, "{frames_of_server}, byte by byte");
    }
}

/// Frames, and what is wrong with them.
const MALFORMED: &str = r"
    HEADERS+END_HEADERS 1 | PseudoField
    HEADERS 1 a=b | PseudoField
    HEADERS 1 a=b&:status=200 | PseudoField
    HEADERS 1 :status=200&:status=200 | PseudoField
    HEADERS 1 :path=/ | PseudoField
    HEADERS 1 :status=200; HEADERS+END_STREAM 1 :status=200 | PseudoField
    HEADERS 1 :status=20 | Status
    HEADERS 1 :status=099 | Status
    HEADERS 1 :status=2000 | Status
    HEADERS 1 :status=2x0 | Status
    HEADERS 1 :status=101 | SwitchingProtocols
    HEADERS+END_STREAM 1 :status=100 | OnlyInterim
    HEADERS 1 :status=200&A=b | Field
    HEADERS 1 :status=200&=b | Field
    HEADERS 1 :status=200&a b=c | Field
    HEADERS 1 :status=200&a=b\nc | Field
    HEADERS 1 :status=200&a= b | Field
    HEADERS 1 :status=200&a=b\t | Field
    HEADERS 1 :status=200&connection=close | Field
    HEADERS 1 :status=200&transfer-encoding=chunked | Field
    HEADERS 1 :status=200&content-length=5, 5 | ContentLength
    HEADERS 1 :status=200&content-length=5&content-length=6 | ContentLength
    HEADERS 1 :status=200&content-length=3; DATA 1 four | BodyLength
    HEADERS 1 :status=200&content-length=3; DATA+END_STREAM 1 2! | BodyLength
    HEADERS 1 :status=200&content-length=3; HEADERS+END_STREAM+END_HEADERS 1 | BodyLength
    HEADERS 1 :status=204; DATA 1 x | BodyNotAllowed
    DATA 1 x | BodyBeforeHead
    HEADERS 1 :status=100; DATA 1 x | BodyBeforeHead
    HEADERS 1 :status=200; HEADERS 1 a=b | AfterTrailers
";
