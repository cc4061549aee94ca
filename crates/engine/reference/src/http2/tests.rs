//! The connection without a socket: bytes in, frames out, and the result of invalid frames.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use prony_http::FRAME_HEADER;
use prony_http::hpack::{Decoder, Fields, encode};
use prony_testkit::table::rows;
use proptest::prelude::*;

use super::*;
use crate::config::{Config, Work};
use crate::date::Date;
use crate::responses::Responses;

static RESPONSES: LazyLock<Arc<Responses>> = LazyLock::new(|| {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/assets");
    let config = Config {
        host: String::new(),
        port: 0,
        cpus: std::num::NonZeroUsize::MIN,
        assets,
        work: Work::default(),
        tls: None,
    };
    Arc::new(Responses::new(&config).unwrap())
});

/// A frame of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    kind: Kind,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

struct Peer {
    http2: Http2,
    shared: Shared,
    /// Received but not read by the server.
    rest: Vec<u8>,
    /// The most that was written at once, in bytes.
    largest_batch: usize,
    is_over: bool,
}

impl Peer {
    /// Before the preface.
    fn new() -> Self {
        let log = tempfile::tempfile().unwrap();
        let date = Date::new(SystemTime::UNIX_EPOCH);
        let responses = Arc::clone(&RESPONSES);
        Self {
            http2: Http2::default(),
            shared: Shared::new(responses, Work::default(), date, log, None),
            rest: Vec::new(),
            largest_batch: 0,
            is_over: false,
        }
    }

    /// After preface and settings.
    fn open() -> Self {
        let mut peer = Self::new();
        let frames = peer.send(&[PREFACE, &frame(Kind::SETTINGS, 0, 0, &[])].concat());
        let kinds: Vec<_> = frames.iter().map(|frame| frame.kind).collect();
        assert_eq!(kinds, [Kind::SETTINGS, Kind::WINDOW_UPDATE, Kind::SETTINGS]);
        peer
    }

    /// The frames that the server sends for these bytes, in as many batches as it wants.
    fn send(&mut self, bytes: &[u8]) -> Vec<Sent> {
        let mut sent = Vec::new();
        self.rest.extend_from_slice(bytes);
        if self.http2.stage == Stage::Preface && Http2::begins(&self.rest).is_none() {
            return Vec::new();
        }
        while !self.is_over {
            let (read, progress) = self.http2.respond(&self.rest, &mut self.shared);
            self.rest.drain(..read);
            let output = &mut self.shared.output;
            self.largest_batch = self.largest_batch.max(output.left());
            output.move_bytes(RESPONSES.texts(), &mut sent);
            self.is_over = progress == Progress::Over;
            if progress == Progress::Waits {
                break;
            }
        }
        frames(&sent)
    }

    /// The code that the connection ends with after these bytes, if it ends.
    fn end(&mut self, bytes: &[u8]) -> Option<ErrorCode> {
        let last = self.send(bytes).pop();
        let goaway = last.filter(|last| last.kind == Kind::GOAWAY);
        assert_eq!(self.is_over, goaway.is_some());
        goaway.map(|last| ErrorCode(last_number(&last)))
    }

    /// The code that this stream is reset with, if it is.
    fn reset(&mut self, stream: u32, bytes: &[u8]) -> Option<ErrorCode> {
        let frames = self.send(bytes);
        assert!(!self.is_over, "{frames:?}");
        let is_reset = |frame: &&Sent| frame.kind == Kind::RST_STREAM && frame.stream == stream;
        let reset = frames.iter().find(is_reset);
        reset.map(|frame| ErrorCode(last_number(frame)))
    }
}

/// The number at the end of a frame: a code, or the growth of a window.
fn last_number(frame: &Sent) -> u32 {
    u32::from_be_bytes(*frame.payload.last_chunk().unwrap())
}

fn frames(mut bytes: &[u8]) -> Vec<Sent> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let frame = read_frame(bytes).unwrap().expect("whole frames");
        bytes = &bytes[frame.size()..];
        frames.push(Sent {
            kind: frame.kind,
            flags: frame.flags,
            stream: frame.stream,
            payload: frame.payload.to_vec(),
        });
    }
    frames
}

fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = encode_header(payload.len(), kind, flags, stream);
    [&header[..], payload].concat()
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    encode(fields, &mut block);
    block
}

fn head_of(method: &str, path: &str) -> Vec<u8> {
    block(&[
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "a"),
    ])
}

fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(Kind::HEADERS, 5, stream, &head_of("GET", path))
}

fn post(stream: u32) -> Vec<u8> {
    frame(Kind::HEADERS, 4, stream, &head_of("POST", "/hello"))
}

fn call(stream: u32, method: &str) -> Vec<u8> {
    let block = block(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", &format!("/prony.echo.v1.Echo/{method}")),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]);
    frame(Kind::HEADERS, 4, stream, &block)
}

fn data(stream: u32, payload: &[u8], ends_stream: bool) -> Vec<u8> {
    frame(Kind::DATA, u8::from(ends_stream), stream, payload)
}

fn window_update(stream: u32, more: u32) -> Vec<u8> {
    frame(Kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
}

fn setting(number: u16, value: u32) -> Vec<u8> {
    let payload = [&number.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(Kind::SETTINGS, 0, 0, &payload)
}

/// The frames that a text describes, with commas between them: `get STREAM PATH`, `post STREAM`, `call STREAM METHOD`, or
/// the kind, flags and stream of a frame and its payload, which is in hexadecimal digits or the name of a header block.
fn described(text: &str) -> Vec<u8> {
    let frame = |text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        match words[..] {
            ["get", _, path] => get(number(1), path),
            ["post", _] => post(number(1)),
            ["call", _, method] => call(number(1), method),
            [name, _, _] => frame(kind(name), number(1) as u8, number(2), &[]),
            [name, _, _, payload] => {
                frame(kind(name), number(1) as u8, number(2), &payload_of(payload))
            }
            _ => panic!("{text}"),
        }
    };
    text.split(", ").flat_map(frame).collect()
}

fn kind(name: &str) -> Kind {
    let mut kinds = (0..10).map(Kind);
    kinds.find(|kind| kind.to_string() == name).unwrap()
}

fn payload_of(text: &str) -> Vec<u8> {
    let post = [(":method", "POST"), (":scheme", "http"), (":path", "/")];
    match text {
        "hello" => head_of("GET", "/hello"),
        "no-path" => block(&post[..2]),
        "two-bytes" => block(&[&post[..], &[("content-length", "2")]].concat()),
        digits => {
            let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
            let bytes = pairs.map(|pair| u8::from_str_radix(pair, 16));
            bytes.collect::<Result<_, _>>().unwrap()
        }
    }
}

fn body(frames: &[Sent], stream: u32) -> Vec<u8> {
    let data = |frame: &&Sent| frame.kind == Kind::DATA && frame.stream == stream;
    let frames = frames.iter().filter(data);
    frames.flat_map(|frame| frame.payload.clone()).collect()
}

fn fields(frame: &Sent) -> Vec<String> {
    let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
    decoder.decode(&frame.payload, &mut fields).unwrap();
    let text = String::from_utf8_lossy;
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| format!("{}: {}", text(name), text(value)));
    fields.collect()
}

fn has_ended(frames: &[Sent], stream: u32) -> bool {
    let mut frames = frames.iter().filter(|frame| frame.stream == stream);
    frames.any(|frame| {
        frame.flags & flag::END_STREAM != 0 && matches!(frame.kind, Kind::DATA | Kind::HEADERS)
    })
}

#[test]
fn a_response_is_one_head_and_its_data() {
    let frames = Peer::open().send(&get(1, "/hello"));
    assert_eq!(frames.len(), 2);
    let expected = [
        ":status: 200",
        "content-type: text/plain",
        "content-length: 17",
        "date: Thu, 01 Jan 1970 00:00:00 GMT",
    ];
    assert_eq!(fields(&frames[0]), expected);
    let Sent { kind, flags, .. } = frames[1];
    assert_eq!((kind, flags), (Kind::DATA, flag::END_STREAM));
    assert_eq!(body(&frames, 1), b"hello from prony\n");
}

#[test]
fn the_cuts_of_the_bytes_do_not_matter() {
    let byte = head_of("GET", "/byte");
    let bytes = [
        PREFACE,
        &setting(4, 1000),
        &described("get 1 /hello, get 3 /, PING 0 0 70696e67706f6e67, post 5"),
        &frame(Kind::DATA, flag::PADDED, 5, b"\x02ab00"),
        &frame(Kind::HEADERS, 0, 7, &byte[..3]),
        &frame(Kind::CONTINUATION, flag::END_HEADERS, 7, &byte[3..]),
        &described("DATA 1 7, DATA 1 5, call 9 BidiStream"),
        &data(9, b"\0\0\0\0\x03\x0a\x01a", true),
        &window_update(3, 500_000),
        &window_update(0, 500_000),
        &described("RST_STREAM 0 5 00000000"),
    ]
    .concat();
    let whole = Peer::new().send(&bytes);
    assert_eq!(body(&whole, 3).len(), 102_400);
    for stream in [1, 3, 5, 7, 9] {
        assert!(has_ended(&whole, stream), "{stream}");
    }
    // What is sent when depends on the cuts, but not what is sent on one stream.
    let by_stream = |mut frames: Vec<Sent>| {
        frames.sort_by_key(|frame| frame.stream);
        frames.dedup_by(|next, frame| {
            let is_more =
                frame.kind == Kind::DATA && next.kind == Kind::DATA && frame.stream == next.stream;
            if is_more {
                frame.payload.append(&mut next.payload);
                frame.flags |= next.flags;
            }
            is_more
        });
        frames
    };
    let whole = by_stream(whole);
    let mut bytewise = Peer::new();
    let frames = bytes.iter().flat_map(|&byte| bytewise.send(&[byte]));
    assert!(by_stream(frames.collect()) == whole);
    for cut in 0..bytes.len() {
        let mut peer = Peer::new();
        let mut frames = peer.send(&bytes[..cut]);
        frames.extend(peer.send(&bytes[cut..]));
        assert!(by_stream(frames) == whole, "cut at {cut}");
    }
}

#[test]
fn bodies_keep_to_the_windows() {
    for path in ["/", "/sse"] {
        let mut peer = Peer::open();
        let expected = {
            let mut peer = Peer::open();
            peer.send(&[window_update(0, 1 << 20), setting(4, 1 << 20)].concat());
            body(&peer.send(&get(1, path)), 1)
        };
        let mut received = body(&peer.send(&get(1, path)), 1);
        assert_eq!(received.len(), 65_535, "{path}");
        // Now both windows are full: that of the connection, then that of the stream.
        assert_eq!(peer.send(&window_update(1, 10)), []);
        received.extend(body(&peer.send(&window_update(0, 20)), 1));
        assert_eq!(received.len(), 65_545, "{path}");
        // A setting may make a window negative.
        assert_eq!(peer.send(&setting(4, 65_000)).len(), 1);
        received.extend(body(&peer.send(&window_update(1, 540)), 1));
        assert_eq!(received.len(), 65_550, "{path}");
        let last = [window_update(0, 1 << 20), window_update(1, 1 << 20)].concat();
        let frames = peer.send(&last);
        assert!(has_ended(&frames, 1));
        received.extend(body(&frames, 1));
        assert!(received == expected, "{path}");
    }
}

#[test]
fn a_batch_has_a_bounded_size() {
    let ids = || (0..200).map(|number| 2 * number + 1);
    let requests: Vec<u8> = ids().flat_map(|id| get(id, "/sse")).collect();
    let assert_all_end = |peer: &mut Peer, bytes: &[u8]| {
        let frames = peer.send(bytes);
        assert!(ids().all(|id| has_ended(&frames, id)));
        assert!(peer.largest_batch < 2 * BATCH, "{}", peer.largest_batch);
        assert_eq!(peer.http2.streams.len(), 0);
    };
    let mut peer = Peer::open();
    peer.send(&[window_update(0, 1 << 30), setting(4, 1 << 20)].concat());
    assert_all_end(&mut peer, &requests);
    // Streams that wait take no memory for their bodies, and leave in batches too.
    let mut peer = Peer::open();
    peer.send(&setting(4, 0));
    assert_eq!(peer.send(&requests).len(), 200);
    peer.send(&setting(4, 1 << 20));
    peer.largest_batch = 0;
    assert_all_end(&mut peer, &window_update(0, 1 << 30));
}

#[test]
fn a_client_with_a_small_table_is_told_that_none_is_used() {
    let mut peer = Peer::open();
    peer.send(&setting(1, 0));
    let frames = peer.send(&[get(1, "/byte"), get(3, "/byte")].concat());
    assert_eq!(frames[0].payload[0], prony_http::hpack::EMPTY_TABLE);
    assert_eq!(fields(&frames[0])[0], ":status: 200");
    assert_ne!(frames[2].payload[0], prony_http::hpack::EMPTY_TABLE);
}

#[test]
fn uploads_are_skipped_and_their_windows_open_again() {
    let mut peer = Peer::open();
    peer.send(&post(1));
    let (mut stream, mut connection) = (0, 0);
    for _ in 0..1000 {
        for frame in peer.send(&data(1, &[0; 16_384], false)) {
            assert_eq!(frame.kind, Kind::WINDOW_UPDATE);
            match frame.stream {
                0 => connection += last_number(&frame),
                _ => stream += last_number(&frame),
            }
        }
    }
    assert!(1000 * 16_384 - stream <= settings::STREAM_WINDOW / 2 + 16_384);
    assert!(1000 * 16_384 - connection <= CONNECTION_WINDOW / 2 + 16_384);
    let frames = peer.send(&data(1, b"", true));
    assert_eq!(fields(&frames[0])[0], ":status: 405");
}

/// Flags: 1 ends the stream or acknowledges, 4 ends the headers, 8 is for padding and 32 for a priority.
#[test]
fn invalid_frames_end_the_connection_with_their_code() {
    for [name, frames, code] in rows(
        "
        DATA on the connection | DATA 1 0 61 | PROTOCOL_ERROR
        DATA on an idle stream | DATA 1 1 61 | PROTOCOL_ERROR
        HEADERS on the connection | HEADERS 5 0 hello | PROTOCOL_ERROR
        HEADERS on an even stream | HEADERS 5 2 hello | PROTOCOL_ERROR
        padding | HEADERS 13 1 0901 | PROTOCOL_ERROR
        no priority | HEADERS 37 1 00000000 | FRAME_SIZE_ERROR
        a lone CONTINUATION | CONTINUATION 5 1 hello | PROTOCOL_ERROR
        a torn block | HEADERS 0 1 hello, get 3 / | PROTOCOL_ERROR
        a block continued elsewhere | HEADERS 0 1 hello, CONTINUATION 4 3 | PROTOCOL_ERROR
        HEADERS on a stream that was skipped | get 3 /byte, get 1 / | STREAM_CLOSED
        HEADERS after the response | get 1 /byte, get 1 /byte | STREAM_CLOSED
        an unknown index | HEADERS 5 1 ff7f | COMPRESSION_ERROR
        PUSH_PROMISE | PUSH_PROMISE 5 1 0000000000000000 | PROTOCOL_ERROR
        a short PING | PING 0 0 00000000000000 | FRAME_SIZE_ERROR
        PING on a stream | PING 0 1 0000000000000000 | PROTOCOL_ERROR
        torn SETTINGS | SETTINGS 0 0 0000000000 | FRAME_SIZE_ERROR
        SETTINGS on a stream | SETTINGS 0 1 | PROTOCOL_ERROR
        an acknowledgement with settings | SETTINGS 1 0 000000000000 | FRAME_SIZE_ERROR
        ENABLE_PUSH | SETTINGS 0 0 000200000002 | PROTOCOL_ERROR
        INITIAL_WINDOW_SIZE | SETTINGS 0 0 000480000000 | FLOW_CONTROL_ERROR
        MAX_FRAME_SIZE | SETTINGS 0 0 000500003fff | PROTOCOL_ERROR
        a window of nothing | WINDOW_UPDATE 0 0 00000000 | PROTOCOL_ERROR
        too large a window | WINDOW_UPDATE 0 0 7fffffff | FLOW_CONTROL_ERROR
        WINDOW_UPDATE on an idle stream | WINDOW_UPDATE 0 1 00000001 | PROTOCOL_ERROR
        a short WINDOW_UPDATE | WINDOW_UPDATE 0 0 000000 | FRAME_SIZE_ERROR
        RST_STREAM on an idle stream | RST_STREAM 0 1 00000000 | PROTOCOL_ERROR
        RST_STREAM on the connection | RST_STREAM 0 0 00000000 | PROTOCOL_ERROR
        a short RST_STREAM | RST_STREAM 0 1 000000 | FRAME_SIZE_ERROR
        PRIORITY on the connection | PRIORITY 0 0 0000000000 | PROTOCOL_ERROR
        GOAWAY on a stream | GOAWAY 0 1 0000000000000000 | PROTOCOL_ERROR
        a short GOAWAY | GOAWAY 0 0 00000000000000 | FRAME_SIZE_ERROR
    ",
    ) {
        let end = Peer::open().end(&described(frames)).unwrap();
        assert_eq!(end.to_string(), code, "{name}");
    }
    let too_long = encode_header(16_385, Kind::DATA, 0, 1);
    let end = Peer::open().end(&too_long);
    assert_eq!(end, Some(ErrorCode::FRAME_SIZE_ERROR));
    let no_settings = [PREFACE, &described("PING 0 0 0000000000000000")].concat();
    let end = Peer::new().end(&no_settings);
    assert_eq!(end, Some(ErrorCode::PROTOCOL_ERROR));
}

#[test]
fn invalid_streams_are_reset_and_the_connection_stays() {
    for [name, frames, code] in rows(
        "
        no path | HEADERS 5 1 no-path | PROTOCOL_ERROR
        no body | HEADERS 5 1 two-bytes | PROTOCOL_ERROR
        a short body | HEADERS 4 1 two-bytes, DATA 1 1 61 | PROTOCOL_ERROR
        a long body | HEADERS 4 1 two-bytes, DATA 0 1 616263 | PROTOCOL_ERROR
        trailers that end nothing | post 1, HEADERS 4 1 | PROTOCOL_ERROR
        DATA after the end | get 1 /, DATA 1 1 61 | STREAM_CLOSED
        DATA after the response | get 1 /byte, DATA 1 1 61 | STREAM_CLOSED
        HEADERS after the end | get 1 /, get 1 / | STREAM_CLOSED
        a window of nothing | get 1 /, WINDOW_UPDATE 0 1 00000000 | PROTOCOL_ERROR
        too large a window | get 1 /, WINDOW_UPDATE 0 1 7fffffff, WINDOW_UPDATE 0 1 00011170 | FLOW_CONTROL_ERROR
        a short PRIORITY | PRIORITY 0 1 00000000 | FRAME_SIZE_ERROR
    ",
    ) {
        let mut peer = Peer::open();
        let reset = peer.reset(1, &described(frames)).unwrap();
        assert_eq!(reset.to_string(), code, "{name}");
        assert_eq!(peer.http2.streams.len(), 0, "{name}");
        let next = peer.send(&described("WINDOW_UPDATE 0 0 00000001, get 5 /byte"));
        assert!(has_ended(&next, 5), "{name}");
    }
}

#[test]
fn frames_that_cross_with_a_reset_are_ignored() {
    let mut peer = Peer::open();
    let frames = peer.send(&call(1, "Other"));
    assert_eq!(frames.last().unwrap().kind, Kind::RST_STREAM);
    let trailers = frame(Kind::HEADERS, 5, 1, &block(&[("a", "b")]));
    assert_eq!(peer.send(&[data(1, b"a", false), trailers].concat()), []);
    // Their bytes still count for the connection.
    let frames = peer.send(&data(1, &[0; 16_384], false).repeat(200));
    let is_connections = |frame: &Sent| frame.kind == Kind::WINDOW_UPDATE && frame.stream == 0;
    assert!(!frames.is_empty() && frames.iter().all(is_connections));
    for number in 1..1000 {
        peer.send(&call(2 * number + 1, "Other"));
    }
    assert_eq!(peer.http2.reset_streams.len(), MAX_RESET);
}

#[test]
fn a_request_may_end_with_trailers() {
    let mut peer = Peer::open();
    let trailers = frame(Kind::HEADERS, 5, 1, &block(&[("a", "b")]));
    let frames = peer.send(&[post(1), data(1, b"ab", false), trailers].concat());
    assert!(has_ended(&frames, 1));
    let no_length = [post(3), frame(Kind::HEADERS, 5, 3, &block(&[("a", "b")]))].concat();
    assert!(has_ended(&peer.send(&no_length), 3));
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let mut peer = Peer::open();
    for number in 0..MAX_STREAMS as u32 {
        assert_eq!(peer.send(&post(2 * number + 1)), []);
    }
    let next = 2 * MAX_STREAMS as u32 + 1;
    let reset = peer.reset(next, &get(next, "/byte"));
    assert_eq!(reset, Some(ErrorCode::REFUSED_STREAM));
    assert!(has_ended(&peer.send(&data(1, b"", true)), 1));
    assert!(has_ended(&peer.send(&get(next + 2, "/byte")), next + 2));
}

#[test]
fn floods_end_or_are_bounded() {
    // Frames of a header block that never ends.
    let mut peer = Peer::open();
    peer.send(&frame(Kind::HEADERS, 0, 1, &[]));
    let empty = frame(Kind::CONTINUATION, 0, 1, &[]);
    let end = peer.end(&empty.repeat(20_000));
    assert_eq!(end, Some(ErrorCode::ENHANCE_YOUR_CALM));
    // Frames that need an acknowledgement, from a client that reads none.
    for needy in [setting(4, 1), frame(Kind::PING, 0, 0, &[0; 8])] {
        let mut peer = Peer::open();
        let flood = needy.repeat(40_000);
        let (read, progress) = peer.http2.respond(&flood, &mut peer.shared);
        assert_eq!(progress, Progress::HeldBack);
        assert!(read < flood.len());
        assert!(peer.shared.output.left() < BATCH + 100);
    }
    // Requests that are taken back at once.
    let mut peer = Peer::open();
    for number in 0..2_000 {
        let id = 2 * number + 1;
        peer.send(&[get(id, "/sse"), frame(Kind::RST_STREAM, 0, id, &[0; 4])].concat());
        assert_eq!(peer.http2.streams.len(), 0);
    }
}

#[test]
fn a_window_that_is_exceeded_ends_the_connection() {
    let mut peer = Peer::open();
    peer.send(&call(1, "BidiStream"));
    // The client takes no responses, so its window is not opened again.
    peer.send(&setting(4, 0));
    let message = [&[0, 0, 0, 0x40, 0][..], b"\x0a\xfd\x7f", &[b'a'; 16_381]].concat();
    let mut code = None;
    for _ in 0..20 {
        for part in message.chunks(16_384) {
            code = code.or_else(|| peer.end(&data(1, part, false)));
        }
    }
    assert_eq!(code, Some(ErrorCode::FLOW_CONTROL_ERROR));
}

#[test]
fn calls_that_hold_too_much_fail() {
    let mut peer = Peer::open();
    // Each call stops just before the end of the longest message.
    let begin = [0, 0, 0x3f, 0xff, 0xff];
    let piece = [b'a'; 16_384];
    let mut failed = 0;
    for number in 0..20 {
        let id = 2 * number + 1;
        let mut frames = peer.send(&[call(id, "Unary"), data(id, &begin, false)].concat());
        for _ in 0..255 {
            frames.extend(peer.send(&data(id, &piece, false)));
            if has_ended(&frames, id) {
                let last = frames.iter().find(|frame| frame.kind == Kind::HEADERS);
                assert!(fields(last.unwrap()).contains(&"grpc-status: 8".to_owned()));
                failed += 1;
                break;
            }
        }
    }
    assert!((3..=5).contains(&failed), "{failed}");
    let held: usize = peer.http2.streams.iter().map(Stream::held).sum();
    assert!(held <= MAX_HELD, "{held}");
}

#[test]
fn calls_respond_with_head_messages_and_trailers() {
    let hi = b"\0\0\0\0\x04\x0a\x02hi";
    let mut peer = Peer::open();
    let frames = peer.send(&[call(1, "Unary"), data(1, hi, true)].concat());
    let grpc = [":status: 200", "content-type: application/grpc"];
    assert_eq!(fields(&frames[0]), grpc);
    assert_eq!(body(&frames, 1), hi);
    assert_eq!(fields(&frames[2]), ["grpc-status: 0"]);
    assert_eq!((frames.len(), frames[2].flags), (3, 5));
    // Nothing is sent before the call is complete.
    let begin = [call(3, "Unary"), data(3, hi, false), window_update(0, 1)];
    assert_eq!(peer.send(&begin.concat()), []);
    assert_eq!(peer.send(&data(3, b"", true)).len(), 3);
    // A failure has trailers only, and ends the stream even if the client has not.
    let frames = peer.send(&call(5, "Other"));
    assert_eq!(fields(&frames[0])[2], "grpc-status: 12");
    assert_eq!(frames[0].flags, 5);
    assert_eq!((frames[1].kind, frames.len()), (Kind::RST_STREAM, 2));
    // The head comes at once, the responses one by one.
    assert_eq!(fields(&peer.send(&call(7, "BidiStream"))[0]), grpc);
    for _ in 0..3 {
        assert_eq!(body(&peer.send(&data(7, hi, false)), 7), hi);
    }
    let trailers = &peer.send(&data(7, b"", true))[0];
    assert_eq!(fields(trailers), ["grpc-status: 0"]);
    // After the head, a failure is in the trailers.
    peer.send(&call(9, "BidiStream"));
    let frames = peer.send(&data(9, &[1, 0, 0, 0, 0], false));
    assert_eq!(fields(&frames[0])[0], "grpc-status: 12");
}

#[test]
fn a_stream_of_messages_keeps_to_the_windows() {
    let mut peer = Peer::open();
    let request = b"\0\0\0\0\x09\x0a\x03abc\x10\x80\x80\x04";
    let frames = peer.send(&[call(1, "ServerStream"), data(1, request, true)].concat());
    let message = b"\0\0\0\0\x05\x0a\x03abc";
    let mut received = body(&frames, 1);
    assert_eq!(received.len(), 65_535);
    for _ in 0..10 {
        received.extend(body(&peer.send(&window_update(0, 70_000)), 1));
        received.extend(body(&peer.send(&window_update(1, 70_000)), 1));
    }
    assert!(received == message.repeat(65_536));
    assert_eq!(peer.http2.streams.len(), 0);
}

proptest! {
    /// Nearly valid frames in any order: the server stays within its bounds, and ends at most once.
    #[test]
    fn any_frames_are_bounded(
        frames in prop::collection::vec(
            (0u8..11, any::<u8>(), 0u32..8, prop::collection::vec(any::<u8>(), 0..40), 0usize..6),
            1..60,
        ),
    ) {
        let mut peer = Peer::open();
        for (kind, flags, stream, payload, form) in frames {
            let bytes = match form {
                0 => get(stream | 1, "/sse-20k"),
                1 => call(stream | 1, "BidiStream"),
                2 => data(stream | 1, &payload, flags & 1 != 0),
                3 => window_update(stream, u32::from(flags)),
                4 => frame(Kind(kind), flags, stream, &head_of("GET", "/")),
                _ => frame(Kind(kind), flags, stream, &payload),
            };
            peer.send(&bytes);
            prop_assert!(peer.rest.is_empty() || peer.is_over || peer.rest.len() < FRAME_HEADER + 16_384);
            prop_assert!(peer.http2.streams.len() <= 4);
        }
        prop_assert!(peer.largest_batch < 2 * BATCH);
    }
}
