//! Responses to gRPC calls.

use prony_traffic::{Call, CallKind};
use proptest::prelude::*;

use super::*;
use crate::wire::grpc::Malformed as Broken;

/// Frames of [`written`], with abbreviations.
fn grpc(frames: &str) -> Vec<u8> {
    let frames = frames.replace("GRPC", ":status=200&content-type=application/grpc");
    let frames = frames.replace("FINE", "grpc-status=0&grpc-message=");
    written(&frames.replace("ECHO", "\0\0\0\0\x03\x0a\x01x"))
}

fn call_of(kind: CallKind, message: &[u8]) -> [StreamRequest; 1] {
    let call = Call {
        kind,
        ..Call::unary("/prony.echo.v1.Echo/Unary", "localhost", message)
    };
    [StreamRequest::of_call(&call).unwrap()]
}

fn call() -> [StreamRequest; 1] {
    call_of(CallKind::Unary, b"\x0a\x01x")
}

fn echoed(stream: u32) -> Vec<u8> {
    grpc(&format!(
        "HEADERS {stream} GRPC; DATA {stream} ECHO; HEADERS+END_STREAM {stream} FINE"
    ))
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

/// The same with bytes from the start of the connection.
type Sample = (&'static str, Vec<u8>, (u16, Option<u32>), [&'static str; 2]);

fn samples() -> Vec<Sample> {
    let sample = |[name, frames, status, rpc_status, body, fields]: [&'static str; 6]| {
        let bytes = [written("SETTINGS 0; SETTINGS+ACK 0"), grpc(frames)].concat();
        let statuses = (status.parse().unwrap(), rpc_status.parse().ok());
        (name, bytes, statuses, [body, fields])
    };
    let interleaved = sample([
        "interleaved",
        INTERLEAVED,
        "200",
        "0",
        "\n\x01x",
        "content-type=application/grpc&grpc-status=0",
    ]);
    rows(SAMPLES)
        .into_iter()
        .map(sample)
        .chain([interleaved])
        .collect()
}

const INTERLEAVED: &str = "HEADERS 1 :status=103&link=x; WINDOW_UPDATE 0 \0\0\x03\x08; \
    HEADERS 1 \u{88}\x0f; CONTINUATION+END_HEADERS 1 \x10\x10application/grpc; PING 0 12345678; DATA 1 \0\0; \
    254 0 ??; DATA 1; DATA+PADDED 1 \x02\0\0\x03\n\0\0; SETTINGS 0 \0\x04\0\0\0d; DATA 1 \x01x; \
    WINDOW_UPDATE 1 \0\0\0\x05; HEADERS+END_STREAM+END_HEADERS+PRIORITY 1 \0\0\0\0\0\0\x0bgrpc-status\x010; \
    WINDOW_UPDATE 1 \0\0\0\x05; RST_STREAM 1 \0\0\0\0; PING 0 87654321";

/// Name, frames, and the expected status, RPC status, body and fields.
const SAMPLES: &str = r#"
    plain | HEADERS 1 GRPC; DATA 1 ECHO; HEADERS+END_STREAM 1 FINE | 200 | 0 | \n\x01x | content-type=application/grpc&grpc-status=0&grpc-message=
    trailers only | HEADERS+END_STREAM 1 :status=200&content-type=application/grpc+proto&grpc-status=12&grpc-message=no%20such%zz%C3%A4 | 200 | 12 | "" | content-type=application/grpc+proto&grpc-status=12&grpc-message=no such%zzä
    a page | HEADERS 1 :status=404&content-type=text/plain&grpc-status=?; DATA 1 not ; DATA+END_STREAM 1 found | 404 | - | not found | content-type=text/plain&grpc-status=?
    a head alone | HEADERS+END_STREAM 1 :status=503 | 503 | - | "" | ""
    a page with 200 | HEADERS 1 :status=200; DATA+END_STREAM 1 hi | 200 | 2 | hi | ""
    without trailers | HEADERS 1 GRPC; DATA+END_STREAM 1 ECHO | 200 | 2 | \n\x01x | content-type=application/grpc
    an empty message | HEADERS 1 GRPC; DATA 1 \0\0\0\0\0; HEADERS+END_STREAM 1 FINE | 200 | 0 | "" | content-type=application/grpc&grpc-status=0&grpc-message=
    a message and an error | HEADERS 1 GRPC; DATA 1 ECHO; HEADERS+END_STREAM 1 grpc-status=13 | 200 | 13 | \n\x01x | content-type=application/grpc&grpc-status=13
"#;

#[test]
fn a_response_split_at_every_byte_is_the_same() {
    let requests = call();
    for (name, bytes, (status, rpc_status), [body, fields]) in samples() {
        let expected = read(&requests, [&bytes[..]]).unwrap();
        let whole = Whole {
            status,
            body_bytes: body.len() as u64,
            keep_alive: true,
            rpc_status,
        };
        assert_eq!(expected.0.whole(), whole, "{name}");
        let Response {
            status: kept,
            headers,
            body: kept_body,
        } = &expected.0.response;
        assert_eq!((*kept, &kept_body[..]), (status, body.as_bytes()), "{name}");
        let line = |(name, value): &(String, Vec<u8>)| {
            format!("{name}={}", String::from_utf8_lossy(value))
        };
        let kept_fields: Vec<_> = headers.iter().map(line).collect();
        assert_eq!(kept_fields.join("&"), fields, "{name}");
        for at in 1..bytes.len() {
            let cut = read(&requests, [&bytes[..at], &bytes[at..]]).unwrap();
            assert_eq!(cut, expected, "{name} at {at}");
        }
        let cut = read(&requests, bytes.chunks(1)).unwrap();
        assert_eq!(cut, expected, "{name} byte by byte");
    }
}

#[test]
fn the_message_is_that_of_the_last_call_if_it_failed() {
    let requests = call();
    let mut client = Client::requesting(&requests, 5);
    let frames = "HEADERS+END_STREAM 1 GRPC&grpc-status=5&grpc-message=not%20here; \
                  HEADERS 3 GRPC; DATA 3 ECHO; HEADERS+END_STREAM 3 FINE; \
                  HEADERS+END_STREAM 7 GRPC&grpc-status=5&grpc-message=there; \
                  HEADERS 5 GRPC; DATA+END_STREAM 5 ECHO; \
                  HEADERS+END_STREAM 9 :status=200&content-type=text/html";
    let not_grpc = "the response is not gRPC: its content-type is not `application/grpc`";
    let expected = [
        (5, Some("not here")),
        (0, None),
        (5, Some("there")),
        (2, Some("the response has no grpc-status")),
        (2, Some(not_grpc)),
    ];
    let ended = client.ended(&grpc(frames));
    let message = |done: &'_ Done| (done.whole().rpc_status.unwrap(), done.message.clone());
    let messages: Vec<_> = ended.iter().map(message).collect();
    assert_eq!(
        messages,
        expected.map(|(status, message)| (status, message.map(str::to_owned)))
    );
}

const THREE_MESSAGES: &[u8] = b"\0\0\0\0\x01a\0\0\0\0\0\0\0\0\0\x02bc";

/// The frames of a response with [`THREE_MESSAGES`], split without regard to them.
const SPLIT: &str = "HEADERS 1 GRPC; DATA 1 \0\0\0; DATA 1 \0\x01a\0\0\0\0\0\0\0; DATA 1 \0\0\x02bc; \
                     HEADERS+END_STREAM 1 FINE";

#[test]
fn a_stream_of_messages_is_counted_and_kept_with_prefixes() {
    for kind in [CallKind::ServerStreaming, CallKind::Bidirectional] {
        let requests = call_of(kind, b"m");
        let mut client = Client::of(H2Wire::new(&requests, true).keeping_bodies(Some(100)));
        client.eat(&settings(&[])).unwrap();
        (0..2).for_each(|_| client.request(0));
        client.sent();
        let none = "; HEADERS 3 GRPC; HEADERS+END_STREAM 3 FINE";
        let done = client.ended(&grpc(&format!("{SPLIT}{none}")));
        let counted = done.iter().map(|done| {
            let whole = done.whole();
            (done.events, whole.rpc_status, whole.body_bytes)
        });
        let counted: Vec<_> = counted.collect();
        let length = THREE_MESSAGES.len() as u64;
        assert_eq!(counted, [(3, Some(0), length), (0, Some(0), 0)]);
        assert_eq!(done[0].response.body, THREE_MESSAGES);
        assert_eq!(done[0].short_body.as_deref(), Some(THREE_MESSAGES));
    }
    for kind in [CallKind::Unary, CallKind::ClientStreaming] {
        let requests = call_of(kind, b"m");
        let mut client = Client::requesting(&requests, 1);
        let done = client.ended(&grpc(SPLIT));
        assert_eq!(done[0].end, End::Failed(Broken::SecondMessage.into()));
    }
}

#[test]
fn invalid_responses_fail_alone() {
    let requests = call();
    for [frames, broken] in rows(
        r"
            HEADERS 1 GRPC; DATA 1 \x01\0\0\0\0 | Compressed(1)
            HEADERS 1 GRPC; DATA 1 \0\0\0\0\x03abc; DATA 1 \0\0\0\0\x03abc | SecondMessage
            HEADERS 1 GRPC; DATA 1 \0\0\0\0\x03ab; HEADERS+END_STREAM 1 grpc-status=0 | MessageCut
            HEADERS 1 GRPC; DATA+END_STREAM 1 \0\0\0 | MessageCut
            HEADERS 1 GRPC; DATA 1 \0\xff\xff\xff\xffx | MessageTooLong(4294967295)
            HEADERS 1 GRPC; HEADERS+END_STREAM 1 grpc-status=0 | NoMessage
            HEADERS 1 GRPC; HEADERS+END_STREAM 1 grpc-status= | RpcStatus
            HEADERS 1 GRPC; HEADERS+END_STREAM 1 grpc-status=-1 | RpcStatus
            HEADERS 1 GRPC; HEADERS+END_STREAM 1 grpc-status=4294967296 | RpcStatus
            // Trailers only.
            HEADERS+END_STREAM 1 GRPC&grpc-status=0 | NoMessage
        ",
    ) {
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&grpc(frames));
        assert_eq!(done[0].failure(), format!("Grpc({broken})"));
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
        let refused = "HEADERS+END_STREAM 3 GRPC&grpc-status=8; RST_STREAM 3 \0\0\0\0";
        let whole = client.ended(&grpc(refused))[0].whole();
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
