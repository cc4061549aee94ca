//! The wire against a server whose frames are handmade.

mod refused;

use proptest::prelude::*;

use super::{Call, CallWire, Malformed};
use crate::Response;
use crate::wire::h1::Collect;
use crate::wire::h2::tests::frames::*;
use crate::wire::h2::{self, ErrorCode, Kind};
use crate::wire::{Fault, Which, Wire};
use crate::wire::{OnClose, Whole};

const HEAD: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];
const OK: [(&str, &str); 2] = [("grpc-status", "0"), ("grpc-message", "")];
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const MESSAGE: &[u8] = b"\0\0\0\0\x03\x0a\x01x";

fn call(message: &[u8]) -> Call {
    Call::new("/prony.echo.v1.Echo/Unary", "localhost", message).unwrap()
}

/// A wire that has begun its call and sent all it could.
fn calling_with(message: &[u8]) -> CallWire {
    let mut wire = CallWire::new(&call(message));
    wire.request(Which::default());
    flush(&mut wire);
    wire
}

fn calling() -> CallWire {
    calling_with(b"\x0a\x01x")
}

/// Sends everything and returns it.
fn flush(wire: &mut CallWire) -> Vec<u8> {
    let mut sent = Vec::new();
    while !wire.unsent().is_empty() {
        let length = wire.unsent().len();
        sent.extend_from_slice(wire.unsent());
        wire.sent(length);
    }
    sent
}

fn response(stream: u32) -> Vec<u8> {
    let parts = [
        headers(stream, 0, &HEAD),
        data(stream, 0, MESSAGE),
        headers(stream, END_STREAM, &OK),
    ];
    parts.concat()
}

/// The bytes of a server from the start of the connection.
fn begun(rest: &[Vec<u8>]) -> Vec<u8> {
    [
        settings(&[]),
        frame(Kind::Settings, ACK, 0, &[]),
        rest.concat(),
    ]
    .concat()
}

/// The response read from the pieces, and what was sent meanwhile.
fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Whole, Response, Vec<u8>), Fault> {
    let (mut wire, mut collect, mut sent) = (calling(), Collect::default(), Vec::new());
    let mut whole = None;
    for piece in pieces {
        whole = wire.eat(piece, Some(&mut collect))?.whole.or(whole);
        sent.extend(flush(&mut wire));
    }
    assert_eq!(wire.skippable(), 0);
    assert_eq!(wire.close(), OnClose::BeforeResponse);
    Ok((whole.expect("whole"), collect.into_response(), sent))
}

fn refuse(rest: &[Vec<u8>]) -> Fault {
    let bytes = begun(rest);
    let fault = read([&bytes[..]]).unwrap_err();
    assert_eq!(read(bytes.chunks(1)).unwrap_err(), fault);
    fault
}

/// Name, bytes, and the expected status, RPC status and body.
type Sample = (&'static str, Vec<u8>, (u16, Option<u32>, &'static [u8]));

fn samples() -> Vec<Sample> {
    let block = block(&HEAD);
    let interleaved = [
        headers(1, 0, &[(":status", "103"), ("link", "x")]),
        window_update(0, 1000),
        frame(Kind::Headers, 0, 1, &block[..3]),
        frame(Kind::Continuation, END_HEADERS, 1, &block[3..]),
        frame(Kind::Ping, 0, 0, b"12345678"),
        data(1, 0, &MESSAGE[..2]),
        [&[0, 0, 2, 0xfe, 0, 0, 0, 0, 1][..], b"??"].concat(),
        data(1, 0, b""),
        frame(
            Kind::Data,
            PADDED,
            1,
            &[&[2], &MESSAGE[2..6], &[0, 0]].concat(),
        ),
        settings(&[(0x4, 100)]),
        data(1, 0, &MESSAGE[6..]),
        window_update(1, 5),
        frame(
            Kind::Headers,
            END_STREAM | END_HEADERS | PRIORITY,
            1,
            b"\0\0\0\0\0\0\x0bgrpc-status\x010",
        ),
        window_update(1, 5),
        reset(1, ErrorCode::NO_ERROR),
        frame(Kind::Ping, 0, 0, b"87654321"),
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
        ("plain", begun(&[response(1)]), (200, Some(0), b"\x0a\x01x")),
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
                headers(1, END_STREAM, &OK),
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
    for (name, bytes, (status, rpc_status, body)) in samples() {
        let expected = read([&bytes[..]]).unwrap();
        let whole = Whole {
            status,
            body_bytes: body.len() as u64,
            keep_alive: true,
            rpc_status,
        };
        assert_eq!(expected.0, whole, "{name}");
        assert_eq!(
            (expected.1.status, &*expected.1.body),
            (status, body),
            "{name}"
        );
        for at in 1..bytes.len() {
            let cut = read([&bytes[..at], &bytes[at..]]).unwrap();
            assert_eq!(cut, expected, "{name} at {at}");
        }
        assert_eq!(
            read(bytes.chunks(1)).unwrap(),
            expected,
            "{name} byte by byte"
        );
    }
}

#[test]
fn a_kept_response_has_the_fields_of_head_and_trailers() {
    let kept = |name: &str| {
        let samples = samples();
        let (_, bytes, _) = samples.iter().find(|sample| sample.0 == name).unwrap();
        read([&bytes[..]]).unwrap().1
    };
    let plain = kept("plain");
    let names: Vec<_> = plain.headers.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["content-type", "grpc-status", "grpc-message"]);
    assert_eq!(plain.header("grpc-status"), Some("0"));
    let failed = kept("trailers only");
    assert_eq!(failed.header("grpc-status"), Some("12"));
    assert_eq!(failed.header("grpc-message"), Some("no such%zzä"));
}

#[test]
fn calls_follow_each_other_on_one_connection() {
    let mut wire = CallWire::new(&call(b"m"));
    for number in [1, 3, 5] {
        wire.request(Which::default());
        let mut sent = flush(&mut wire);
        if number == 1 {
            sent = sent.strip_prefix(PREFACE).unwrap().to_vec();
        }
        let [.., head, message] = &frames(&sent)[..] else {
            panic!("a head and a message");
        };
        assert_eq!((head.kind, head.stream), (Kind::Headers, number));
        assert_eq!((message.stream, message.flags), (number, END_STREAM));
        assert_eq!(message.payload, b"\0\0\0\0\x01m");
        if number == 1 {
            assert_eq!(wire.eat(&begun(&[]), None).unwrap().whole, None);
        }
        let whole = wire.eat(&response(number), None).unwrap().whole.unwrap();
        assert_eq!((whole.rpc_status, whole.body_bytes), (Some(0), 3));
        assert!(whole.keep_alive);
    }
}

#[test]
fn a_long_message_waits_for_room() {
    let message = vec![b'm'; 200_000];
    let mut wire = CallWire::new(&call(&message));
    wire.request(Which::default());
    let mut sent = flush(&mut wire).strip_prefix(PREFACE).unwrap().to_vec();
    wire.eat(&begun(&[window_update(1, 150_000)]), None)
        .unwrap();
    sent.extend(flush(&mut wire));
    wire.eat(&window_update(0, 150_000), None).unwrap();
    sent.extend(flush(&mut wire));
    let frames = frames(&sent);
    let body = frames.iter().filter(|frame| frame.kind == Kind::Data);
    let body: Vec<u8> = body.flat_map(|frame| frame.payload.clone()).collect();
    assert_eq!(body.len(), 5 + message.len());
    assert!(body.ends_with(&message));
    assert_eq!(frames.last().unwrap().flags, END_STREAM);
    assert!(
        wire.eat(&response(1), None)
            .unwrap()
            .whole
            .unwrap()
            .keep_alive
    );
}

#[test]
fn a_server_that_goes_away_finishes_its_response() {
    let going = go_away(1, ErrorCode::NO_ERROR, "graceful");
    let last = go_away(0x7fff_ffff, ErrorCode::NO_ERROR, "");
    let error = go_away(1, ErrorCode(0x1), "");
    for bytes in [
        begun(&[going.clone(), response(1)]),
        begun(&[last, going.clone(), response(1)]),
        begun(&[response(1), going]),
        begun(&[response(1), error]),
    ] {
        let (whole, ..) = read([&bytes[..]]).unwrap();
        assert!(!whole.keep_alive);
        assert_eq!(whole.rpc_status, Some(0));
    }
}

#[test]
fn a_close_never_ends_a_response() {
    let close_after = |bytes: &[u8]| {
        let mut wire = calling();
        wire.eat(bytes, None).unwrap();
        wire.close()
    };
    assert_eq!(close_after(b""), OnClose::BeforeResponse);
    assert_eq!(close_after(&begun(&[])), OnClose::BeforeResponse);
    assert_eq!(close_after(&begun(&[response(1)])), OnClose::BeforeResponse);
    assert_eq!(close_after(&begun(&[vec![0]])), OnClose::Truncated);
    let interim = headers(1, 0, &[(":status", "100")]);
    assert_eq!(close_after(&begun(&[interim])), OnClose::Truncated);
    let block = frame(Kind::Headers, 0, 1, b"");
    assert_eq!(close_after(&begun(&[block])), OnClose::Truncated);
    let page = headers(1, 0, &[(":status", "200")]);
    assert_eq!(
        close_after(&begun(&[page, data(1, 0, b"to the end")])),
        OnClose::Truncated
    );
    let mut wire = calling();
    wire.eat(&begun(&[headers(1, 0, &HEAD)]), None).unwrap();
    wire.open();
    wire.request(Which::default());
    assert_eq!(wire.close(), OnClose::BeforeResponse);
}

proptest! {
    /// Garbage in place of some bytes of a response, or after its start.
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
        let (first, second) = bytes.split_at(cut.index(bytes.len()));
        let mut wire = calling();
        if wire.eat(first, None).is_ok() {
            let _ = wire.eat(second, Some(&mut Collect::default()));
        }
        let _ = wire.close();
    }
}
