use super::*;
use crate::request::{HttpRequest, Request};
use crate::workload::{Workload, WorkloadKind};
use prony_model::Protocol;
use prony_testkit::table::rows;
use tempfile::TempDir;

fn files(assets: &std::path::Path) -> Files {
    Files::new("no/such/folder", assets)
}

fn workload(body: ExpectedBody) -> Workload {
    Workload {
        id: "w".into(),
        title: String::new(),
        about: String::new(),
        origin: None,
        folder: Default::default(),
        values: None,
        kind: WorkloadKind::Request {
            request: Request::Http(HttpRequest::new("GET", "/", Protocol::Http11)),
            response: DeclaredResponse {
                content_type: Some("text/plain".into()),
                body: Some(body),
                headers: [("Cache-Control".into(), "no-cache".into())].into(),
                ..DeclaredResponse::new(Status::OK)
            },
        },
    }
}

fn right(body: ExpectedContent) -> ExpectedResponse {
    expected(body.into())
}

fn expected(body: ExpectedBody) -> ExpectedResponse {
    let assets = TempDir::new().unwrap();
    std::fs::write(assets.path().join("page.html"), "<p>\n\n  one\n</p>\n").unwrap();
    std::fs::write(assets.path().join("quotes.txt"), "haste\nwaste\n\n").unwrap();
    ExpectedResponse::new(workload(body).exchange().unwrap(), &files(assets.path())).unwrap()
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

/// The same check, as another host has it.
fn rebuilt(right: &ExpectedResponse) -> ExpectedResponse {
    let portable = right.portable().unwrap();
    let text = serde_json::to_string(&portable).unwrap();
    let read: Portable = serde_json::from_str(&text).unwrap();
    let rebuilt = ExpectedResponse::rebuild(&read).unwrap();
    assert!(rebuilt.portable().unwrap() == portable, "{text}");
    assert_eq!(rebuilt.statuses(), right.statuses());
    assert_eq!(rebuilt.body(), right.body());
    assert_eq!(rebuilt.body_length(), right.body_length());
    assert_eq!(rebuilt.longest_body(), right.longest_body());
    rebuilt
}

/// How a wrong response is reported, here and on other hosts: what was expected and what came.
fn mismatch(right: &ExpectedResponse, response: &Response) -> Option<(String, String)> {
    let found = right.check(response);
    assert_eq!(rebuilt(right).check(response), found);
    found.err().map(|m| (m.expected, m.received))
}

fn pair(expected: &str, received: &str) -> Option<(String, String)> {
    Some((expected.into(), received.into()))
}

#[test]
fn status_type_and_headers_must_be_the_expected_ones() {
    let hello = right(ExpectedContent::Text("hello\n".into()));
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
    let page = right(ExpectedContent::Asset("page.html".into()));
    assert_eq!(page.body_length(), Some(16));
    assert_eq!(mismatch(&page, &response("<p>\n\n  one\n</p>\n")), None);
    for [body, expected, received] in rows(
        r#"
        <p>\n\n  One\n</p>\n | 16 bytes, at byte 7: `one\\n</p>\\n` | 16 bytes, at byte 7: `One\\n</p>\\n`
        <p>\n\n  one\n</p> | 16 bytes, at byte 15: `\\n` | 15 bytes, at byte 15: its end
        "" | 16 bytes, at byte 0: `<p>\\n\\n  one\\n</p>\\n` | 0 bytes, at byte 0: nothing
    "#,
    ) {
        assert_eq!(mismatch(&page, &response(body)), pair(expected, received));
    }
    let long = response(&"x".repeat(99));
    let received = format!("99 bytes, at byte 0: `{}…`", "x".repeat(40));
    assert_eq!(mismatch(&page, &long).unwrap().1, received);
}

#[test]
fn a_line_must_be_one_of_the_lines() {
    let quote = right(ExpectedContent::LineOf("quotes.txt".into()));
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
    let patch = right(ExpectedContent::DatastarPatchOf("page.html".into()));
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
    let quote = std::sync::Arc::new(right(ExpectedContent::LineOf("quotes.txt".into())));
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
    assert!(few.has_counted());
    assert!(CountedDraws::of(&right(ExpectedContent::Text("x".into())).into()).is_none());
}

#[test]
fn the_draws_on_other_hosts_are_not_counted() {
    let quote = std::sync::Arc::new(right(ExpectedContent::LineOf("quotes.txt".into())));
    let counted = CountedDraws::of(&quote).unwrap();
    assert!(counted.portable() == quote.portable());
    let elsewhere = ExpectedResponse::rebuild(&counted.portable().unwrap()).unwrap();
    (0..1000).for_each(|_| elsewhere.check(&response("haste")).unwrap());
    assert!(!counted.has_counted());
    assert_eq!(counted.verdict(), Ok(()));
}

#[test]
fn a_damaged_expected_response_is_refused_with_the_reason() {
    let right = right(ExpectedContent::LineOf("quotes.txt".into()));
    let portable = right.portable().unwrap();
    let line_of = serde_json::json!({"file": "f", "lines": ["Yg==", "YQ=="], "shares": [0.5, 0.5]});
    let messages = serde_json::json!({"each": "YQ==", "count": u32::MAX});
    for (pointer, value, reason) in [
        ("/statuses", serde_json::json!([]), "it has no status"),
        (
            "/body/content",
            serde_json::json!({ "line-of": line_of }),
            "its lines are no lines of a file",
        ),
        (
            "/body/content",
            serde_json::json!({ "messages": messages }),
            "at most 67108864 are allowed",
        ),
        (
            "/body/size",
            serde_json::json!({"min": 2, "max": 1}),
            "`min` is 2",
        ),
        ("/body/json", "{".into(), "is not JSON"),
        (
            "/body/matches",
            serde_json::json!(["("]),
            "is not a regular expression",
        ),
        (
            "/body/json_path",
            serde_json::json!([{"path": "a", "tests": []}]),
            "is not a JSONPath",
        ),
        (
            "/body/schema",
            serde_json::json!({"name": "s", "schema": "{\"type\": 1}"}),
            "is not valid",
        ),
        (
            "/accepted",
            serde_json::json!(["lzma"]),
            "unknown variant `lzma`",
        ),
        ("/secrets", 1.into(), "invalid type"),
    ] {
        let mut damaged = portable.clone();
        *damaged.content.pointer_mut(pointer).unwrap() = value;
        let told = ExpectedResponse::rebuild(&damaged).unwrap_err().to_string();
        assert!(told.contains(reason), "{pointer}: {told}");
        assert!(
            told.starts_with("the `expected-response` of the plan is damaged"),
            "{told}"
        );
    }
}

#[test]
fn a_missing_or_empty_asset_is_reported() {
    let assets = TempDir::new().unwrap();
    let made = |body: ExpectedContent| {
        ExpectedResponse::new(
            workload(body.into()).exchange().unwrap(),
            &files(assets.path()),
        )
        .unwrap_err()
        .to_string()
    };
    let text = made(ExpectedContent::Asset("gone.html".into()));
    assert!(
        text.contains("gone.html, which workload `w` needs"),
        "{text}"
    );
    std::fs::write(assets.path().join("empty.txt"), "\n\n").unwrap();
    let text = made(ExpectedContent::LineOf("empty.txt".into()));
    assert!(text.contains("empty.txt has no line"), "{text}");
}

#[test]
fn every_expected_response_fits_into_what_is_kept_of_it() {
    let text = right(ExpectedContent::Text("12345".into()));
    assert_eq!(text.longest_body(), 5);
    let quotes = right(ExpectedContent::LineOf("quotes.txt".into()));
    assert_eq!(quotes.longest_body(), 6, "a line feed may follow");
    // Far more than one event needs, and far less than the machine's memory.
    let page = right(ExpectedContent::DatastarPatchOf("page.html".into()));
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
    let stream = expected(toml::from_str::<File>(toml).unwrap().body);
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

fn declared(body: &str) -> Result<ExpectedBody, String> {
    let response = toml::from_str::<DeclaredResponse>(&format!("status = 200\nbody = {body}"));
    response
        .map(|response| response.body.unwrap())
        .map_err(|error| error.message().to_owned())
}

/// What Prony reports of a response with this body, if the expected body is declared like that.
fn told(body: &str, received: &str) -> String {
    let right = expected(declared(body).unwrap_or_else(|error| panic!("{body}: {error}")));
    let result = right.check(&response(received));
    result.map_or_else(|mismatch| mismatch.to_string(), |()| String::new())
}

#[test]
fn every_rule_of_a_body_is_checked() {
    let body = "{ json_path = { \"$.id\" = { matches = \"^[0-9a-f]+$\" }, \"$.n\" = 3 }, \
                schema = { type = \"object\", properties = { n = { maximum = 5 } } }, \
                contains = [\"id\", \"n\"], matches = \"\\\"n\\\": *3\", size = { max = 40 } }";
    assert_eq!(told(body, r#"{"id": "0af", "n": 3}"#), "");
    for [received, message] in rows(
        r#"
        {"id": "xyz", "n": 3} | expected $.id to match `^[0-9a-f]+$`, got $.id = "xyz"
        {"id": "0af"} | expected $.n = 3, got no $.n
        {"id": "0af", "n": 3, "x": [1,2,3,4,5,6]} | expected a body of at most 40 bytes bytes, got more than 40 bytes
        <p>no</p> | expected a JSON body, got 9 bytes that are not JSON (expected value at line 1 column 1): `<p>no</p>`
        "" | expected a JSON body, got 0 bytes that are not JSON (EOF while parsing a value at line 1 column 0): nothing
    "#,
    ) {
        assert_eq!(
            told(body, received),
            message.replace("bytes bytes", "bytes")
        );
    }
    for (body, received, message) in [
        (
            "{ contains = \"b\" }",
            "aaa",
            "expected a body that contains `b`, got 3 bytes: `aaa`",
        ),
        (
            "{ matches = \"^b\" }",
            "ab",
            "expected a body that matches `^b`, got 2 bytes: `ab`",
        ),
        (
            "{ size = 3 }",
            "ab",
            "expected a body of 3 bytes, got 2 bytes",
        ),
        (
            "{ size = { min = 3 } }",
            "ab",
            "expected a body of at least 3 bytes, got 2 bytes",
        ),
        (
            "{ size = { min = 3, max = 5 } }",
            "ab",
            "expected a body of 3 to 5 bytes, got 2 bytes",
        ),
        (
            "{ json = { a = [1, 2] } }",
            "{\"a\": [1, 3]}",
            "expected $.a[1] = 2, got $.a[1] = 3",
        ),
        (
            "{ schema = { properties = { age = { type = \"integer\" } } } }",
            "{\"age\": \"x\"}",
            "expected JSON that satisfies the schema: $.age is not of type \"integer\", got $.age = \"x\"",
        ),
        (
            "{ text = \"abc\", contains = \"x\" }",
            "abc",
            "expected a body that contains `x`, got 3 bytes: `abc`",
        ),
        ("{ text = \"abc\", contains = \"b\" }", "abc", ""),
    ] {
        assert_eq!(told(body, received), message);
    }
}

#[test]
fn an_expected_body_that_makes_no_sense_is_refused() {
    for [body, expected] in rows(
        r#"
        {} | the expected body is empty
        { text = "a", asset = "b" } | `text` and `asset` both say what the whole body is
        { json_pth = {} } | unknown field `json_pth`
        { matches = "a(" } | `a(` is not a regular expression: unclosed group
        { matches = "(a{1000}){1000}" } | is not a regular expression:\u{20}
        { json_path = { "$.a[" = 1 } } | `$.a[` is not a JSONPath:\u{20}
        { schema = { type = "no such type" } } | this is not a JSON Schema:\u{20}
        { schema = { "$ref" = "http://127.0.0.1:1/schema.json" } } | this is not a JSON Schema:\u{20}
        { schema = 3 } | a schema is the name of a file, or a table
        { size = -1 } | a number below 0 is no amount
        { size = {} } | write `min`, `max` or both
        { contains = [] } | the list is empty
        { json = '[1,' } | is not JSON
    "#,
    ) {
        let error = declared(body).map(|_| ()).unwrap_err();
        assert!(
            error.contains(expected),
            "{body}: {error}\nlacks {expected}"
        );
    }
    for (status, expected) in [
        ("99", "99 is not a final status"),
        ("[]", "the list is empty"),
        ("[200, 600]", "600 is not a final status"),
    ] {
        let error = toml::from_str::<DeclaredResponse>(&format!("status = {status}")).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    assert_eq!(told("{ schema = { \"$ref\" = \"#\" } }", "[[1]]"), "");
    let tree = "{ schema = { properties = { next = { \"$ref\" = \"#\" } }, required = [\"v\"] } }";
    assert_eq!(told(tree, r#"{"v": 1, "next": {"v": 2}}"#), "");
    assert_eq!(
        told(tree, r#"{"v": 1, "next": {}}"#),
        "expected JSON that satisfies the schema: \"v\" is a required property, got $.next = {}"
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(told("{ json = [] }", &deep).contains("recursion limit exceeded"));
}

#[test]
fn a_schema_may_be_in_a_file() {
    let folder = TempDir::new().unwrap();
    let schema = |content: &str| {
        std::fs::write(folder.path().join("schema.json"), content).unwrap();
        let body = declared("{ schema = \"schema.json\" }").unwrap();
        let files = Files::new(folder.path(), "no/such/folder");
        let right = ExpectedResponse::new(workload(body).exchange().unwrap(), &files);
        right.map_err(|error| error.to_string())
    };
    let right = schema("{\"type\": \"array\"}").unwrap();
    assert_eq!(mismatch(&right, &response("[]")), None);
    assert_eq!(
        mismatch(&right, &response("{}")),
        pair(
            "JSON that satisfies the schema schema.json: $ is not of type \"array\"",
            "$ = {}"
        )
    );
    for (content, expected) in [
        (
            "",
            "schema.json is not a JSON Schema, and workload `w` needs one: EOF while parsing",
        ),
        (
            "{\"type\": 3}",
            "schema.json is not a JSON Schema, and workload `w` needs one: ",
        ),
    ] {
        let error = schema(content).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_file(folder.path().join("schema.json")).unwrap();
    let body = declared("{ schema = \"schema.json\" }").unwrap();
    let files = Files::new(folder.path(), "no/such/folder");
    let error = ExpectedResponse::new(workload(body).exchange().unwrap(), &files)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("schema.json, which workload `w` needs: No such file"),
        "{error}"
    );
}

#[test]
fn one_of_several_statuses_is_right() {
    let workload = workload(ExpectedContent::Text("x".into()).into());
    let response_of_several = toml::from_str("status = [201, 404]").unwrap();
    let exchange = Exchange {
        response: &response_of_several,
        ..workload.exchange().unwrap()
    };
    let right = ExpectedResponse::new(exchange, &files("".as_ref())).unwrap();
    assert_eq!((right.status(), right.statuses()), (None, vec![201, 404]));
    let with = |status| Response {
        status,
        ..response("x")
    };
    assert_eq!(mismatch(&right, &with(404)), None);
    let wrong = pair("status 201 or 404", "status 200 with `x`");
    assert_eq!(mismatch(&right, &with(200)), wrong);
}

fn requested(body: &str, lines: &str) -> ExpectedResponse {
    let text = format!(
        "[request]\nmethod = \"GET\"\npath = \"/\"\n{lines}\n[response]\nstatus = 200\nbody = {body}\n"
    );
    let workload: Workload = toml::from_str(&text).unwrap();
    let files = files("".as_ref());
    let request = PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
    ExpectedResponse::new(workload.exchange().unwrap(), &files)
        .unwrap()
        .to(&request)
}

#[test]
fn a_compressed_body_is_decoded_before_it_is_compared() {
    // `hello\n` in a block of deflate that is not compressed.
    let deflated = b"\x01\x06\x00\xf9\xffhello\n".to_vec();
    let compressed = |body: &[u8]| Response {
        headers: vec![("content-encoding".into(), b"deflate".to_vec())],
        body: body.to_vec(),
        status: 200,
    };
    let right = requested("{ text = \"hello\\n\" }", "compressed = true");
    assert_eq!(mismatch(&right, &compressed(&deflated)), None);
    assert_eq!(mismatch(&right, &response("hello\n")), None);
    assert_eq!((right.body(), right.body_length()), (None, None));
    assert!(
        right.longest_body() > 1000,
        "a compressed body may be longer"
    );
    let broken = mismatch(&right, &compressed(&deflated[..7])).unwrap();
    assert_eq!(broken.0, "a body that deflate can decode");
    let wrong = requested("{ text = \"help!\\n\" }", "compressed = true");
    let (_, received) = mismatch(&wrong, &compressed(&deflated)).unwrap();
    assert_eq!(received, "6 bytes, at byte 3: `lo\\n`");
    let plain = requested("{ text = \"hello\\n\" }", "");
    assert_eq!(plain.body(), Some(&b"hello\n"[..]));
    assert_eq!(
        mismatch(&plain, &compressed(&deflated)),
        pair(
            "no content-encoding, because the request accepts none",
            "content-encoding deflate"
        )
    );
}

#[test]
fn a_mismatch_shows_no_secret() {
    let auth = "basic_auth = { user = \"ann\", password = \"swordfish\" }";
    let right = requested("{ text = \"hello\" }", auth);
    assert_eq!((right.body(), right.body_length()), (None, None));
    for body in [
        "your password is swordfish",
        "you sent YW5uOnN3b3JkZmlzaA== there",
        // Messages show 40 bytes, which end within the secret.
        "this response has a password in it: swordfish",
    ] {
        let (_, received) = mismatch(&right, &response(body)).unwrap();
        assert!(received.contains("***"), "{received}");
        assert!(
            !received.contains("swordf") && !received.contains("YW5u"),
            "{received}"
        );
        let mut wrong = response(body);
        wrong.status = 401;
        let (_, received) = mismatch(&right, &wrong).unwrap();
        assert!(
            received.contains("***") && !received.contains("swordf"),
            "{received}"
        );
    }
}
