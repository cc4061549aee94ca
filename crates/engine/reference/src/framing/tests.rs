use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Head(Method, String, Link, bool),
    End,
    Refused(Refusal),
}

/// What a framer finds in bytes that come in these pieces.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let (mut framer, mut input, mut seen) = (Framer::default(), Vec::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        let mut eaten = 0;
        loop {
            let event = framer.next(&input[eaten..]);
            match event {
                Ok((length, event)) => {
                    eaten += length;
                    match event {
                        Event::NeedMore => break,
                        Event::End => seen.push(Seen::End),
                        Event::Head(h) => seen.push(Seen::Head(
                            h.method,
                            h.target.into(),
                            h.link,
                            h.expects_continue,
                        )),
                    }
                }
                Err(refusal) => {
                    seen.push(Seen::Refused(refusal));
                    return seen;
                }
            }
        }
        input.drain(..eaten);
    }
    seen
}

fn head(method: Method, target: &str, link: Link) -> Seen {
    Seen::Head(method, target.into(), link, false)
}

/// The bytes may come whole, in two pieces or one by one.
fn assert_read(bytes: &[u8], expected: &[Seen]) {
    for cut in 0..=bytes.len() {
        let seen = read([&bytes[..cut], &bytes[cut..]]);
        assert_eq!(seen, expected, "{:?} cut at {cut}", str::from_utf8(bytes));
    }
    assert_eq!(read(bytes.chunks(1)), expected);
}

/// Why the end of this text is refused, whole and in pieces of these sizes.
fn refused<const N: usize>(text: &str, pieces: [usize; N]) -> Option<Refusal> {
    let last = |size| match read(text.as_bytes().chunks(size)).pop() {
        Some(Seen::Refused(refusal)) => Some(refusal),
        _ => None,
    };
    let refusal = last(text.len());
    assert_eq!(pieces.map(last), [refusal; N], "{text:?}");
    refusal
}

const SEVERAL: &str = "\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n\
    POST /b?c HTTP/1.1\r\nhost: x\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\nGET / \
    HEAD /d HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n\
    PUT /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\nT: u\r\n\r\n\
    GET /f HTTP/1.0\r\n\r\n\
    GET /g HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nContent-Length: 0\r\n\r\n";

#[test]
fn requests_are_found_however_they_are_cut() {
    let expected = [
        head(Method::Get, "/a", Link::Stays),
        Seen::End,
        Seen::Head(Method::Other, "/b?c".into(), Link::Stays, true),
        Seen::End,
        head(Method::Head, "/d", Link::StaysBy10),
        Seen::End,
        head(Method::Other, "/e", Link::Stays),
        Seen::End,
        head(Method::Get, "/f", Link::Closes),
        Seen::End,
        head(Method::Get, "/g", Link::Closes),
        Seen::End,
    ];
    assert_read(SEVERAL.as_bytes(), &expected);
}

#[test]
fn bytes_that_are_no_request_are_refused() {
    for text in [
        "garbage\r\n\r\n",
        "\x16\x03\x01\x02",
        "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        assert_eq!(refused(text, [1]), Some(Refusal::Malformed), "{text:?}");
    }
    let gzip = "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    assert_eq!(refused(gzip, []), Some(Refusal::UnknownCoding));
}

#[test]
fn the_same_length_twice_is_one_length() {
    let text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nabGET";
    let expected = [head(Method::Other, "/", Link::Stays), Seen::End];
    assert_eq!(read([text.as_bytes()]), expected);
}

#[test]
fn a_head_may_be_as_long_as_the_limit_but_not_longer() {
    let with_length = |length: usize| {
        let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
        let filler = "x".repeat(length - frame.len());
        format!("GET / HTTP/1.1\r\nHost: a\r\nX: {filler}\r\n\r\n")
    };
    assert_eq!(refused(&with_length(MAX_HEAD), []), None);
    let over = with_length(MAX_HEAD + 1);
    for piece in [1000, MAX_HEAD - 1, MAX_HEAD, MAX_HEAD + 1] {
        let seen = read(over.as_bytes().chunks(piece));
        assert_eq!(seen, [Seen::Refused(Refusal::HeadTooLarge)], "{piece}");
    }
    let fields = "A: b\r\n".repeat(MAX_FIELDS + 1);
    let many = refused(&format!("GET / HTTP/1.1\r\n{fields}\r\n"), []);
    assert_eq!(many, Some(Refusal::HeadTooLarge));
}

/// The bytes of a request with this chunked body, and of another request behind it.
fn chunked(body: &str) -> String {
    let head = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{body}GET / HTTP/1.0\r\n\r\n")
}

#[test]
fn a_chunked_body_ends_at_its_end_however_it_is_cut() {
    for body in [
        "0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "a;x=\"y\"\r\n0123456789\r\n00\r\n\r\n",
        "00000000000000000002\t;x\r\nhi\r\n0\r\n\r\n",
        "1 \r\n\r\r\nF\r\n0\r\n\r\n567\r\n9abcd\r\n0;z\r\nTrailer: a\r\nOther: b\r\n\r\n",
    ] {
        let expected = [
            head(Method::Other, "/", Link::Stays),
            Seen::End,
            head(Method::Get, "/", Link::Closes),
            Seen::End,
        ];
        assert_read(chunked(body).as_bytes(), &expected);
    }
}

#[test]
fn a_malformed_chunked_body_is_refused_however_it_is_cut() {
    let long = "x".repeat(MAX_LINE + 1);
    let long = ["1;", "1 ;", "0\r\nTrailer: "].map(|start| format!("{start}{long}"));
    for body in [
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "+1\r\n",
        "1\n",
        "1\rx",
        "1\r\nabc\r\n",
        "1;x\nX",
        "1 x\r\n",
        "1 1\r\n",
        "0\r\n\n",
        "0\r\n\rx",
        "fffffffffffffffff\r\n",
        &long[0],
        &long[1],
        &long[2],
    ] {
        let text = chunked(body);
        // A line that is too long is looked at again for each of its pieces.
        let shortest = if text.len() > MAX_LINE { 100 } else { 1 };
        let refusal = refused(&text, [shortest, 7 * shortest]);
        assert_eq!(refusal, Some(Refusal::Malformed), "{body:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_the_same_however_they_are_cut(
        start in 0usize..SEVERAL.len(),
        noise in prop::collection::vec(any::<u8>(), 0..40),
        at in 0usize..SEVERAL.len(),
        piece in 1usize..50,
    ) {
        let mut bytes = SEVERAL.as_bytes()[start..].to_vec();
        let at = at.min(bytes.len());
        bytes.splice(at..at, noise);
        prop_assert_eq!(read(bytes.chunks(piece)), read([bytes.as_slice()]));
    }
}
