use prony_traffic::{Collect, LONGEST_BODY, Response};

use super::*;
use crate::wire::h1::Ignore;
use proptest::prelude::*;

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n\
    5;name=value\r\nhello\r\n00a \r\n, chunked!\r\n0\r\nTrailer: one\r\nOther: two\r\n\r\n";
const INTERIM: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
    HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc";
const BODILESS: &str = "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n";
const CLOSING: &str = "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nuntil the end";
const FOLDED: &str = "HTTP/1.2 200 OK\r\nX: one\r\n\ttwo\r\n \r\nContent-Length:\r\n  2\r\n\r\nok";
const OLD_CHUNKED: &str = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n\
    00000000000000000002\r\nok\r\n0\r\nTrailer: a\r\n folded\n\n";
const LONE_LINE_FEEDS: &str = "HTTP/1.1 200 OK\nContent-Length: 2\n\nok";

/// Reads `pieces` as if from a socket that is closed afterwards.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Response, Whole) {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    let mut collect = Collect::default();
    for piece in pieces {
        let eaten = reader.eat(piece, &mut collect).unwrap();
        assert_eq!(eaten.bytes, piece.len());
        if let Some(whole) = eaten.whole {
            return (collect.into_response(), whole);
        }
    }
    match reader.close() {
        OnClose::Whole(whole) => (collect.into_response(), whole),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_response_split_at_every_byte_is_the_same() {
    let samples = [
        (CHUNKED, 200, "hello, chunked!", true),
        (INTERIM, 201, "abc", true),
        (BODILESS, 304, "", true),
        (CLOSING, 200, "until the end", false),
        (LONE_LINE_FEEDS, 200, "ok", true),
        (FOLDED, 200, "ok", true),
        (OLD_CHUNKED, 200, "ok", false),
    ];
    for (text, status, body, keep_alive) in samples {
        let bytes = text.as_bytes();
        let expected = read([bytes]);
        assert_eq!(
            expected.1,
            Whole {
                status,
                body_bytes: body.len() as u64,
                keep_alive,
                rpc_status: None,
            }
        );
        assert_eq!(expected.0.body, body.as_bytes());
        assert_eq!(expected.0.status, status);
        for at in 1..bytes.len() {
            assert_eq!(
                read([&bytes[..at], &bytes[at..]]),
                expected,
                "{text:?} at {at}"
            );
        }
        assert_eq!(read(bytes.chunks(1)), expected, "{text:?} byte by byte");
    }
}

#[test]
fn each_response_is_read_by_its_own_head() {
    let response = |body: &str| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let mut reader = ResponseReader::new(RequestKind::Plain);
    for body in ["a", "b", "longer", "b", "b"] {
        let text = response(body);
        for cut in [text.len(), 3] {
            let mut collect = Collect::default();
            let (first, rest) = text.as_bytes().split_at(cut);
            let eaten = reader.eat(first, &mut collect).unwrap();
            let whole = match rest {
                [] => eaten.whole,
                rest => reader.eat(rest, &mut collect).unwrap().whole,
            };
            assert_eq!(whole.unwrap().body_bytes, body.len() as u64);
            let response = collect.into_response();
            assert_eq!((response.status, response.body), (200, body.into()));
        }
    }
    // The same head in response to a HEAD has no body.
    reader.responds_to(RequestKind::Head);
    let eaten = reader.eat(response("b").as_bytes(), &mut Ignore).unwrap();
    assert_eq!(eaten.whole.unwrap().body_bytes, 0);
}

#[test]
fn skippable_bytes_need_not_be_eaten() {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab";
    assert_eq!(reader.eat(head, &mut Ignore).unwrap().whole, None);
    assert_eq!(reader.skippable(), 8);
    assert_eq!(reader.skip(3), None);
    assert_eq!(reader.skip(5).unwrap().body_bytes, 10);
    assert_eq!(reader.skippable(), 0);

    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nab";
    reader.eat(head, &mut Ignore).unwrap();
    assert_eq!(reader.skippable(), 6);
    assert_eq!(reader.skip(6), None);
    let whole = reader
        .eat(b"\r\n0\r\n\r\n", &mut Ignore)
        .unwrap()
        .whole
        .unwrap();
    assert_eq!(whole.body_bytes, 8);
}

#[test]
fn reading_stops_at_the_end_of_the_response() {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    let two = b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
    let first = reader.eat(two, &mut Ignore).unwrap();
    assert_eq!(first.whole.unwrap().status, 204);
    let second = reader.eat(&two[first.bytes..], &mut Ignore).unwrap();
    assert_eq!(second.whole.unwrap().status, 200);
    assert_eq!(first.bytes + second.bytes, two.len());
}

#[test]
fn the_framing_decides_what_a_close_means() {
    let close_after = |bytes: &[u8]| {
        let mut reader = ResponseReader::new(RequestKind::Plain);
        reader.eat(bytes, &mut Ignore).unwrap();
        reader.close()
    };
    assert_eq!(close_after(b""), OnClose::BeforeResponse);
    assert_eq!(close_after(b"HTTP/1.1 2"), OnClose::Truncated);
    assert_eq!(
        close_after(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx"),
        OnClose::Truncated
    );
    assert_eq!(
        close_after(&CHUNKED.as_bytes()[..CHUNKED.len() - 1]),
        OnClose::Truncated
    );
    assert!(matches!(close_after(CLOSING.as_bytes()), OnClose::Whole(_)));
}

#[test]
fn broken_responses_are_refused() {
    let refuse =
        |text: &str| ResponseReader::new(RequestKind::Plain).eat(text.as_bytes(), &mut Ignore);
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(20_000));
    assert_eq!(refuse(&endless), Err(Malformed::HeadTooLong));
    assert_eq!(
        refuse("HTTP/1.1 101 Switching\r\n\r\n"),
        Err(Malformed::SwitchingProtocols)
    );
}

#[test]
fn folds_of_a_kept_field_become_spaces() {
    let (response, _) = read([FOLDED.as_bytes()]);
    let fields = [("x", "one two"), ("content-length", "2")];
    let expected = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    assert_eq!(response.headers, expected);
}

#[test]
fn a_field_with_any_bytes_is_kept() {
    let (response, _) =
        read([&b"HTTP/1.1 204 No Content\r\nOdd: \x01\xff \r\nPlain:  p\r\n\r\n"[..]]);
    let expected = [("odd", &b"\x01\xff"[..]), ("plain", b"p")];
    let kept: Vec<_> = response
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_slice()))
        .collect();
    assert_eq!((response.status, kept), (204, expected.to_vec()));
}

/// How many bytes are scanned if each piece makes the reader look for a line's end.
fn searched(pieces: &[&[u8]]) -> usize {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    for piece in pieces {
        assert_eq!(reader.eat(piece, &mut Ignore).unwrap().whole, None);
    }
    reader.head.lines.searched
}

#[test]
fn a_head_in_many_pieces_is_scanned_once() {
    let status: &[u8] = b"HTTP/1.1 200 OK\r\n";
    let lines = vec![&b"x: y\r\n"[..]; 10_000];
    let by_line = [&[status][..], &lines].concat();
    assert_eq!(searched(&by_line), by_line.concat().len());
    // Also for one line that arrives byte by byte.
    let long = format!(
        "HTTP/1.1 200 {}\r\nx: {}",
        "r".repeat(20_000),
        "y".repeat(20_000)
    );
    let by_byte: Vec<&[u8]> = long.as_bytes().chunks(1).collect();
    assert_eq!(searched(&by_byte), long.len());
}

#[test]
fn garbage_in_pieces_is_refused_at_once() {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    assert_eq!(reader.eat(b"HTT", &mut Ignore).unwrap().whole, None);
    assert_eq!(reader.eat(b"X", &mut Ignore), Err(Malformed::StatusLine));
}

#[test]
fn an_endless_head_in_pieces_is_refused() {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    reader.eat(b"HTTP/1.1 200 OK\r\n", &mut Ignore).unwrap();
    let line = format!("x: {}\r\n", "y".repeat(500));
    let refused = (0..200).find_map(|_| reader.eat(line.as_bytes(), &mut Ignore).err());
    assert_eq!(refused, Some(Malformed::HeadTooLong));
}

#[test]
fn an_endless_body_does_not_fill_the_memory() {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    let mut collect = Collect::default();
    reader.eat(CLOSING.as_bytes(), &mut collect).unwrap();
    let piece = vec![b'x'; LONGEST_BODY as usize / 4];
    for _ in 0..5 {
        reader.eat(&piece, &mut collect).unwrap();
    }
    assert_eq!(collect.into_response().body.len() as u64, LONGEST_BODY + 1);
}

proptest! {
    #[test]
    fn any_body_in_any_chunks_and_pieces_is_read(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 0..6),
        piece in 1usize..50,
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let (response, whole) = read(bytes.chunks(piece));
        prop_assert_eq!(&response.body, &chunks.concat());
        prop_assert_eq!(whole.body_bytes, response.body.len() as u64);
    }

    #[test]
    fn no_bytes_cause_a_panic_and_pieces_make_no_difference(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in 0usize..200,
    ) {
        let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        text.extend_from_slice(&bytes);
        let at = at.min(text.len());
        let whole = ResponseReader::new(RequestKind::Plain).eat(&text, &mut Ignore).map(|eaten| eaten.whole);
        let mut reader = ResponseReader::new(RequestKind::Plain);
        let mut pieces = reader.eat(&text[..at], &mut Ignore).map(|eaten| eaten.whole);
        if let Ok(None) = pieces {
            pieces = reader.eat(&text[at..], &mut Ignore).map(|eaten| eaten.whole);
        }
        prop_assert_eq!(whole, pieces);
    }
}
