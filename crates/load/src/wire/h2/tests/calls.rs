//! Responses to gRPC calls.

use proptest::prelude::*;

use super::*;
use crate::wire::grpc::{Call, CallKind, Malformed as Broken};

const HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];
const FINE: [(&str, &str); 2] = [("grpc-status", "0"), ("grpc-message", "")];
const MESSAGE: &[u8] = b"\0\0\0\0\x03\x0a\x01x";

fn call_of(kind: CallKind, message: &[u8]) -> [StreamRequest; 1] {
    let messages = [message.to_vec()];
    let call = Call {
        kind,
        ..Call::unary("/prony.echo.v1.Echo/Unary", "localhost", &messages[0])
    };
    [call.encode().unwrap()]
}

fn call() -> [StreamRequest; 1] {
    call_of(CallKind::Unary, b"\x0a\x01x")
}

fn echoed(stream: u32) -> Vec<u8> {
    [
        headers(stream, 0, &HEAD),
        data(stream, 0, MESSAGE),
        headers(stream, END_STREAM, &FINE),
    ]
    .concat()
}

/// The bytes of a server from the start of the connection.
fn begun(rest: &[Vec<u8>]) -> Vec<u8> {
    [
        settings(&[]),
        frame(Kind::SETTINGS, ACK, 0, &[]),
        rest.concat(),
    ]
    .concat()
}

/// How one call ends if the pieces arrive, and what was sent meanwhile.
fn read<'a>(
    requests: &[StreamRequest],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Done, Vec<Sent>), Fault> {
    let mut client = Client::new(requests);
    client.request(0);
    client.sent();
    let mut sent = Vec::new();
    for piece in pieces {
        client.eat(piece)?;
        sent.extend(client.sent());
    }
    assert_eq!(client.wire.skippable(), 0);
    assert_eq!(client.wire.close(), OnClose::BeforeResponse);
    assert_eq!(client.done.len(), 1);
    Ok((client.done.remove(0), sent))
}

/// Name, bytes, and the expected status, RPC status and body.
type Sample = (&'static str, Vec<u8>, (u16, Option<u32>, &'static [u8]));

fn samples() -> Vec<Sample> {
    let block = block(&HEAD);
    let interleaved = [
        headers(1, 0, &[(":status", "103"), ("link", "x")]),
        window_update(0, 1000),
        frame(Kind::HEADERS, 0, 1, &block[..3]),
        frame(Kind::CONTINUATION, END_HEADERS, 1, &block[3..]),
        frame(Kind::PING, 0, 0, b"12345678"),
        data(1, 0, &MESSAGE[..2]),
        [&[0, 0, 2, 0xfe, 0, 0, 0, 0, 1][..], b"??"].concat(),
        data(1, 0, b""),
        frame(
            Kind::DATA,
            PADDED,
            1,
            &[&[2], &MESSAGE[2..6], &[0, 0]].concat(),
        ),
        settings(&[(0x4, 100)]),
        data(1, 0, &MESSAGE[6..]),
        window_update(1, 5),
        frame(
            Kind::HEADERS,
            END_STREAM | END_HEADERS | PRIORITY,
            1,
            b"\0\0\0\0\0\0\x0bgrpc-status\x010",
        ),
        window_update(1, 5),
        reset(1, ErrorCode::NO_ERROR),
        frame(Kind::PING, 0, 0, b"87654321"),
    ];
    let failed = [
        (":status", "200"),
        ("content-type", "application/grpc+proto"),
        ("grpc-status", "12"),
        ("grpc-message", "no%20such%zz%C3%A4"),
    ];
    let page = [
        (":status", "404"),
        ("content-type", "text/plain"),
        ("grpc-status", "?"),
    ];
    vec![
        ("plain", begun(&[echoed(1)]), (200, Some(0), b"\x0a\x01x")),
        (
            "interleaved",
            begun(&interleaved),
            (200, Some(0), b"\x0a\x01x"),
        ),
        (
            "trailers only",
            begun(&[headers(1, END_STREAM, &failed)]),
            (200, Some(12), b""),
        ),
        (
            "a page",
            begun(&[
                headers(1, 0, &page),
                data(1, 0, b"not "),
                data(1, END_STREAM, b"found"),
            ]),
            (404, None, b"not found"),
        ),
        (
            "a head alone",
            begun(&[headers(1, END_STREAM, &[(":status", "503")])]),
            (503, None, b""),
        ),
        (
            "a page with 200",
            begun(&[
                headers(1, 0, &[(":status", "200")]),
                data(1, END_STREAM, b"hi"),
            ]),
            (200, Some(2), b"hi"),
        ),
        (
            "without trailers",
            begun(&[headers(1, 0, &HEAD), data(1, END_STREAM, MESSAGE)]),
            (200, Some(2), b"\x0a\x01x"),
        ),
        (
            "an empty message",
            begun(&[
                headers(1, 0, &HEAD),
                data(1, 0, &[0; 5]),
                headers(1, END_STREAM, &FINE),
            ]),
            (200, Some(0), b""),
        ),
        (
            "a message and an error",
            begun(&[
                headers(1, 0, &HEAD),
                data(1, 0, MESSAGE),
                headers(1, END_STREAM, &[("grpc-status", "13")]),
            ]),
            (200, Some(13), b"\x0a\x01x"),
        ),
    ]
}

#[test]
fn a_response_split_at_every_byte_is_the_same() {
    let requests = call();
    for (name, bytes, (status, rpc_status, body)) in samples() {
        let expected = read(&requests, [&bytes[..]]).unwrap();
        let whole = Whole {
            status,
            body_bytes: body.len() as u64,
            keep_alive: true,
            rpc_status,
        };
        assert_eq!(expected.0.whole(), whole, "{name}");
        assert_eq!(
            (expected.0.response.status, &*expected.0.response.body),
            (status, body),
            "{name}"
        );
        for at in 1..bytes.len() {
            let cut = read(&requests, [&bytes[..at], &bytes[at..]]).unwrap();
            assert_eq!(cut, expected, "{name} at {at}");
        }
        assert_eq!(
            read(&requests, bytes.chunks(1)).unwrap(),
            expected,
            "{name} byte by byte"
        );
    }
}

#[test]
fn a_kept_response_has_the_fields_of_head_and_trailers() {
    let requests = call();
    let kept = |name: &str| {
        let samples = samples();
        let (_, bytes, _) = samples.iter().find(|sample| sample.0 == name).unwrap();
        read(&requests, [&bytes[..]]).unwrap().0
    };
    let plain = kept("plain");
    let names: Vec<_> = (plain.response.headers.iter())
        .map(|(name, _)| &**name)
        .collect();
    assert_eq!(names, ["content-type", "grpc-status", "grpc-message"]);
    assert_eq!(plain.response.header("grpc-status"), Some("0"));
    assert_eq!(plain.message, None);
    let failed = kept("trailers only");
    assert_eq!(failed.response.header("grpc-status"), Some("12"));
    assert_eq!(failed.response.header("grpc-message"), Some("no such%zzä"));
}

#[test]
fn the_message_is_that_of_the_last_call_if_it_failed() {
    let requests = call();
    let mut client = Client::requesting(&requests, 5);
    let failed = |stream, message| {
        let fields = [
            HEAD[0],
            HEAD[1],
            ("grpc-status", "5"),
            ("grpc-message", message),
        ];
        headers(stream, END_STREAM, &fields)
    };
    let bytes = [
        failed(1, "not%20here"),
        echoed(3),
        failed(7, "there"),
        [headers(5, 0, &HEAD), data(5, END_STREAM, MESSAGE)].concat(),
        headers(
            9,
            END_STREAM,
            &[(":status", "200"), ("content-type", "text/html")],
        ),
    ];
    let messages: Vec<_> = (client.ended(&bytes.concat()).into_iter())
        .map(|done| (done.whole().rpc_status.unwrap(), done.message))
        .collect();
    let expected = [
        (5, Some("not here")),
        (0, None),
        (5, Some("there")),
        (2, Some("the response has no grpc-status")),
        (
            2,
            Some("the response is not gRPC: its content-type is not `application/grpc`"),
        ),
    ];
    assert_eq!(
        messages,
        expected.map(|(status, message)| (status, message.map(str::to_owned)))
    );
}

#[test]
fn calls_follow_each_other_on_one_connection() {
    let requests = call_of(CallKind::Unary, b"m");
    let mut client = Client::connected(&requests, &[]);
    for number in [1, 3, 5] {
        client.request(0);
        let [head, message] = &client.sent()[..] else {
            panic!("a head and a message");
        };
        assert_eq!((head.kind, head.stream), (Kind::HEADERS, number));
        assert_eq!((message.stream, message.flags), (number, END_STREAM));
        assert_eq!(message.payload, b"\0\0\0\0\x01m");
        let whole = client.ended(&echoed(number))[0].whole();
        assert_eq!((whole.rpc_status, whole.body_bytes), (Some(0), 3));
        assert!(whole.keep_alive);
    }
}

/// The frames of a response with three messages, split without regard to them.
fn three_messages(stream: u32) -> Vec<u8> {
    let messages = b"\0\0\0\0\x01a\0\0\0\0\0\0\0\0\0\x02bc";
    [
        headers(stream, 0, &HEAD),
        data(stream, 0, &messages[..3]),
        data(stream, 0, &messages[3..13]),
        data(stream, 0, &messages[13..]),
        headers(stream, END_STREAM, &FINE),
    ]
    .concat()
}

#[test]
fn a_stream_of_messages_is_counted_and_kept_with_prefixes() {
    for kind in [CallKind::ServerStreaming, CallKind::Bidirectional] {
        let requests = call_of(kind, b"m");
        let mut client = Client::of(H2Wire::new(&requests, true).keeping_bodies(Some(100)));
        client.eat(&settings(&[])).unwrap();
        (0..2).for_each(|_| client.request(0));
        client.sent();
        let none = [headers(3, 0, &HEAD), headers(3, END_STREAM, &FINE)].concat();
        let done = client.ended(&[three_messages(1), none].concat());
        assert_eq!((done[0].events, done[1].events), (3, 0));
        assert_eq!(done[0].whole().rpc_status, Some(0));
        let body = b"\0\0\0\0\x01a\0\0\0\0\0\0\0\0\0\x02bc";
        assert_eq!(done[0].whole().body_bytes, body.len() as u64);
        assert_eq!(done[0].response.body, body);
        assert_eq!(done[0].short_body.as_deref(), Some(&body[..]));
        assert_eq!(done[1].whole().rpc_status, Some(0));
    }
    for kind in [CallKind::Unary, CallKind::ClientStreaming] {
        let requests = call_of(kind, b"m");
        let mut client = Client::requesting(&requests, 1);
        let done = client.ended(&three_messages(1)[..60]);
        assert_eq!(done[0].end, End::Failed(Broken::SecondMessage.into()));
    }
}

#[test]
fn invalid_responses_fail_alone() {
    let requests = call();
    let grpc = || headers(1, 0, &HEAD);
    let trailers = |fields: &[(&str, &str)]| headers(1, END_STREAM, fields);
    let cases = [
        (
            vec![grpc(), data(1, 0, b"\x01\0\0\0\0")],
            Broken::Compressed(1),
        ),
        (
            vec![grpc(), data(1, 0, MESSAGE), data(1, 0, MESSAGE)],
            Broken::SecondMessage,
        ),
        (
            vec![grpc(), data(1, 0, &MESSAGE[..7]), trailers(&FINE)],
            Broken::MessageCut,
        ),
        (
            vec![grpc(), data(1, END_STREAM, &MESSAGE[..3])],
            Broken::MessageCut,
        ),
        (
            vec![grpc(), data(1, 0, b"\0\xff\xff\xff\xffx")],
            Broken::MessageTooLong(u32::MAX),
        ),
        (vec![grpc(), trailers(&FINE)], Broken::NoMessage),
        (
            vec![trailers(&[HEAD[0], HEAD[1], FINE[0]])],
            Broken::NoMessage,
        ),
        (
            vec![grpc(), trailers(&[("grpc-status", "")])],
            Broken::RpcStatus,
        ),
        (
            vec![grpc(), trailers(&[("grpc-status", "-1")])],
            Broken::RpcStatus,
        ),
        (
            vec![grpc(), trailers(&[("grpc-status", "4294967296")])],
            Broken::RpcStatus,
        ),
    ];
    for (frames_of_server, broken) in cases {
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&frames_of_server.concat());
        assert_eq!(done[0].end, End::Failed(broken.into()), "{broken}");
        assert_eq!(client.ended(&echoed(3))[0].whole().rpc_status, Some(0));
    }
}

#[test]
fn a_response_before_the_message_is_sent_can_only_be_an_error() {
    let message = vec![b'm'; 200_000];
    let too_early = End::Failed(Broken::TooEarly.into());
    for (kind, may_be_early) in [
        (CallKind::Unary, false),
        (CallKind::ServerStreaming, false),
        (CallKind::ClientStreaming, true),
        (CallKind::Bidirectional, true),
    ] {
        let requests = call_of(kind, &message);
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&echoed(1));
        assert!(!done[0].was_sent);
        assert_eq!(done[0].end == too_early, !may_be_early, "{kind:?}");
        assert!(client.sent_bytes().ends_with(&reset(1, ErrorCode::CANCEL)));
        let refused = [HEAD[0], HEAD[1], ("grpc-status", "8")];
        let bytes = [
            headers(3, END_STREAM, &refused),
            reset(3, ErrorCode::NO_ERROR),
        ];
        let whole = client.ended(&bytes.concat())[0].whole();
        assert_eq!((whole.rpc_status, whole.keep_alive), (Some(8), true));
    }
    // The windows let all of it through, but the socket does not.
    let requests = call();
    let mut client = Client::connected(&requests, &[]);
    client.request(0);
    let length = client.wire.unsent().len();
    client.wire.sent(length - 1);
    assert_eq!(client.ended(&echoed(1))[0].end, too_early);
}

proptest! {
    /// Garbage in place of some bytes of a response, or after its start: the same however it is split.
    #[test]
    fn no_bytes_cause_a_panic(
        sample in 0..9usize,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        rest in prop::collection::vec(any::<u8>(), 0..100),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = samples().swap_remove(sample).1;
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.extend(rest);
        let requests = call();
        let outcome = |pieces: [&[u8]; 2]| {
            let mut client = Client::new(&requests);
            client.request(0);
            client.request(0);
            client.sent();
            let result = pieces.iter().try_for_each(|piece| client.eat(piece));
            let close = result.is_ok().then(|| client.wire.close());
            (client.done, result, close)
        };
        let (first, second) = bytes.split_at(cut.index(bytes.len()));
        prop_assert_eq!(outcome([first, second]), outcome([&bytes, &[]]));
    }
}
