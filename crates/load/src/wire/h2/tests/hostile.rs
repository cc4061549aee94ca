//! Frames that no server may send.

use super::*;
use crate::wire::h2::MAX_BLOCK;
use crate::wire::h2::hpack::HpackError;

#[test]
fn acknowledgements_that_nobody_reads_do_not_pile_up() {
    let mut connection = connected(&[]);
    let pings = frame(Kind::Ping, 0, 0, &[0; 8]).repeat(1000);
    for _ in 0..100 {
        eat(&mut connection, &pings).unwrap();
        sent(&mut connection);
    }
    let flood = |connection: &mut Connection| {
        (0..100).find_map(|_| {
            eat(connection, &pings)
                .err()
                .map(|_| connection.unsent().len())
        })
    };
    assert!(flood(&mut connection).unwrap() < 300_000);
    // Also if the server reads some of them, but always too few.
    connection = connected(&[]);
    for _ in 0..100 {
        eat(&mut connection, &pings).unwrap();
        let unsent = connection.unsent().len();
        connection.sent(unsent - 1);
    }
    assert!(connection.unsent().len() < 300_000);
}

#[test]
fn an_endless_header_block_is_refused() {
    let mut connection = requesting();
    eat(&mut connection, &frame(Kind::Headers, 0, 1, OK)).unwrap();
    let nothing = frame(Kind::Continuation, 0, 1, b"").repeat(MAX_BLOCK / 9);
    assert_eq!(eat(&mut connection, &nothing), Err(Malformed::BlockTooLong));

    let mut connection = requesting();
    let long = frame(Kind::Continuation, 0, 1, &[0; MAX_FRAME]).repeat(4);
    eat(&mut connection, &frame(Kind::Headers, 0, 1, OK)).unwrap();
    assert_eq!(eat(&mut connection, &long), Err(Malformed::BlockTooLong));
}

#[test]
fn a_connection_without_settings_is_not_http_2() {
    let refuse = |bytes: &[u8]| eat(&mut Connection::default(), bytes);
    assert_eq!(
        refuse(b"HTTP/1.1 400 Bad Request\r\n"),
        Err(Malformed::NotHttp2)
    );
    assert_eq!(
        refuse(&frame(Kind::Ping, 0, 0, &[0; 8])),
        Err(Malformed::NotHttp2)
    );
    // An unknown frame is no SETTINGS either.
    assert_eq!(
        refuse(&[0, 0, 0, 0xff, 0, 0, 0, 0, 0]),
        Err(Malformed::NotHttp2)
    );
}

#[test]
fn forbidden_frames_are_refused() {
    use Kind::*;
    let overflow = [window_update(1, 0x7fff_ffff), window_update(1, 1)].concat();
    let grown = settings(&[(INITIAL_WINDOW_SIZE, 0x7fff_ffff)]);
    let by_settings = [window_update(1, 0x7fff_0000), grown].concat();
    let cases = [
        (
            vec![0, 0x40, 1, 0, 0, 0, 0, 0, 1],
            Malformed::FrameTooLong(MAX_FRAME + 1),
        ),
        (vec![0xff; 9], Malformed::FrameTooLong(0xff_ffff)),
        (frame(Ping, 0, 0, &[0; 7]), Malformed::FrameLength(Ping)),
        (
            frame(Settings, 0, 0, &[0; 5]),
            Malformed::FrameLength(Settings),
        ),
        (
            frame(Settings, ACK, 0, &[0; 6]),
            Malformed::FrameLength(Settings),
        ),
        (
            frame(RstStream, 0, 1, &[0; 5]),
            Malformed::FrameLength(RstStream),
        ),
        (
            frame(WindowUpdate, 0, 0, &[0; 3]),
            Malformed::FrameLength(WindowUpdate),
        ),
        (frame(GoAway, 0, 0, &[0; 7]), Malformed::FrameLength(GoAway)),
        (
            frame(Priority, 0, 1, &[0; 4]),
            Malformed::FrameLength(Priority),
        ),
        (frame(Data, PADDED, 1, b""), Malformed::FrameLength(Data)),
        (frame(Data, PADDED, 1, b"\x01"), Malformed::Padding(Data)),
        (
            frame(Headers, PADDED, 1, b"\x03\0\0"),
            Malformed::Padding(Headers),
        ),
        (
            frame(Headers, PRIORITY, 1, &[0; 4]),
            Malformed::FrameLength(Headers),
        ),
        (frame(Settings, 0, 1, &[]), Malformed::OnStream(Settings)),
        (frame(Ping, 0, 1, &[0; 8]), Malformed::OnStream(Ping)),
        (
            go_away(0, ErrorCode(0), "")
                .iter()
                .enumerate()
                .map(|(at, &byte)| if at == 8 { 1 } else { byte })
                .collect(),
            Malformed::OnStream(GoAway),
        ),
        (data(0, 0, b""), Malformed::NoStream(Data)),
        (headers(0, 0, &[]), Malformed::NoStream(Headers)),
        (reset(0, ErrorCode(0)), Malformed::NoStream(RstStream)),
        (data(3, 0, b""), Malformed::IdleStream(Data)),
        (headers(2, 0, &[]), Malformed::IdleStream(Headers)),
        (reset(3, ErrorCode(0)), Malformed::IdleStream(RstStream)),
        (window_update(3, 1), Malformed::IdleStream(WindowUpdate)),
        (window_update(0, 0), Malformed::WindowUpdateZero),
        (window_update(1, 0x8000_0000), Malformed::WindowUpdateZero),
        (window_update(0, 0x7fff_ffff), Malformed::WindowOverflow),
        (overflow, Malformed::WindowOverflow),
        (by_settings, Malformed::WindowOverflow),
        (
            frame(PushPromise, END_HEADERS, 1, &[0, 0, 0, 2]),
            Malformed::Push,
        ),
        (
            frame(Continuation, END_HEADERS, 1, b""),
            Malformed::ContinuesNothing,
        ),
        (
            [frame(Headers, 0, 1, OK), data(1, 0, b"")].concat(),
            Malformed::BlockInterrupted,
        ),
        (
            [frame(Headers, 0, 1, OK), frame(Continuation, 0, 3, b"")].concat(),
            Malformed::BlockInterrupted,
        ),
        (
            [frame(Headers, 0, 1, OK), vec![0, 0, 0, 0xff, 0, 0, 0, 0, 0]].concat(),
            Malformed::BlockInterrupted,
        ),
        (
            frame(Headers, END_HEADERS, 1, &[0x80]),
            Malformed::Hpack(HpackError::Index(0)),
        ),
    ];
    for (bytes, malformed) in cases {
        assert_eq!(
            eat(&mut requesting(), &bytes),
            Err(malformed),
            "{malformed}"
        );
        let mut cut = requesting();
        let refused = bytes.chunks(1).find_map(|byte| eat(&mut cut, byte).err());
        assert_eq!(refused, Some(malformed), "{malformed}, byte by byte");
    }
}
