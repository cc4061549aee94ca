//! Frames that no server may send.

use super::*;
use crate::wire::OtherProtocol;
use crate::wire::h2::hpack::HpackError;

fn h2(malformed: Malformed) -> Fault {
    Fault::Http2(malformed)
}

#[test]
fn acknowledgements_that_nobody_reads_do_not_pile_up() {
    let requests = get();
    let pings = frame(Kind::PING, 0, 0, &[0; 8]).repeat(1000);
    let mut client = Client::connected(&requests, &[]);
    let respond = |client: &mut Client<'_>| {
        client.request(0);
        let stream = 2 * client.requests as u32 - 1;
        client.eat(&response(stream, b"")).unwrap();
    };
    for _ in 0..100 {
        client.eat(&pings).unwrap();
        client.sent();
        respond(&mut client);
    }
    let flood = (0..100).find_map(|_| {
        respond(&mut client);
        client.eat(&pings).err()
    });
    assert_eq!(flood, Some(h2(Malformed::ResponsesUnread)));
    assert!(client.wire.unsent().len() < 300_000);
    // Also if the server reads some of them, but always too few.
    let mut client = Client::connected(&requests, &[]);
    for _ in 0..100 {
        client.eat(&pings).unwrap();
        respond(&mut client);
        let unsent = client.wire.unsent().len();
        client.wire.sent(unsent - 1);
    }
    assert!(client.wire.unsent().len() < 300_000);
}

#[test]
fn endless_frames_that_say_nothing_are_a_flood() {
    let requests = get();
    let interim = headers(1, 0, &[(":status", "103")]);
    for (name, say_nothing) in [
        ("DATA", data(1, 0, b"")),
        ("padding", frame(Kind::DATA, PADDED, 1, b"\x02\0\0")),
        ("PRIORITY", frame(Kind::PRIORITY, 0, 9, &[0; 5])),
        ("WINDOW_UPDATE", window_update(5, 1)),
        ("unknown", vec![0, 0, 0, 0xff, 0, 0, 0, 0, 0]),
        ("RST_STREAM", reset(5, ErrorCode::CANCEL)),
        ("SETTINGS", settings(&[])),
        ("DATA on a closed stream", data(3, 0, b"x")),
        ("interim heads", interim),
    ] {
        let mut client = Client::requesting(&requests, 3);
        if name != "interim heads" {
            client
                .eat(&frame(Kind::HEADERS, END_HEADERS, 1, OK))
                .unwrap();
        }
        client.eat(&response(5, b"")).unwrap();
        client.cancel(1);
        let flood = (0..10_000).try_for_each(|_| {
            client.sent();
            client.eat(&say_nothing)
        });
        assert_eq!(flood, Ok(()), "{name}");
        assert_eq!(
            client.eat(&say_nothing),
            Err(h2(Malformed::Flood)),
            "{name}"
        );
    }
}

#[test]
fn progress_ends_a_flood() {
    let requests = post(&[b'b'; 20_000]);
    let mut client = Client::connected(&requests, &[(INITIAL_WINDOW_SIZE, 0)]);
    client.request(0);
    // A body sent byte by byte is slow, but progress.
    for _ in 0..20_000 {
        client.eat(&window_update(1, 1)).unwrap();
        assert!(!client.sent().is_empty());
    }
    assert!(client.ended(&response(1, b""))[0].was_sent);
}

#[test]
fn an_endless_header_block_is_refused() {
    let requests = get();
    let mut client = Client::requesting(&requests, 1);
    client.eat(&frame(Kind::HEADERS, 0, 1, OK)).unwrap();
    let nothing = frame(Kind::CONTINUATION, 0, 1, b"").repeat(MAX_BLOCK / 9);
    let too_long = Err(h2(Malformed::BlockTooLong));
    assert_eq!(client.eat(&nothing), too_long);

    let mut client = Client::requesting(&requests, 1);
    let long = frame(Kind::CONTINUATION, 0, 1, &[0; MAX_FRAME]).repeat(4);
    client.eat(&frame(Kind::HEADERS, 0, 1, OK)).unwrap();
    assert_eq!(client.eat(&long), too_long);
}

#[test]
fn a_block_that_grows_when_decoded_is_refused() {
    let requests = get();
    let mut client = Client::requesting(&requests, 1);
    let value = "v".repeat(4000);
    let mut block = vec![0x88, 0x40, 1, b'a'];
    block.extend([0x7f, 0xa1, 0x1e]);
    block.extend(value.as_bytes());
    block.extend([0xbe; 1000]);
    let bomb = frame(Kind::HEADERS, END_HEADERS, 1, &block);
    let fault = h2(Malformed::Hpack(HpackError::ListTooLong));
    assert_eq!(client.eat(&bomb), Err(fault));
}

#[test]
fn a_connection_without_settings_is_not_http_2() {
    let requests = get();
    let refuse = |bytes: &[u8]| Client::new(&requests).eat(bytes);
    let not_http2 = Err(h2(Malformed::NotHttp2));
    assert_eq!(refuse(b"SSH-2.0-x\r\n"), not_http2);
    assert_eq!(refuse(&frame(Kind::PING, 0, 0, &[0; 8])), not_http2);
    // An unknown frame is not SETTINGS either.
    assert_eq!(refuse(&[0, 0, 0, 0xff, 0, 0, 0, 0, 0]), not_http2);
}

#[test]
fn another_protocol_is_named_however_its_start_is_split() {
    let requests = get();
    for (bytes, other) in [
        (&b"\x15\x03\x01\0\x02\x02\n"[..], OtherProtocol::Tls),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", OtherProtocol::Http1),
        (b"HTTP/1.", OtherProtocol::Http1),
    ] {
        let refused = Err(h2(other.into()));
        for cut in 0..bytes.len() {
            let mut client = Client::new(&requests);
            let (first, rest) = bytes.split_at(cut);
            let refusal = client.eat(first).and_then(|()| client.eat(rest));
            assert_eq!(refusal, refused, "{cut}");
        }
    }
    // Only at the start of the connection.
    let mut client = Client::connected(&requests, &[]);
    let too_long = Malformed::FrameTooLong(0x48_54_54);
    assert_eq!(client.eat(b"HTTP/1.1 400"), Err(h2(too_long)));
    client.open();
    assert_eq!(
        client.eat(b"HTTP/1.1 400"),
        Err(h2(OtherProtocol::Http1.into()))
    );
}

/// One stream has too large a window, or the server sends too much on it: the others go on.
#[test]
fn broken_flow_control_of_a_stream_fails_it_alone() {
    let requests = get();
    let overflow = [window_update(1, 0x7fff_ffff), window_update(1, 1)].concat();
    for (bytes, malformed, code) in [
        (
            overflow,
            Malformed::WindowOverflow,
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        (
            window_update(1, 0x8000_0000),
            Malformed::WindowUpdateZero,
            ErrorCode::PROTOCOL_ERROR,
        ),
    ] {
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&bytes);
        assert_eq!(done[0].end, End::Failed(malformed.into()));
        assert_eq!(client.sent(), frames(&reset(1, code)));
        assert_eq!(client.ended(&response(3, b"x"))[0].whole().status, 200);
    }
}

#[test]
fn forbidden_frames_are_refused() {
    let requests = get();
    let grown = settings(&[(INITIAL_WINDOW_SIZE, 0x7fff_ffff)]);
    let by_settings = [window_update(1, 0x7fff_0000), grown].concat();
    let on_a_stream = |mut bytes: Vec<u8>| {
        bytes[8] = 1;
        bytes
    };
    let cases = [
        (
            vec![0, 0x40, 1, 0, 0, 0, 0, 0, 1],
            Malformed::FrameTooLong(MAX_FRAME + 1),
        ),
        (vec![0xff; 9], Malformed::FrameTooLong(0xff_ffff)),
        (
            frame(Kind::PING, 0, 0, &[0; 7]),
            Malformed::FrameLength(Kind::PING),
        ),
        (
            frame(Kind::SETTINGS, 0, 0, &[0; 5]),
            Malformed::FrameLength(Kind::SETTINGS),
        ),
        (
            frame(Kind::SETTINGS, ACK, 0, &[0; 6]),
            Malformed::FrameLength(Kind::SETTINGS),
        ),
        (
            frame(Kind::RST_STREAM, 0, 1, &[0; 5]),
            Malformed::FrameLength(Kind::RST_STREAM),
        ),
        (
            frame(Kind::WINDOW_UPDATE, 0, 0, &[0; 3]),
            Malformed::FrameLength(Kind::WINDOW_UPDATE),
        ),
        (
            frame(Kind::GOAWAY, 0, 0, &[0; 7]),
            Malformed::FrameLength(Kind::GOAWAY),
        ),
        (
            frame(Kind::PRIORITY, 0, 1, &[0; 4]),
            Malformed::FrameLength(Kind::PRIORITY),
        ),
        (
            frame(Kind::DATA, PADDED, 1, b""),
            Malformed::FrameLength(Kind::DATA),
        ),
        (
            frame(Kind::DATA, PADDED, 1, b"\x01"),
            Malformed::Padding(Kind::DATA),
        ),
        (
            frame(Kind::HEADERS, PADDED, 1, b"\x03\0\0"),
            Malformed::Padding(Kind::HEADERS),
        ),
        (
            frame(Kind::HEADERS, PRIORITY, 1, &[0; 4]),
            Malformed::FrameLength(Kind::HEADERS),
        ),
        (
            frame(Kind::SETTINGS, 0, 1, &[]),
            Malformed::OnStream(Kind::SETTINGS),
        ),
        (
            frame(Kind::PING, 0, 1, &[0; 8]),
            Malformed::OnStream(Kind::PING),
        ),
        (
            on_a_stream(go_away(0, ErrorCode(0), "")),
            Malformed::OnStream(Kind::GOAWAY),
        ),
        (data(0, 0, b""), Malformed::NoStream(Kind::DATA)),
        (headers(0, 0, &[]), Malformed::NoStream(Kind::HEADERS)),
        (
            reset(0, ErrorCode(0)),
            Malformed::NoStream(Kind::RST_STREAM),
        ),
        (data(3, 0, b""), Malformed::IdleStream(Kind::DATA)),
        (headers(2, 0, &[]), Malformed::IdleStream(Kind::HEADERS)),
        (
            reset(3, ErrorCode(0)),
            Malformed::IdleStream(Kind::RST_STREAM),
        ),
        (
            window_update(3, 1),
            Malformed::IdleStream(Kind::WINDOW_UPDATE),
        ),
        (window_update(0, 0), Malformed::WindowUpdateZero),
        (window_update(0, 0x7fff_ffff), Malformed::WindowOverflow),
        (by_settings, Malformed::WindowOverflow),
        (
            frame(Kind::PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2]),
            Malformed::Push,
        ),
        (
            frame(Kind::CONTINUATION, END_HEADERS, 1, b""),
            Malformed::ContinuesNothing,
        ),
        (
            [frame(Kind::HEADERS, 0, 1, OK), data(1, 0, b"")].concat(),
            Malformed::BlockInterrupted,
        ),
        (
            [
                frame(Kind::HEADERS, 0, 1, OK),
                frame(Kind::CONTINUATION, 0, 3, b""),
            ]
            .concat(),
            Malformed::BlockInterrupted,
        ),
        (
            [
                frame(Kind::HEADERS, 0, 1, OK),
                vec![0, 0, 0, 0xff, 0, 0, 0, 0, 0],
            ]
            .concat(),
            Malformed::BlockInterrupted,
        ),
        (
            frame(Kind::HEADERS, END_HEADERS, 1, &[0x80]),
            Malformed::Hpack(HpackError::Index(0)),
        ),
        (
            [response(1, b""), headers(1, END_STREAM, &[])].concat(),
            Malformed::ClosedStream(Kind::HEADERS),
        ),
    ];
    for (bytes, malformed) in cases {
        let refused = Client::requesting(&requests, 1).eat(&bytes);
        assert_eq!(refused, Err(h2(malformed)), "{malformed}");
        let mut cut = Client::requesting(&requests, 1);
        let refused = bytes.chunks(1).find_map(|byte| cut.eat(byte).err());
        assert_eq!(refused, Some(h2(malformed)), "{malformed}, byte by byte");
    }
}
