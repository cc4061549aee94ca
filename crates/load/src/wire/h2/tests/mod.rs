//! The connection against a server whose frames are handmade.

pub(in crate::wire) mod frames;
mod hostile;

use std::ops::{Deref, DerefMut};

use frames::*;

use super::hpack::{Decoder, EMPTY_TABLE, Fields};
use super::{ErrorCode, FrameReader, Kind, MAX_BLOCK, MAX_FRAME, Malformed, StreamEvent};

const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `:status: 200`.
const OK: &[u8] = b"\x88";

/// A connection with its frame reader.
#[derive(Default)]
struct Connection {
    frames: FrameReader,
    connection: super::Connection,
}

impl Connection {
    fn open(&mut self) {
        self.frames.restart();
        self.connection.open();
    }

    fn in_frame(&self) -> bool {
        self.frames.in_frame() || self.in_block()
    }

    fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<StreamEvent<'a>>, Malformed> {
        let frame = self.frames.next(bytes)?;
        frame.map(|frame| self.connection.take(frame)).transpose()
    }
}

impl Deref for Connection {
    type Target = super::Connection;

    fn deref(&self) -> &super::Connection {
        &self.connection
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut super::Connection {
        &mut self.connection
    }
}

/// A connection after the initial exchange, with everything sent.
fn connected(server: &[(u16, u32)]) -> Connection {
    let mut connection = Connection::default();
    eat(&mut connection, &settings(server)).unwrap();
    sent(&mut connection);
    connection
}

/// The same, with stream 1 open.
fn requesting() -> Connection {
    let mut connection = connected(&[]);
    connection.begin(OK);
    connection.fill(b"body");
    sent(&mut connection);
    connection
}

/// Takes all the bytes and shows their meaning, without control frames.
fn eat(connection: &mut Connection, mut bytes: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut events = Vec::new();
    while let Some(event) = connection.next(&mut bytes)? {
        events.extend(match event {
            StreamEvent::Control => None,
            StreamEvent::Fields {
                stream,
                fields,
                end,
            } => Some(format!("{stream} fields {} {end}", shown(fields))),
            StreamEvent::Data { stream, bytes, end } => {
                Some(format!("{stream} data {} {end}", bytes.escape_ascii()))
            }
            StreamEvent::Reset { stream, code } => Some(format!("{stream} reset {code}")),
            StreamEvent::GoAway {
                last_stream,
                code,
                debug,
            } => Some(format!("bye {last_stream} {code} {}", debug.escape_ascii())),
        });
    }
    assert!(bytes.is_empty());
    Ok(events)
}

fn shown(fields: &Fields) -> String {
    let lines = fields
        .iter()
        .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()));
    lines.collect::<Vec<_>>().join(" ")
}

/// Sends everything, in one piece each time.
fn sent(connection: &mut Connection) -> Vec<Sent> {
    let bytes = connection.unsent().to_vec();
    connection.sent(bytes.len());
    frames(&bytes[bytes.strip_prefix(PREFACE).map_or(0, |_| PREFACE.len())..])
}

#[test]
fn a_connection_starts_with_preface_and_settings() {
    let mut connection = Connection::default();
    assert!(connection.unsent().starts_with(PREFACE));
    let begun = sent(&mut connection);
    let expected = settings(&[(0x2, 0), (0x4, (1 << 30) - 1), (0x6, MAX_BLOCK as u32)]);
    let window = window_update(0, (1 << 30) - 1 - 65_535);
    assert_eq!(begun, frames(&[expected, window].concat()));
    connection.open();
    assert_eq!(sent(&mut connection), begun);
}

#[test]
fn streams_are_numbered_and_the_first_head_empties_the_table() {
    let mut connection = connected(&[]);
    for number in [1, 3, 5] {
        assert!(connection.takes_streams());
        connection.begin(OK);
        connection.fill(b"body");
        assert_eq!(connection.stream(), Some(number));
        let [head, body] = &sent(&mut connection)[..] else {
            panic!("a head and a body");
        };
        let block = if number == 1 {
            &[EMPTY_TABLE, OK[0]]
        } else {
            OK
        };
        assert_eq!(
            *head,
            frames(&frame(Kind::Headers, END_HEADERS, number, block))[0]
        );
        assert_eq!(*body, frames(&data(number, END_STREAM, b"body"))[0]);
        connection.end();
    }
}

#[test]
fn a_body_is_sent_as_far_as_the_windows_allow() {
    let mut connection = connected(&[(INITIAL_WINDOW_SIZE, 10)]);
    let body: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
    let mut arrived = Vec::new();
    let mut flush = |connection: &mut Connection| {
        connection.fill(&body);
        let mut ended = false;
        for frame in sent(connection)
            .iter()
            .filter(|frame| frame.kind == Kind::Data)
        {
            arrived.extend_from_slice(&frame.payload);
            ended = frame.flags & END_STREAM != 0;
        }
        assert_eq!(arrived, body[..arrived.len()]);
        (arrived.len(), ended)
    };
    connection.begin(OK);
    assert_eq!(flush(&mut connection), (10, false));
    eat(&mut connection, &window_update(1, 5)).unwrap();
    assert_eq!(flush(&mut connection), (15, false));
    // Five less for the stream, which has used all of its window, so it becomes negative.
    eat(&mut connection, &settings(&[(INITIAL_WINDOW_SIZE, 5)])).unwrap();
    eat(&mut connection, &window_update(1, 5)).unwrap();
    assert_eq!(flush(&mut connection), (15, false));
    eat(
        &mut connection,
        &settings(&[(INITIAL_WINDOW_SIZE, 1_000_000)]),
    )
    .unwrap();
    // Now the connection's window is the limit.
    assert_eq!(flush(&mut connection), (65_535, false));
    eat(&mut connection, &window_update(0, 34_464)).unwrap();
    assert_eq!(flush(&mut connection), (99_999, false));
    eat(&mut connection, &window_update(0, 1)).unwrap();
    assert_eq!(flush(&mut connection), (100_000, true));
    assert_eq!(flush(&mut connection), (100_000, false));
}

#[test]
fn frames_are_as_long_as_the_server_accepts() {
    let large = [(INITIAL_WINDOW_SIZE, 0x7fff_ffff), (MAX_FRAME_SIZE, 50_000)];
    let mut connection = connected(&large);
    eat(&mut connection, &window_update(0, 0x7fff_ffff - 65_535)).unwrap();
    connection.begin(OK);
    connection.fill(&[b'b'; 120_000]);
    let mut bytes = connection.unsent();
    let mut lengths = Vec::new();
    while let Some((&[a, b, c, ..], rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        lengths.push(length);
        bytes = &rest[length..];
    }
    assert_eq!(lengths, [2, 50_000, 50_000, 20_000]);
}

#[test]
fn a_body_is_sent_when_its_last_byte_is() {
    let mut connection = connected(&[]);
    assert!(connection.body_is_sent());
    connection.begin(OK);
    connection.fill(b"body");
    let ping = frame(Kind::Ping, 0, 0, &[0; 8]);
    eat(&mut connection, &ping).unwrap();
    // All but the response to the ping, and one byte.
    let length = connection.unsent().len() - 17 - 1;
    connection.sent(length);
    assert!(!connection.body_is_sent());
    connection.sent(1);
    assert!(connection.body_is_sent());
    assert_eq!(connection.unsent().len(), 17);
}

#[test]
fn settings_and_pings_are_acknowledged() {
    let mut connection = connected(&[]);
    let ping = frame(Kind::Ping, 0, 0, b"12345678");
    let acknowledged = frame(Kind::Ping, ACK, 0, b"abcdefgh");
    let acknowledgement = frame(Kind::Settings, ACK, 0, &[]);
    let received = [settings(&[]), acknowledgement.clone(), ping, acknowledged].concat();
    assert_eq!(eat(&mut connection, &received).unwrap(), [""; 0]);
    let responses = [acknowledgement, frame(Kind::Ping, ACK, 0, b"12345678")];
    assert_eq!(sent(&mut connection), frames(&responses.concat()));
}

#[test]
fn a_response_has_fields_and_data() {
    let response = [
        headers(1, 0, &[(":status", "200"), ("a", "b")]),
        data(1, 0, b""),
        data(1, 0, b"hello"),
        headers(1, END_STREAM, &[("c", "d")]),
    ];
    let expected = [
        "1 fields :status=200 a=b false",
        "1 data  false",
        "1 data hello false",
        "1 fields c=d true",
    ];
    assert_eq!(
        eat(&mut requesting(), &response.concat()).unwrap(),
        expected
    );
}

#[test]
fn padding_priorities_and_unknown_frames_make_no_difference() {
    let padded = [&[3][..], &[0, 0, 0, 1, 16], OK, &[0; 3]].concat();
    let response = [
        frame(Kind::Headers, END_HEADERS | PADDED | PRIORITY, 1, &padded),
        frame(Kind::Priority, 0, 1, &[0, 0, 0, 0, 16]),
        frame(Kind::Priority, 0, 9, &[0, 0, 0, 0, 16]),
        // ORIGIN, and an unknown one.
        [&[0, 0, 1, 0xc, 0, 0, 0, 0, 0][..], b"x"].concat(),
        [&[0, 0, 0, 0xff, 0xff, 0x80, 0, 0, 7][..]].concat(),
        frame(Kind::Data, PADDED | END_STREAM, 1, b"\x04hello\0\0\0\0"),
    ];
    let expected = ["1 fields :status=200 false", "1 data hello true"];
    assert_eq!(
        eat(&mut requesting(), &response.concat()).unwrap(),
        expected
    );
    // All of it is padding.
    let empty = [
        frame(Kind::Headers, END_HEADERS, 1, OK),
        frame(Kind::Data, PADDED, 1, b"\x02\0\0"),
    ];
    let expected = ["1 fields :status=200 false", "1 data  false"];
    assert_eq!(eat(&mut requesting(), &empty.concat()).unwrap(), expected);
}

#[test]
fn a_header_block_continues_in_continuation_frames() {
    let block = block(&[(":status", "200"), ("name", "value")]);
    for at in 0..=block.len() {
        let mut connection = requesting();
        let response = [
            frame(Kind::Headers, END_STREAM, 1, &block[..at]),
            frame(Kind::Continuation, 0, 1, b""),
            frame(Kind::Continuation, END_HEADERS, 1, &block[at..]),
        ];
        let expected = ["1 fields :status=200 name=value true"];
        assert_eq!(eat(&mut connection, &response[0]).unwrap(), [""; 0]);
        assert!(connection.in_frame());
        assert_eq!(
            eat(&mut connection, &response[1..].concat()).unwrap(),
            expected
        );
        assert!(!connection.in_frame());
    }
}

#[test]
fn half_used_windows_are_reopened() {
    let mut connection = requesting();
    eat(&mut connection, &headers(1, 0, &[(":status", "200")])).unwrap();
    let piece = data(1, 0, &[0; MAX_FRAME]);
    let half = (1usize << 29) - 1;
    let pieces = half / MAX_FRAME;
    for _ in 0..pieces {
        connection.next(&mut &piece[..]).unwrap();
    }
    assert_eq!(sent(&mut connection), []);
    eat(&mut connection, &piece).unwrap();
    let by = ((pieces + 1) * MAX_FRAME) as u32;
    let expected = [window_update(1, by), window_update(0, by)];
    assert_eq!(sent(&mut connection), frames(&expected.concat()));
}

#[test]
fn frames_may_refer_to_an_ended_stream() {
    let mut connection = requesting();
    eat(
        &mut connection,
        &headers(1, END_STREAM, &[(":status", "200")]),
    )
    .unwrap();
    connection.end();
    let late = [
        window_update(1, 5),
        reset(1, ErrorCode::NO_ERROR),
        frame(Kind::Priority, 0, 1, &[0; 5]),
    ];
    assert_eq!(eat(&mut connection, &late.concat()).unwrap(), [""; 0]);
    assert_eq!(
        eat(&mut connection, &data(1, 0, b"x")),
        Err(Malformed::ClosedStream(Kind::Data))
    );
}

#[test]
fn an_early_end_cancels_the_rest_of_the_body() {
    let mut connection = connected(&[(INITIAL_WINDOW_SIZE, 2)]);
    connection.begin(OK);
    connection.fill(b"body");
    sent(&mut connection);
    eat(
        &mut connection,
        &headers(1, END_STREAM, &[(":status", "200")]),
    )
    .unwrap();
    assert!(!connection.body_is_sent());
    connection.end();
    connection.fill(b"body");
    assert_eq!(sent(&mut connection), frames(&reset(1, ErrorCode::CANCEL)));
    assert!(connection.takes_streams());
}

#[test]
fn the_server_may_reset_a_stream_or_go_away() {
    let mut connection = requesting();
    let given_up = eat(&mut connection, &reset(1, ErrorCode(0x7))).unwrap();
    assert_eq!(given_up, ["1 reset REFUSED_STREAM"]);
    assert_eq!(connection.stream(), None);
    assert!(connection.takes_streams());
    let going = go_away(1, ErrorCode(0xb), "too\n");
    assert_eq!(
        eat(&mut connection, &going).unwrap(),
        ["bye 1 ENHANCE_YOUR_CALM too\\n"]
    );
    assert!(!connection.takes_streams());
    connection.open();
    assert!(connection.takes_streams());
}

#[test]
fn a_new_connection_starts_from_scratch() {
    let mut connection = requesting();
    // Half a frame, a table with a field, and a server that goes away.
    let table = frame(Kind::Headers, END_HEADERS, 1, b"\x88\x40\x01a\x01b");
    let last = [table, go_away(1, ErrorCode::NO_ERROR, ""), vec![0, 0]].concat();
    eat(&mut connection, &last).unwrap();
    connection.open();
    assert_eq!(connection.stream(), None);
    assert!(!connection.in_frame());
    eat(&mut connection, &settings(&[])).unwrap();
    connection.begin(OK);
    connection.fill(b"body");
    let mut sent = sent(&mut connection);
    let mut fields = Fields::default();
    let head = sent.remove(3);
    Decoder::default()
        .decode(&head.payload, &mut fields)
        .unwrap();
    assert_eq!((head.stream, &*shown(&fields)), (1, ":status=200"));
    let index = frame(Kind::Headers, END_HEADERS, 1, &[0x80 | 62]);
    assert!(eat(&mut connection, &index).is_err());
}
