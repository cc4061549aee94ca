use super::*;
use crate::workload::{DeclaredResponse, Request};
use prony_model::Protocol;
use tempfile::TempDir;

fn workload(body: ExpectedBody) -> Workload {
    Workload {
        id: "w".into(),
        title: String::new(),
        about: String::new(),
        origin: None,
        folder: Default::default(),
        request: Request::Http {
            method: "GET".into(),
            path: "/".into(),
            protocol: Protocol::Http11,
        },
        response: DeclaredResponse {
            status: 200,
            content_type: "text/plain".into(),
            body,
            headers: [("Cache-Control".into(), "no-cache".into())].into(),
            log_lines: 0,
        },
    }
}

fn right(body: ExpectedBody) -> ExpectedResponse {
    let assets = TempDir::new().unwrap();
    std::fs::write(assets.path().join("page.html"), "<p>\n\n  one\n</p>\n").unwrap();
    std::fs::write(assets.path().join("quotes.txt"), "haste\nwaste\n\n").unwrap();
    ExpectedResponse::new(&workload(body), assets.path()).unwrap()
}

fn response(body: &str) -> Response {
    Response {
        status: 200,
        headers: vec![
            ("content-type".into(), b"text/plain; charset=utf-8".to_vec()),
            ("cache-control".into(), b"no-cache".to_vec()),
        ],
        body: body.into(),
    }
}

/// How a wrong response is reported: what was expected and what came.
fn mismatch(right: &ExpectedResponse, response: &Response) -> Option<(String, String)> {
    right
        .check(response)
        .err()
        .map(|m| (m.expected, m.received))
}

fn pair(expected: &str, received: &str) -> Option<(String, String)> {
    Some((expected.into(), received.into()))
}

#[test]
fn status_type_and_headers_must_be_the_expected_ones() {
    let hello = right(ExpectedBody::Text("hello\n".into()));
    let good = response("hello\n");
    assert_eq!(mismatch(&hello, &good), None);

    let mut wrong = response("no such page");
    wrong.status = 404;
    assert_eq!(
        mismatch(&hello, &wrong),
        pair("status 200", "status 404 with `no such page`")
    );

    let mut typed = good.clone();
    for same in ["TEXT/Plain", "text/plain ;charset=x"] {
        typed.headers[0].1 = same.into();
        assert_eq!(mismatch(&hello, &typed), None, "{same}");
    }
    typed.headers[0].1 = b"text/html".to_vec();
    let html = pair("content-type text/plain", "content-type text/html");
    assert_eq!(mismatch(&hello, &typed), html);
    typed.headers.remove(0);
    assert_eq!(
        mismatch(&hello, &typed),
        pair("content-type text/plain", "no content-type")
    );

    let mut cached = good.clone();
    cached.headers[1].1 = b"max-age=5".to_vec();
    let expected = "cache-control: no-cache";
    assert_eq!(
        mismatch(&hello, &cached),
        pair(expected, "cache-control: max-age=5")
    );
    cached.headers.pop();
    assert_eq!(
        mismatch(&hello, &cached),
        pair(expected, "no cache-control")
    );
}

#[test]
fn a_text_or_an_asset_must_match_byte_for_byte() {
    let page = right(ExpectedBody::Asset("page.html".into()));
    assert_eq!(page.body_length(), Some(16));
    assert_eq!(mismatch(&page, &response("<p>\n\n  one\n</p>\n")), None);
    for (body, expected, received) in [
        (
            "<p>\n\n  One\n</p>\n",
            r"16 bytes, at byte 7: `one\n</p>\n`",
            r"16 bytes, at byte 7: `One\n</p>\n`",
        ),
        (
            "<p>\n\n  one\n</p>",
            r"16 bytes, at byte 15: `\n`",
            "15 bytes, at byte 15: its end",
        ),
        (
            "",
            r"16 bytes, at byte 0: `<p>\n\n  one\n</p>\n`",
            "0 bytes, at byte 0: nothing",
        ),
    ] {
        assert_eq!(mismatch(&page, &response(body)), pair(expected, received));
    }
    let long = response(&"x".repeat(99));
    let received = format!("99 bytes, at byte 0: `{}…`", "x".repeat(40));
    assert_eq!(mismatch(&page, &long).unwrap().1, received);
}

#[test]
fn a_line_must_be_one_of_the_lines() {
    let quote = right(ExpectedBody::LineOf("quotes.txt".into()));
    assert_eq!(quote.body_length(), None);
    assert_eq!(quote.drawn_lines().map(LineOf::count), Some(2));
    for body in ["haste", "waste\n"] {
        assert_eq!(mismatch(&quote, &response(body)), None, "{body:?}");
    }
    for body in ["", "\n", "haste\n\n", "hast", "haste\nwaste\n", " haste"] {
        let (expected, received) = mismatch(&quote, &response(body)).unwrap();
        assert_eq!(expected, "one of the 2 lines of quotes.txt");
        assert!(
            received.starts_with(&format!("{} bytes: ", body.len())),
            "{received}"
        );
    }
}

#[test]
fn a_patch_must_have_the_lines_of_the_page_in_any_framing() {
    let patch = right(ExpectedBody::DatastarPatchOf("page.html".into()));
    assert_eq!(patch.body_length(), None);
    let good = "event: datastar-patch-elements\ndata: elements <p>\ndata: elements \n\
        data: elements   one\ndata: elements </p>\n\n";
    for framed in [
        good.to_owned(),
        good.replace('\n', "\r\n"),
        good.replace(": ", ":"),
        format!(": hello\nid: 1\n{good}: bye\n"),
    ] {
        assert_eq!(mismatch(&patch, &response(&framed)), None, "{framed:?}");
    }
    for (body, expected, received) in [
        (
            good.replace("patch-elements", "merge-fragments"),
            "an event named datastar-patch-elements",
            "an event named datastar-merge-fragments",
        ),
        (
            good.replace("  one", "one"),
            "4 lines of data, line 3: `elements   one`",
            "4 lines of data, line 3: `elements one`",
        ),
        (
            good.replace("data: elements </p>\n", ""),
            "4 lines of data, line 4: `elements </p>`",
            "3 lines of data, line 4: none",
        ),
        (
            good.replace("</p>\n", "</p>\ndata: elements \n"),
            "4 lines of data, line 5: none",
            "5 lines of data, line 5: `elements `",
        ),
        (good.repeat(2), "one event", "2 events"),
        (String::new(), "one event", "nothing"),
        (
            "event: x\n".to_owned(),
            "one event",
            r"no event that an empty line ends, in 9 bytes: `event: x\n`",
        ),
    ] {
        assert_eq!(
            mismatch(&patch, &response(&body)),
            pair(expected, received),
            "{body:?}"
        );
    }
}

#[test]
fn the_draws_of_a_load_are_counted() {
    let quote = std::sync::Arc::new(right(ExpectedBody::LineOf("quotes.txt".into())));
    let verdict = |bodies: [&str; 2]| {
        let counted = CountedDraws::of(&quote).unwrap();
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..100 {
            let body = bodies[random.usize(..2)];
            counted.check(&response(body)).unwrap();
        }
        assert!(counted.check(&response("hast")).is_err());
        counted.verdict()
    };
    assert_eq!(verdict(["haste", "waste\n"]), Ok(()));
    let one = verdict(["haste", "haste\n"]).unwrap_err();
    assert_eq!(one.received, "drew only 1 of 2 lines in 100 responses");
    assert!(
        one.expected
            .starts_with("a line of quotes.txt drawn uniformly and independently for each request")
    );
    // Too few to test.
    let few = CountedDraws::of(&quote).unwrap();
    (0..19).for_each(|_| few.check(&response("haste")).unwrap());
    assert_eq!(few.verdict(), Ok(()));
    assert!(CountedDraws::of(&right(ExpectedBody::Text("x".into())).into()).is_none());
}

#[test]
fn a_missing_or_empty_asset_is_reported() {
    let assets = TempDir::new().unwrap();
    let made = |body| {
        ExpectedResponse::new(&workload(body), assets.path())
            .unwrap_err()
            .to_string()
    };
    let text = made(ExpectedBody::Asset("gone.html".into()));
    assert!(
        text.contains("gone.html, which workload `w` needs"),
        "{text}"
    );
    std::fs::write(assets.path().join("empty.txt"), "\n\n").unwrap();
    let text = made(ExpectedBody::LineOf("empty.txt".into()));
    assert!(text.contains("empty.txt has no line"), "{text}");
}

#[test]
fn every_expected_response_fits_into_what_is_kept_of_it() {
    let text = right(ExpectedBody::Text("12345".into()));
    assert_eq!(text.longest_body(), 5);
    let quotes = right(ExpectedBody::LineOf("quotes.txt".into()));
    assert_eq!(quotes.longest_body(), 6, "a line feed may follow");
    // Far more than one event needs, and far less than the machine's memory.
    let page = right(ExpectedBody::DatastarPatchOf("page.html".into()));
    assert!((60_000..100_000).contains(&page.longest_body()));
}

#[test]
fn a_wrong_byte_late_in_a_long_line_is_shown_with_its_position() {
    let line = "a".repeat(3000);
    let patch = Patch::of(line.as_bytes());
    let wrong = format!("{}\t{}", &line[..2000], &line[2001..]);
    let body = format!("event: datastar-patch-elements\ndata: elements {wrong}\n\n");
    let mismatch = patch.check(body.as_bytes()).unwrap_err();
    let place = "1 lines of data, line 1, at byte 2009: `";
    assert!(
        mismatch.expected.starts_with(&format!("{place}aaa")),
        "{mismatch:?}"
    );
    assert!(
        mismatch.received.starts_with(&format!("{place}\\taa")),
        "{mismatch:?}"
    );
    assert!(
        mismatch.received.contains("…`, after `…aaa"),
        "{mismatch:?}"
    );
}

#[test]
fn a_stream_must_have_the_same_messages() {
    #[derive(serde::Deserialize)]
    struct File {
        body: ExpectedBody,
    }
    let toml = r#"body = { messages = { count = 3, each = { 1 = "r" } } }"#;
    let stream = right(toml::from_str::<File>(toml).unwrap().body);
    assert_eq!(stream.body_length(), Some(24));
    let message = |text: &str| format!("\0\0\0\0\x03\n\x01{text}");
    let right = message("r").repeat(3);
    assert_eq!(mismatch(&stream, &response(&right)), None);
    let two = message("r").repeat(2);
    for (body, expected, received) in [
        (two.clone(), "3 messages", "2 messages"),
        (String::new(), "3 messages", "0 messages"),
        (message("r").repeat(4), "3 messages", "4 messages"),
        (
            format!("{two}{}", message("q")),
            r"message 3: 3 bytes, at byte 2: `r`",
            r"message 3: 3 bytes, at byte 2: `q`",
        ),
        (
            format!("{two}\0\0\0\0\x03\n\x01"),
            "3 messages",
            r"2 messages, then 7 bytes that are not a whole uncompressed message: `\x00\x00\x00\x00\x03\n\x01`",
        ),
        (
            format!("{two}\x01\0\0\0\x03\n\x01r"),
            "3 messages",
            r"2 messages, then 8 bytes that are not a whole uncompressed message: `\x01\x00\x00\x00\x03\n\x01r`",
        ),
    ] {
        let wrong = pair(expected, received);
        assert_eq!(mismatch(&stream, &response(&body)), wrong);
    }
}
