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
            client.eat(&written("HEADERS 1 :status=200")).unwrap();
        }
        client.eat(&response(5, b"")).unwrap();
        client.cancel(1);
        let flood = (0..10_000).try_for_each(|_| {
            client.sent();
            client.eat(&say_nothing)
        });
        assert_eq!(flood, Ok(()), "{name}");
        let flood = client.eat(&say_nothing);
        assert_eq!(flood, Err(h2(Malformed::Flood)), "{name}");
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
        let mut client = Client::new(&requests);
        let refusal = bytes.chunks(1).try_for_each(|byte| client.eat(byte));
        assert_eq!(refusal, Err(h2(other.into())));
    }
    // Only at the start of the connection.
    let mut client = Client::connected(&requests, &[]);
    let too_long = Malformed::FrameTooLong(0x48_54_54);
    assert_eq!(client.eat(b"HTTP/1.1 400"), Err(h2(too_long)));
    client.open();
    let other = Err(h2(OtherProtocol::Http1.into()));
    assert_eq!(client.eat(b"HTTP/1.1 400"), other);
}

/// One stream has too large a window, or the server sends too much on it: the others go on.
#[test]
fn broken_flow_control_of_a_stream_fails_it_alone() {
    let requests = get();
    for [frames_of_server, malformed, code] in rows(
        r"
            WINDOW_UPDATE 1 \x7f\xff\xff\xff; WINDOW_UPDATE 1 \0\0\0\x01 | WindowOverflow | FLOW_CONTROL_ERROR
            WINDOW_UPDATE 1 \x80\0\0\0 | WindowUpdateZero | PROTOCOL_ERROR
        ",
    ) {
        let mut client = Client::requesting(&requests, 2);
        let done = client.ended(&written(frames_of_server));
        assert_eq!(done[0].failure(), format!("Http2({malformed})"));
        let [reset] = &client.sent()[..] else {
            panic!("one frame");
        };
        let sent = ErrorCode(u32::from_be_bytes(reset.payload[..].try_into().unwrap()));
        assert_eq!((reset.kind, reset.stream), (Kind::RST_STREAM, 1));
        assert_eq!(sent.to_string(), code);
        assert_eq!(client.ended(&response(3, b"x"))[0].whole().status, 200);
    }
}

#[test]
fn forbidden_frames_are_refused() {
    let requests = get();
    let forbidden = rows(FORBIDDEN).into_iter();
    let mut cases: Vec<_> = forbidden
        .map(|[frames, reason]| (written(frames), reason.to_owned()))
        .collect();
    for (header, length) in [
        ([0, 0x40, 1, 0, 0, 0, 0, 0, 1], 16_385),
        ([0xff; 9], 0xff_ffff),
    ] {
        cases.push((header.to_vec(), Malformed::FrameTooLong(length).to_string()));
    }
    for (bytes, reason) in cases {
        let refused = Client::requesting(&requests, 1).eat(&bytes).unwrap_err();
        assert_eq!(refused.to_string(), reason);
        let mut cut = Client::requesting(&requests, 1);
        let refusal = bytes.chunks(1).find_map(|byte| cut.eat(byte).err());
        assert_eq!(refusal, Some(refused), "byte by byte");
    }
}

/// Frames, and why they are refused.
const FORBIDDEN: &str = r"
    PING 0 1234567 | a PING frame has an invalid length
    SETTINGS 0 12345 | a SETTINGS frame has an invalid length
    SETTINGS+ACK 0 123456 | a SETTINGS frame has an invalid length
    RST_STREAM 1 12345 | a RST_STREAM frame has an invalid length
    WINDOW_UPDATE 0 123 | a WINDOW_UPDATE frame has an invalid length
    GOAWAY 0 1234567 | a GOAWAY frame has an invalid length
    PRIORITY 1 1234 | a PRIORITY frame has an invalid length
    DATA+PADDED 1 | a DATA frame has an invalid length
    DATA+PADDED 1 \x01 | a DATA frame has more padding than payload
    HEADERS+PADDED 1 \x03\0\0 | a HEADERS frame has more padding than payload
    HEADERS+PRIORITY 1 1234 | a HEADERS frame has an invalid length
    SETTINGS 1 | a SETTINGS frame is on a stream, although it applies to the whole connection
    PING 1 12345678 | a PING frame is on a stream, although it applies to the whole connection
    GOAWAY 1 12345678 | a GOAWAY frame is on a stream, although it applies to the whole connection
    DATA 0 | a DATA frame belongs to no stream
    HEADERS+END_HEADERS 0 | a HEADERS frame belongs to no stream
    RST_STREAM 0 1234 | a RST_STREAM frame belongs to no stream
    DATA 3 | a DATA frame is on a stream that was never opened
    HEADERS+END_HEADERS 2 | a HEADERS frame is on a stream that was never opened
    RST_STREAM 3 1234 | a RST_STREAM frame is on a stream that was never opened
    WINDOW_UPDATE 3 1234 | a WINDOW_UPDATE frame is on a stream that was never opened
    WINDOW_UPDATE 0 \0\0\0\0 | a WINDOW_UPDATE frame has an increment of 0
    WINDOW_UPDATE 0 \x7f\xff\xff\xff | the server makes a flow-control window larger than 2^31-1 bytes
    // By its settings.
    WINDOW_UPDATE 1 \x7f\xff\0\0; SETTINGS 0 \0\x04\x7f\xff\xff\xff | the server makes a flow-control window larger than 2^31-1 bytes
    PUSH_PROMISE+END_HEADERS 1 \0\0\0\x02 | the server pushes, although push is disabled
    CONTINUATION+END_HEADERS 1 | a CONTINUATION frame follows no header block
    HEADERS 1 \x88; DATA 1 | another frame interrupts a header block
    HEADERS 1 \x88; CONTINUATION 3 | another frame interrupts a header block
    HEADERS 1 \x88; 255 0 | another frame interrupts a header block
    HEADERS+END_HEADERS 1 \x80 | a header block refers to field 0, which the tables do not have
    HEADERS 1 :status=200; DATA+END_STREAM 1; HEADERS+END_STREAM+END_HEADERS 1 | a HEADERS frame is on a stream that has ended
";
