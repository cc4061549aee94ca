use prony_traffic::Collect;
use proptest::prelude::*;

use crate::wire::OnClose;
use crate::wire::h1::{Malformed, RequestKind, ResponseReader};

/// The body of a response whose head announces chunks and whose server closes after these pieces; `Ok(None)` if it is
/// cut short.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<Vec<u8>>, Malformed> {
    let mut reader = ResponseReader::new(RequestKind::Plain);
    let mut collect = Collect::default();
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    reader.eat(head, &mut collect)?;
    for piece in pieces {
        if reader.eat(piece, &mut collect)?.whole.is_some() {
            return Ok(Some(collect.into_response().body));
        }
    }
    assert_eq!(reader.close(), OnClose::Truncated);
    Ok(None)
}

/// The same for one piece, after checking that no split makes a difference.
fn read_at_every_cut(text: &str) -> Result<Option<Vec<u8>>, Malformed> {
    let bytes = text.as_bytes();
    let whole = read([bytes]);
    for at in 1..bytes.len() {
        assert_eq!(
            read([&bytes[..at], &bytes[at..]]),
            whole,
            "{text:?} at {at}"
        );
    }
    assert_eq!(read(bytes.chunks(1)), whole, "{text:?} byte by byte");
    whole
}

#[test]
fn chunks_are_read_as_rfc_9112_says() {
    let twenty_digits = "00000000000000000005\r\nhello\r\n00000000000000000000\r\n\r\n";
    for (text, body) in [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhello\r\n6\r\n world\r\n000\r\n\r\n", "hello world"),
        ("A\r\n0\r\n\r\n12345\r\n0\r\n\r\n", "0\r\n\r\n12345"),
        (twenty_digits, "hello"),
        // Extensions are ignored, and whitespace around the semicolon is tolerated.
        ("5;a=b\r\nhello\r\n0;z\r\n\r\n", "hello"),
        (
            "5 ; a = \"b; \t\\\" c\"\t;d\r\nhello\r\n0\t;\r\n\r\n",
            "hello",
        ),
        ("5;\u{e4}\r\nhello\r\n0\r\n\r\n", "hello"),
        // By choice: some servers pad a size with blanks.
        ("5   \r\nhello\r\n0 \r\n\r\n", "hello"),
        // Trailers: fields, as in a head.
        ("0\r\nA: b\r\nC:\r\n d\r\n\r\n", ""),
        ("0\r\nA: b\n\n", ""),
        ("0\r\n\n", ""),
    ] {
        assert_eq!(read_at_every_cut(text), Ok(Some(body.into())), "{text:?}");
    }
}

#[test]
fn a_chunk_of_the_wrong_size_is_refused() {
    for text in [
        "4\r\nhello\r\n0\r\n\r\n",
        "6\r\nhello\r\n0\r\n\r\n",
        "7\r\nhello\r\n0\r\n\r\n",
        "6\nhello\n0\n\n",
        // A lone line feed: a chunk one byte too long would have it as data.
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
    ] {
        let refused = read_at_every_cut(text).unwrap_err();
        let expected = if text.starts_with("6\n") {
            Malformed::ChunkSize
        } else {
            Malformed::ChunkEnd
        };
        assert_eq!(refused, expected, "{text:?}");
    }
    // A size larger than what follows: the only fault is the early end.
    assert_eq!(read_at_every_cut("5f\r\nhello\r\n0\r\n\r\n"), Ok(None));
}

#[test]
fn invalid_size_lines_are_refused() {
    for line in [
        "",
        "x",
        "-1",
        "+1",
        "0x5",
        " 5",
        ";a",
        "5x",
        "5 x",
        "5 5",
        "5\t5;a",
        "2 erfrferferf",
        "5\rx",
        "5\r;a",
        "5\r\r",
        "5 \rx",
        "5;a\rb",
        "5;a\0b",
        "5\u{c}",
        "5\u{b}",
        "5,",
        "10000000000000000",
        "fffffffffffffffff",
    ] {
        let text = format!("{line}\r\nhello\r\n0\r\n\r\n");
        assert_eq!(
            read_at_every_cut(&text),
            Err(Malformed::ChunkSize),
            "{line:?}"
        );
    }
    for text in [
        "5\nhello\r\n0\r\n\r\n",
        "5;a\nhello\r\n0\r\n\r\n",
        "0\n\r\n",
    ] {
        assert_eq!(
            read_at_every_cut(text),
            Err(Malformed::ChunkSize),
            "{text:?}"
        );
    }
    // The largest size that fits into 64 bits is valid.
    assert_eq!(read_at_every_cut("ffffffffffffffff\r\nhello"), Ok(None));
}

#[test]
fn invalid_trailers_are_refused() {
    for trailers in [
        "no colon\r\n\r\n",
        ": no name\r\n\r\n",
        " folds nothing: x\r\n\r\n",
        "A : b\r\n\r\n",
        "A: b\rc\r\n\r\n",
        "A: b\0\r\n\r\n",
        "\rx\n\n",
    ] {
        let text = format!("0\r\n{trailers}");
        assert_eq!(
            read_at_every_cut(&text),
            Err(Malformed::HeaderLine),
            "{trailers:?}"
        );
    }
}

#[test]
fn endless_size_lines_and_trailers_are_refused() {
    let too_long = [
        "0".repeat(5000),
        format!("1;{}", "x".repeat(5000)),
        format!("1{}", " ".repeat(5000)),
        format!("0\r\n{}", "x: y\r\n".repeat(20_000)),
    ];
    for text in too_long {
        let bytes = text.as_bytes();
        assert_eq!(read([bytes]), Err(Malformed::ChunkTooLong));
        assert_eq!(read(bytes.chunks(7)), Err(Malformed::ChunkTooLong));
    }
}

proptest! {
    /// Whatever byte changes, the body is the same, missing or refused, unless the change is in the data.
    #[test]
    fn one_wrong_framing_byte_never_gives_another_body(at in 0usize..26, byte in any::<u8>()) {
        let right = b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
        let in_data = (3..8).contains(&at) || (13..19).contains(&at);
        let mut wrong = right.to_vec();
        wrong[at] = byte;
        let body = if in_data {
            let mut body = b"hello world".to_vec();
            body[at - if at < 8 { 3 } else { 8 }] = byte;
            body
        } else {
            b"hello world".to_vec()
        };
        match read([&wrong[..]]) {
            Ok(Some(read)) => prop_assert_eq!(read, body),
            Ok(None) | Err(_) => prop_assert!(wrong != right),
        }
    }
}
