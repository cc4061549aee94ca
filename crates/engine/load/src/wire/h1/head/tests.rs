use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Option<(Head, usize)>, Malformed> {
    Head::read(text.as_bytes(), RequestKind::Plain)
}

fn framing(text: &str) -> Framing {
    read(text).unwrap().unwrap().0.framing
}

#[test]
fn the_head_ends_at_its_empty_line() {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let (head, length) = read(text).unwrap().unwrap();
    assert_eq!(&text[length..], "hello");
    assert_eq!(head.status, 200);
    assert_eq!(head.framing, Framing::Length(5));
    assert!(head.keep_alive);
}

#[test]
fn the_body_is_framed_as_rfc_9112_says() {
    let chunked_wins =
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: gzip, chunked\r\n\r\n";
    assert_eq!(framing(chunked_wins), Framing::Chunked);
    assert_eq!(framing("HTTP/1.1 200 OK\r\n\r\n"), Framing::UntilClose);
    let coded = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\ncontent-length: 3\r\n\r\n";
    assert_eq!(framing(coded), Framing::UntilClose);
    for status in [100, 199, 204, 304] {
        let text = format!("HTTP/1.1 {status} x\r\ncontent-length: 9\r\n\r\n");
        assert_eq!(framing(&text), Framing::Length(0));
    }
    let text = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n";
    let (to_head, _) = Head::read(text, RequestKind::Head).unwrap().unwrap();
    assert_eq!(to_head.framing, Framing::Length(0));
}

#[test]
fn version_and_fields_decide_whether_the_connection_stays() {
    let keeps = |text: &str| read(text).unwrap().unwrap().0.keep_alive;
    assert!(keeps("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    assert!(!keeps("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
    assert!(keeps(
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 0\r\n\r\n"
    ));
    assert!(!keeps(
        "HTTP/1.1 200 OK\r\nconnection: upgrade, CLOSE\r\ncontent-length: 0\r\n\r\n"
    ));
    assert!(!keeps("HTTP/1.1 200 OK\r\n\r\n"));
}

#[test]
fn a_higher_minor_version_is_read_as_the_highest_known() {
    let head = |version: &str| {
        let text = format!("HTTP/{version} 200 OK\r\ncontent-length: 0\r\n\r\n");
        read(&text).map(|read| read.unwrap().0)
    };
    assert_eq!(head("1.2"), head("1.1"));
    assert_eq!(head("1.9"), head("1.1"));
    assert!(!head("1.0").unwrap().keep_alive);
    for version in ["1.10", "1.", "1.x", "2.0", "0.9", "01.1", "1.01"] {
        assert_eq!(head(version), Err(Malformed::StatusLine), "{version}");
    }
}

#[test]
fn a_folded_line_continues_the_previous_field() {
    let fold = |lines: &str| read(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n"));
    let framing = |lines: &str| fold(lines).unwrap().unwrap().0.framing;
    assert_eq!(framing("Content-Length:\r\n 5"), Framing::Length(5));
    assert_eq!(
        framing("Content-Length: 5\r\n\t\r\nX: y"),
        Framing::Length(5)
    );
    assert_eq!(framing("Content-Length: 5\n\r\n"), Framing::Length(5));
    assert_eq!(
        framing("Transfer-Encoding: gzip,\r\n  chunked"),
        Framing::Chunked
    );
    // The fold is a space, so these are several words.
    assert_eq!(
        framing("Transfer-Encoding: chun\r\n ked"),
        Framing::UntilClose
    );
    assert_eq!(
        framing("Transfer-Encoding: chunked\r\n  abc"),
        Framing::UntilClose
    );
    assert_eq!(
        fold("Content-Length: 1\r\n 2"),
        Err(Malformed::ContentLength)
    );
    // What looks like a field is part of the value before it.
    assert_eq!(framing("X: y\r\n Content-Length: 5"), Framing::UntilClose);
    assert!(
        !fold("Connection:\r\n close\r\nContent-Length: 1")
            .unwrap()
            .unwrap()
            .0
            .keep_alive
    );
    assert_eq!(
        fold(" X: y"),
        Err(Malformed::HeaderLine),
        "there is no field to continue"
    );
}

#[test]
fn a_transfer_encoding_in_http_1_0_closes_the_connection() {
    let head = |version: &str| {
        let text = format!(
            "HTTP/{version} 200 OK\r\nConnection: keep-alive\r\ntransfer-encoding: chunked\r\n\
             content-length: 3\r\n\r\n"
        );
        let head = read(&text).unwrap().unwrap().0;
        (head.framing, head.keep_alive)
    };
    assert_eq!(head("1.1"), (Framing::Chunked, true));
    assert_eq!(head("1.0"), (Framing::Chunked, false));
}

#[test]
fn a_2xx_to_connect_has_no_body_and_opens_a_tunnel() {
    let head = |status: u16, kind| {
        let text = format!("HTTP/1.1 {status} x\r\ncontent-length: 9\r\n\r\n");
        let head = Head::read(text.as_bytes(), kind).unwrap().unwrap().0;
        (head.framing, head.keep_alive)
    };
    for status in [200, 299] {
        assert_eq!(
            head(status, RequestKind::Connect),
            (Framing::Length(0), false)
        );
        assert_eq!(head(status, RequestKind::Plain), (Framing::Length(9), true));
    }
    assert_eq!(head(404, RequestKind::Connect), (Framing::Length(9), true));
}

#[test]
fn forbidden_bytes_are_refused() {
    for line in ["X: a\rb", "X: a\0b", "X\0: a", "X: a\r\r", "X: a\r\n b\rc"] {
        let text = format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n");
        assert_eq!(read(&text), Err(Malformed::HeaderLine), "{line:?}");
    }
    for line in ["HTTP/1.1 200 O\rK", "HTTP/1.1 200 O\0K", "HTTP/1.1 200\r"] {
        let text = format!("{line}\r\n\r\n");
        assert_eq!(read(&text), Err(Malformed::StatusLine), "{line:?}");
    }
}

#[test]
fn a_settings_frame_is_named() {
    let settings = b"\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x0a\0\x04\0\x01\0\0";
    for length in 0..=settings.len() {
        let expected = if length < 9 {
            Ok(None)
        } else {
            Err(OtherProtocol::Http2.into())
        };
        let read = Head::read(&settings[..length], RequestKind::Plain);
        assert_eq!(read, expected, "{length}");
    }
    assert_eq!(read("\0\0\x06\x06"), Err(Malformed::StatusLine));
}

/// However it is split, and even if its last byte, the reason, is a line feed.
#[test]
fn a_tls_alert_is_named() {
    let alert = b"\x15\x03\x01\0\x02\x02\n";
    for length in 2..=alert.len() {
        let read = Head::read(&alert[..length], RequestKind::Plain);
        assert_eq!(read, Err(OtherProtocol::Tls.into()), "{length}");
    }
    assert_eq!(read("\x15"), Ok(None));
    for other in ["\x15\n", "\x15\x04", "\x16\x03", "\x16"] {
        assert_eq!(read(other), Err(Malformed::StatusLine), "{other:?}");
    }
}

#[test]
fn an_invalid_head_is_refused_at_once() {
    assert_eq!(read("SSH-2.0"), Err(Malformed::StatusLine));
    assert_eq!(read("HTTP/2 200\r\n"), Err(Malformed::StatusLine));
    assert_eq!(read("HTTP/1.1 2000 OK\r\n"), Err(Malformed::StatusLine));
    assert_eq!(
        read("HTTP/1.1 200 OK\r\nno colon\r\n"),
        Err(Malformed::HeaderLine)
    );
    let empty_after_another = "1\r\ncontent-length: ,";
    for length in [
        "x",
        "-1",
        "",
        "99999999999999999999",
        "1, 2",
        "1 2",
        "1\u{c}",
        "\u{b}1",
        "+1",
        "0x1",
        empty_after_another,
    ] {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        assert_eq!(read(&text), Err(Malformed::ContentLength), "{length:?}");
    }
    assert_eq!(
        framing("HTTP/1.1 200 OK\r\ncontent-length: 7, 7\r\n\r\n"),
        Framing::Length(7)
    );
}

fn field() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("Content-Length: 12".to_owned()),
        Just("content-length:0".to_owned()),
        Just("Transfer-Encoding: chunked".to_owned()),
        Just("Connection: close".to_owned()),
    ];
    let folded = prop_oneof![
        Just("Content-Length:\r\n 12".to_owned()),
        Just("Transfer-Encoding: gzip,\r\n\tchunked".to_owned()),
        "[A-Za-z][A-Za-z0-9-]{0,20}: [ -~]{0,20}\r\n[ \t]{1,3}[!-~]{0,20}",
    ];
    prop_oneof![
        2 => known,
        1 => folded,
        4 => "[A-Za-z][A-Za-z0-9-]{0,20}: ?[ -~]{0,40}",
    ]
}

proptest! {
    /// Heads that httparse reads have the same status and length here.
    #[test]
    fn heads_are_read_as_by_httparse(
        status in 100u16..=999,
        minor in 0u8..=1,
        reason in "[ -~]{0,20}",
        fields in prop::collection::vec(field(), 0..8),
    ) {
        let text = format!("HTTP/1.{minor} {status} {reason}\r\n{}\r\n",
            fields.iter().map(|field| format!("{field}\r\n")).collect::<String>());
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut theirs = httparse::Response::new(&mut headers);
        let mut config = httparse::ParserConfig::default();
        config.allow_obsolete_multiline_headers_in_responses(true);
        let parsed = config.parse_response(&mut theirs, text.as_bytes());
        if let Ok(httparse::Status::Complete(length)) = parsed {
            match read(&text) {
                Ok(Some((head, ours))) => {
                    prop_assert_eq!(ours, length);
                    prop_assert_eq!(Some(head.status), theirs.code);
                }
                // httparse does not check the values.
                other => prop_assert_eq!(other, Err(Malformed::ContentLength)),
            }
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Head::read(&bytes, RequestKind::Plain);
    }
}
