//! Settings, windows and what else concerns the connection.

use super::*;

#[test]
fn a_connection_starts_with_preface_and_settings() {
    let requests = get();
    let mut client = Client::new(&requests);
    assert!(client.wire.unsent().starts_with(PREFACE));
    let begun = client.sent();
    let expected = settings(&[(0x2, 0), (0x4, (1 << 30) - 1), (0x6, MAX_BLOCK as u32)]);
    let window = window_update(0, (1 << 30) - 1 - 65_535);
    assert_eq!(begun, frames(&[expected, window].concat()));
    client.open();
    assert!(client.wire.unsent().starts_with(PREFACE));
    assert_eq!(client.sent(), begun);
}

#[test]
fn streams_are_numbered_and_a_repeated_head_uses_the_table() {
    let requests = post(b"body");
    let mut client = Client::connected(&requests, &[]);
    let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
    let mut lengths = Vec::new();
    for number in [1, 3, 5] {
        client.request(0);
        let [head, body] = &client.sent()[..] else {
            panic!("a head and a body");
        };
        let sent = (head.kind, head.stream, head.flags);
        assert_eq!(sent, (Kind::HEADERS, number, END_HEADERS));
        decoder.decode(&head.payload, &mut fields).unwrap();
        let expected: [(&[u8], &[u8]); 5] = [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", b"/"),
            (b":authority", b"localhost"),
            (b"content-length", b"4"),
        ];
        assert_eq!(fields.iter().collect::<Vec<_>>(), expected);
        assert_eq!(*body, frames(&data(number, END_STREAM, b"body"))[0]);
        lengths.push(head.payload.len());
    }
    assert_eq!(lengths, [17, 5, 5]);
}

#[test]
fn a_smaller_table_is_acknowledged_before_it_is_used() {
    let requests = get();
    let mut client = Client::new(&requests);
    client.request(0);
    client.sent();
    client.eat(&settings(&[(HEADER_TABLE_SIZE, 10)])).unwrap();
    client.request(0);
    // A request without a body ends with its head.
    let head = b"\x20\x82\x86\x84\x01\x09localhost";
    let head = frame(Kind::HEADERS, END_HEADERS | END_STREAM, 3, head);
    let expected = [written("SETTINGS+ACK 0"), head].concat();
    assert_eq!(client.sent(), frames(&expected));
}

#[test]
fn a_long_head_continues_in_further_frames() {
    let name = http::HeaderName::from_static("x-long");
    let value: String = (0..50_000)
        .map(|at| (b'a' + (at % 26) as u8) as char)
        .collect();
    let fields = [(name, value.parse().unwrap())];
    let request = StreamRequest::http(&Method::GET, "http", "localhost", "/", &fields, b"");
    let requests = [request.unwrap()];
    let mut client = Client::connected(&requests, &[]);
    for _ in 0..2 {
        client.request(0);
        let sent = client.sent();
        let shape: Vec<_> = sent.iter().map(|frame| (frame.kind, frame.flags)).collect();
        let expected = [
            (Kind::HEADERS, END_STREAM),
            (Kind::CONTINUATION, 0),
            (Kind::CONTINUATION, 0),
            (Kind::CONTINUATION, END_HEADERS),
        ];
        assert_eq!(shape, expected);
        let block: Vec<u8> = sent.into_iter().flat_map(|frame| frame.payload).collect();
        let mut fields = Fields::default();
        Decoder::default().decode(&block, &mut fields).unwrap();
        let last = fields.iter().last().unwrap();
        assert!(last == (b"x-long", value.as_bytes()));
    }
}

#[test]
fn a_body_is_sent_as_far_as_the_windows_allow() {
    let body: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
    let requests = post(&body);
    let mut client = Client::connected(&requests, &[(INITIAL_WINDOW_SIZE, 10)]);
    let mut arrived = Vec::new();
    let mut flush = |client: &mut Client<'_>| {
        let mut ended = false;
        let sent = client.sent();
        for frame in sent.iter().filter(|frame| frame.kind == Kind::DATA) {
            arrived.extend_from_slice(&frame.payload);
            ended = frame.flags & END_STREAM != 0;
        }
        assert_eq!(arrived, body[..arrived.len()]);
        (arrived.len(), ended)
    };
    client.request(0);
    assert_eq!(flush(&mut client), (10, false));
    client.eat(&window_update(1, 5)).unwrap();
    assert_eq!(flush(&mut client), (15, false));
    // Five less for the stream, which has used all of its window, so it becomes negative.
    client.eat(&settings(&[(INITIAL_WINDOW_SIZE, 5)])).unwrap();
    client.eat(&window_update(1, 5)).unwrap();
    assert_eq!(flush(&mut client), (15, false));
    let large = settings(&[(INITIAL_WINDOW_SIZE, 1_000_000)]);
    client.eat(&large).unwrap();
    // Now the connection's window is the limit.
    assert_eq!(flush(&mut client), (65_535, false));
    client.eat(&window_update(0, 34_464)).unwrap();
    assert_eq!(flush(&mut client), (99_999, false));
    client.eat(&window_update(0, 1)).unwrap();
    assert_eq!(flush(&mut client), (100_000, true));
    assert_eq!(flush(&mut client), (100_000, false));
}

#[test]
fn many_bodies_share_the_window_of_the_connection() {
    let body = vec![b'b'; 50_000];
    let requests = post(&body);
    let mut client = Client::connected(&requests, &[]);
    (0..3).for_each(|_| client.request(0));
    let mut lengths = [0; 3];
    for (opened, expected) in [
        (1, [50_000, 15_536, 0]),
        (30_000, [50_000, 45_536, 0]),
        (100_000, [50_000; 3]),
    ] {
        client.eat(&window_update(0, opened)).unwrap();
        for frame in client.sent().iter().filter(|it| it.kind == Kind::DATA) {
            lengths[frame.stream as usize / 2] += frame.payload.len();
        }
        assert_eq!(lengths, expected);
    }
}

#[test]
fn frames_are_as_long_as_the_server_accepts() {
    let body = vec![b'b'; 300_000];
    let requests = post(&body);
    let large = [(INITIAL_WINDOW_SIZE, 0x7fff_ffff), (MAX_FRAME_SIZE, 50_000)];
    let mut client = Client::connected(&requests, &large);
    client.eat(&window_update(0, 0x7fff_ffff - 65_535)).unwrap();
    client.request(0);
    assert!(client.wire.unsent().len() < 200_000, "queued at once");
    let sent = client.sent_bytes();
    let mut bytes = &sent[..];
    let mut lengths = Vec::new();
    while let Some((&[a, b, c, ..], rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        lengths.push(length);
        bytes = &rest[length..];
    }
    assert_eq!(lengths[1..], [50_000; 6]);
}

#[test]
fn settings_and_pings_are_acknowledged() {
    let requests = get();
    let mut client = Client::connected(&requests, &[]);
    let received = "SETTINGS 0; SETTINGS+ACK 0; PING 0 12345678; PING+ACK 0 abcdefgh";
    client.eat(&written(received)).unwrap();
    let responses = written("SETTINGS+ACK 0; PING+ACK 0 12345678");
    assert_eq!(client.sent(), frames(&responses));
}

#[test]
fn half_used_windows_are_reopened() {
    let requests = get();
    let mut client = Client::requesting(&requests, 1);
    client.in_flight.clear();
    /// Keeps nothing: the body is long.
    struct KeepsNothing;
    impl Responses for KeepsNothing {
        fn begun(&mut self, _: usize) {}
        fn keep(&mut self, _: usize) -> Option<&mut Collect> {
            None
        }
        fn events(&mut self, _: usize, _: u64) {}
    }
    let eat = |wire: &mut H2Wire<'_>, bytes: &[u8]| {
        let eaten = wire.eat(bytes, &mut KeepsNothing).unwrap();
        assert_eq!((eaten.bytes, eaten.ended), (bytes.len(), None));
    };
    eat(&mut client.wire, &frame(Kind::HEADERS, END_HEADERS, 1, OK));
    let piece = data(1, 0, &[0; MAX_FRAME]);
    let half = (1usize << 29) - 1;
    let pieces = half / MAX_FRAME;
    for _ in 0..pieces {
        eat(&mut client.wire, &piece);
    }
    assert_eq!(client.sent(), []);
    eat(&mut client.wire, &piece);
    let by = ((pieces + 1) * MAX_FRAME) as u32;
    let expected = [window_update(0, by), window_update(1, by)];
    assert_eq!(client.sent(), frames(&expected.concat()));
}

#[test]
fn a_new_connection_starts_from_scratch() {
    let requests = get();
    let mut client = Client::requesting(&requests, 2);
    // Half a frame, a table with a field, and a server that goes away.
    let table = frame(Kind::HEADERS, END_HEADERS, 1, b"\x88\x40\x01a\x01b");
    let last = [table, go_away(1, ErrorCode::NO_ERROR, ""), vec![0, 0]].concat();
    client.eat(&last).unwrap();
    assert_eq!(client.wire.room(), 0);
    client.open();
    assert_eq!(client.wire.close(), OnClose::BeforeResponse);
    assert!(client.wire.room() > 0 && !client.wire.is_finished());
    client.eat(&settings(&[])).unwrap();
    client.request(0);
    let head = client.sent().remove(3);
    assert_eq!((head.kind, head.stream), (Kind::HEADERS, 1));
    let decoded = Decoder::default().decode(&head.payload, &mut Fields::default());
    decoded.unwrap();
    let index = frame(Kind::HEADERS, END_HEADERS, 1, &[0x80 | 62]);
    assert!(client.eat(&index).is_err());
}
