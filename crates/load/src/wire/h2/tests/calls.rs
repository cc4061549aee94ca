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

const HEAD_TEXT: &str = ":status=200&content-type=application/grpc";

/// A whole response with [`MESSAGE`].
fn echoed(stream: u32) -> Vec<u8> {
    let trailers = headers(stream, END_STREAM, &FINE);
    [
        headers(stream, 0, &HEAD),
        data(stream, 0, MESSAGE),
        trailers,
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

/// Name, bytes from the start of the connection, and the expected status, RPC status and body.
type Sample = (&'static str, Vec<u8>, (u16, Option<u32>, &'static str));

fn samples() -> Vec<Sample> {
    let block = block(&HEAD);
    let interleaved = [
        written("HEADERS 1 :status=103&link=x; WINDOW_UPDATE 0 \0\0\x03\x08"),
        frame(Kind::HEADERS, 0, 1, &block[..3]),
        frame(Kind::CONTINUATION, END_HEADERS, 1, &block[3..]),
        written(
            "PING 0 12345678; DATA 1 \0\0; 254 0 ??; DATA 1; DATA+PADDED 1 \x02\0\0\x03\x0a\0\0",
        ),
        settings(&[(0x4, 100)]),
        written("DATA 1 \x01x; WINDOW_UPDATE 1 \0\0\0\x05"),
        written("HEADERS+END_STREAM+END_HEADERS+PRIORITY 1 \0\0\0\0\0\0\x0bgrpc-status\x010"),
        written("WINDOW_UPDATE 1 \0\0\0\x05; RST_STREAM 1 \0\0\0\0; PING 0 87654321"),
    ];
    let sample = |name, (frames, expected): (Vec<u8>, _)| {
        let begun = written("SETTINGS 0; SETTINGS+ACK 0");
        (name, [begun, frames].concat(), expected)
    };
    let of = |name, frames: &str, expected| {
        let frames = frames.replace("HEAD 1", &format!("HEADERS 1 {HEAD_TEXT}"));
        sample(name, (written(&frames), expected))
    };
    const FAILED: &str = "HEADERS+END_STREAM 1 :status=200&content-type=application/grpc+proto&grpc-status=12&\
                          grpc-message=no%20such%zz%C3%A4";
    const PAGE: &str = "HEADERS 1 :status=404&content-type=text/plain&grpc-status=?; \
                        DATA 1 not ; DATA+END_STREAM 1 found";
    const ECHO: &str = "\x0a\x01x";
    vec![
        sample("plain", (echoed(1), (200, Some(0), ECHO))),
        sample("interleaved", (interleaved.concat(), (200, Some(0), ECHO))),
        of("trailers only", FAILED, (200, Some(12), "")),
        of("a page", PAGE, (404, None, "not found")),
        of(
            "a head alone",
            "HEADERS+END_STREAM 1 :status=503",
            (503, None, ""),
        ),
        of(
            "a page with 200",
            "HEADERS 1 :status=200; DATA+END_STREAM 1 hi",
            (200, Some(2), "hi"),
        ),
        of(
            "without trailers",
            "HEAD 1; DATA+END_STREAM 1 \0\0\0\0\x03\x0a\x01x",
            (200, Some(2), ECHO),
        ),
        of(
            "an empty message",
            "HEAD 1; DATA 1 \0\0\0\0\0; HEADERS+END_STREAM 1 grpc-status=0&grpc-message=",
            (200, Some(0), ""),
        ),
        of(
            "a message and an error",
            "HEAD 1; DATA 1 \0\0\0\0\x03\x0a\x01x; HEADERS+END_STREAM 1 grpc-status=13",
            (200, Some(13), ECHO),
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
        let response = &expected.0.response;
        assert_eq!(
            (response.status, &*response.body),
            (status, body.as_bytes()),
            "{name}"
        );
        for at in 1..bytes.len() {
            let cut = read(&requests, [&bytes[..at], &bytes[at..]]).unwrap();
            assert_eq!(cut, expected, "{name} at {at}");
        }
        let cut = read(&requests, bytes.chunks(1)).unwrap();
        assert_eq!(cut, expected, "{name} byte by byte");
    }
}

#[test]
fn a_kept_response_has_the_fields_of_head_and_trailers() {
    let (requests, samples) = (call(), samples());
    let kept = |name: &str| {
        let (_, bytes, _) = samples.iter().find(|sample| sample.0 == name).unwrap();
        read(&requests, [&bytes[..]]).unwrap().0.response.headers
    };
    let content_type = |value: &str| ("content-type".into(), value.into());
    let status = |value: &str, message: &str| {
        [("grpc-status", value), ("grpc-message", message)].map(|(a, b)| (a.into(), b.into()))
    };
    let plain = [
        vec![content_type("application/grpc")],
        status("0", "").into(),
    ];
    assert_eq!(kept("plain"), plain.concat());
    let failed = status("12", "no such%zzä").into();
    let failed = [vec![content_type("application/grpc+proto")], failed];
    assert_eq!(kept("trailers only"), failed.concat());
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
        written("HEADERS+END_STREAM 9 :status=200&content-type=text/html"),
    ];
    let not_grpc = "the response is not gRPC: its content-type is not `application/grpc`";
    let expected = [
        (5, Some("not here")),
        (0, None),
        (5, Some("there")),
        (2, Some("the response has no grpc-status")),
        (2, Some(not_grpc)),
    ];
    let ended = client.ended(&bytes.concat());
    let ended = ended
        .iter()
        .map(|done| (done.whole().rpc_status.unwrap(), done.message.as_deref()));
    assert_eq!(ended.collect::<Vec<_>>(), expected);
}

const THREE_MESSAGES: &[u8] = b"\0\0\0\0\x01a\0\0\0\0\0\0\0\0\0\x02bc";

/// The frames of a response with [`THREE_MESSAGES`], split without regard to them.
fn three_messages(stream: u32) -> Vec<u8> {
    let pieces = [
        &THREE_MESSAGES[..3],
        &THREE_MESSAGES[3..13],
        &THREE_MESSAGES[13..],
    ];
    let body = pieces.map(|piece| data(stream, 0, piece)).concat();
    [
        headers(stream, 0, &HEAD),
        body,
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
        let kept = |done: &Done| {
            (
                done.events,
                done.whole().rpc_status,
                done.whole().body_bytes,
            )
        };
        assert_eq!(kept(&done[0]), (3, Some(0), THREE_MESSAGES.len() as u64));
        assert_eq!(kept(&done[1]), (0, Some(0), 0));
        assert_eq!(done[0].response.body, THREE_MESSAGES);
        assert_eq!(done[0].short_body.as_deref(), Some(THREE_MESSAGES));
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
    for [rest, broken] in rows(
        r"
            DATA 1 \x01\0\0\0\0 | Compressed(1)
            DATA 1 \0\0\0\0\x03abc; DATA 1 \0\0\0\0\x03abc | SecondMessage
            DATA 1 \0\0\0\0\x03ab; HEADERS+END_STREAM 1 grpc-status=0 | MessageCut
            DATA+END_STREAM 1 \0\0\0 | MessageCut
            DATA 1 \0\xff\xff\xff\xffx | MessageTooLong(4294967295)
            HEADERS+END_STREAM 1 grpc-status=0 | NoMessage
            HEADERS+END_STREAM 1 grpc-status= | RpcStatus
            HEADERS+END_STREAM 1 grpc-status=-1 | RpcStatus
            HEADERS+END_STREAM 1 grpc-status=4294967296 | RpcStatus
        ",
    ) {
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&[headers(1, 0, &HEAD), written(rest)].concat());
        assert_eq!(done[0].failure(), format!("Grpc({broken})"));
        assert_eq!(client.ended(&echoed(3))[0].whole().rpc_status, Some(0));
    }
    // Trailers only.
    let mut client = Client::requesting(&requests, 1);
    let fine = headers(1, END_STREAM, &[HEAD[0], HEAD[1], FINE[0]]);
    assert_eq!(client.ended(&fine)[0].failure(), "Grpc(NoMessage)");
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
