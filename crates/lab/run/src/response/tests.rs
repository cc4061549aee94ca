use prony_testkit::table::{refused, rows};
use prony_testkit::{contains, lacks, starts_with};
use prony_traffic::Response;
use prony_traffic::expected::CountedDraws;
use tempfile::TempDir;

use super::*;
use crate::workload::Workload;

/// The response that a workload expects whose tables have these lines, beside some files.
fn requested(request: &str, response: &str) -> Result<Expected, String> {
    let folder = TempDir::new().unwrap();
    for (name, content) in [
        ("page.html", "<p>\n\n  one\n</p>\n"),
        ("quotes.txt", "haste\nwaste\n\n"),
        ("empty.txt", "\n\n"),
        ("list.json", "{\"type\": \"array\"}"),
        ("empty.json", ""),
        ("three.json", "{\"type\": 3}"),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let text =
        format!("[request]\nmethod = \"GET\"\npath = \"/\"\n{request}\n[response]\n{response}\n");
    let workload: Workload = toml::from_str(&text).map_err(|error| error.to_string())?;
    let workload = workload.named("w".into(), folder.path());
    let files = Files::new(folder.path(), folder.path());
    let request = PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
    let expected = workload.exchange().unwrap().expected_of(&request, &files);
    expected.map_err(|error| error.to_string())
}

/// The expected response with this body, as plain text that is not cached.
fn declared(body: &str) -> Result<Expected, String> {
    let headers = "headers = { Cache-Control = \"no-cache\" }";
    let lines = format!("status = 200\ncontent_type = \"text/plain\"\n{headers}\nbody = {body}");
    requested("", &lines)
}

fn right(body: &str) -> Expected {
    declared(body).unwrap()
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

fn with_status(status: u16, body: &str) -> Response {
    Response {
        status,
        ..response(body)
    }
}

/// The same check, as another host has it.
fn elsewhere(right: &Expected) -> Expected {
    let text = serde_json::to_string(right).unwrap();
    let read: Expected = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.exact_body(), right.exact_body());
    let lengths = [&read, right].map(|one| (one.body_length(), one.longest_body()));
    assert_eq!(lengths[0], lengths[1]);
    read
}

/// How a wrong response is reported, here and on other hosts; empty for the right one.
fn mismatch(right: &Expected, response: &Response) -> String {
    let found = right.check(response);
    assert_eq!(elsewhere(right).check(response), found);
    found.map_or_else(|mismatch| mismatch.to_string(), |()| String::new())
}

#[test]
fn type_and_headers_must_be_the_expected_ones() {
    for [content_type, cache, message] in rows(
        r#"
        text/plain; charset=utf-8 | no-cache | ""
        TEXT/Plain | no-cache | ""
        text/plain ;charset=x | no-cache | ""
        text/plain; charset="US-ASCII" | No-Cache, no-transform | ""
        text/plain; charset=iso-8859-1 | max-age=0,no-cache | ""
        text/plain; charset=utf-16 | no-cache | expected charset=utf-8, as in the body, got content-type text/plain; charset=utf-16
        text/plain; format=flowed; charset=UTF-16LE | no-cache | expected charset=utf-8, as in the body, got content-type text/plain; format=flowed; charset=UTF-16LE
        text/plain | no-cached, no-transform | expected cache-control: no-cache, got cache-control: no-cached, no-transform
        text/html | no-cache | expected content-type text/plain, got content-type text/html
        "" | no-cache | expected content-type text/plain, got no content-type
        text/plain | max-age=5 | expected cache-control: no-cache, got cache-control: max-age=5
        text/plain | "" | expected cache-control: no-cache, got no cache-control
        "#,
    ) {
        let headers = [("content-type", content_type), ("cache-control", cache)].into_iter();
        let headers = headers.filter(|(_, value)| !value.is_empty());
        let sent = Response {
            headers: headers
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            ..response("hello\n")
        };
        assert_eq!(mismatch(&right("{ text = \"hello\\n\" }"), &sent), message);
    }
}

#[test]
fn the_status_must_be_an_expected_one() {
    let one = requested("", "status = 200").unwrap();
    assert_eq!(one.statuses, [200]);
    assert_eq!(mismatch(&one, &with_status(200, "x")), "");
    let wrong = "expected status 200, got 404: x";
    assert_eq!(mismatch(&one, &with_status(404, "x")), wrong);
    let several = requested("", "status = [201, 404]").unwrap();
    assert_eq!(several.statuses, [201, 404]);
    assert_eq!(mismatch(&several, &with_status(404, "x")), "");
    let wrong = "expected status 201 or 404, got 200: x";
    assert_eq!(mismatch(&several, &with_status(200, "x")), wrong);
    refused(
        |status| requested("", &format!("status = {status}")),
        r#"
        99 | 99 is not a final status
        [] | the list is empty
        [200, 600] | 600 is not a final status
        "#,
    );
}

#[test]
fn every_rule_of_a_body_is_checked() {
    let many = "{ json_path = { \"$.id\" = { matches = \"^[0-9a-f]+$\" }, \"$.n\" = 3 }, \
                schema = { type = \"object\", properties = { n = { maximum = 5 } } }, \
                contains = [\"id\", \"n\"], matches = \"\\\"n\\\": *3\", size = { max = 40 } }";
    for [body, received, message] in rows(
        r##"
        MANY | {"id": "0af", "n": 3} | ""
        MANY | {"id": "xyz", "n": 3} | expected $.id to match `^[0-9a-f]+$`, got $.id = "xyz"
        MANY | {"id": "0af"} | expected $.n = 3, got no $.n
        MANY | {"id": "0af", "n": 3, "x": [1,2,3,4,5,6]} | expected a body of at most 40 bytes, got more than 40 bytes
        MANY | <p>no</p> | expected a JSON body, got 9 bytes that are not JSON (expected value at line 1 column 1): `<p>no</p>`
        MANY | "" | expected a JSON body, got 0 bytes that are not JSON (EOF while parsing a value at line 1 column 0): nothing
        { contains = "b" } | aaa | expected a body that contains `b`, got 3 bytes: `aaa`
        { matches = "^b" } | ab | expected a body that matches `^b`, got 2 bytes: `ab`
        { size = 3 } | ab | expected a body of 3 bytes, got 2 bytes
        { size = { min = 3 } } | ab | expected a body of at least 3 bytes, got 2 bytes
        { size = { min = 3, max = 5 } } | ab | expected a body of 3 to 5 bytes, got 2 bytes
        { json = { a = [1, 2] } } | {"a": [1, 3]} | expected $.a[1] = 2, got $.a[1] = 3
        { schema = { properties = { age = { type = "integer" } } } } | {"age": "x"} | expected JSON that satisfies the schema: $.age is not of type "integer", got $.age = "x"
        { text = "abc", contains = "x" } | abc | expected a body that contains `x`, got 3 bytes: `abc`
        { text = "abc", contains = "b" } | abc | ""
        { schema = { "$ref" = "#" } } | [[1]] | ""
        { schema = { properties = { next = { "$ref" = "#" } }, required = ["v"] } } | {"v": 1, "next": {"v": 2}} | ""
        { schema = { properties = { next = { "$ref" = "#" } }, required = ["v"] } } | {"v": 1, "next": {}} | expected JSON that satisfies the schema: "v" is a required property, got $.next = {}
        { schema = "list.json" } | [] | ""
        { schema = "list.json" } | {} | expected JSON that satisfies the schema list.json: $ is not of type "array", got $ = {}
        { asset = "page.html" } | <p>\n\n  one\n</p>\n | ""
        { asset = "page.html" } | <p>\n\n  One\n</p>\n | expected 16 bytes, at byte 7: `one\\n</p>\\n`, got 16 bytes, at byte 7: `One\\n</p>\\n`
        { asset = "page.html" } | <p>\n\n  one\n</p> | expected 16 bytes, at byte 15: `\\n`, got 15 bytes, at byte 15: its end
        { asset = "page.html" } | "" | expected 16 bytes, at byte 0: `<p>\\n\\n  one\\n</p>\\n`, got 0 bytes, at byte 0: nothing
        { line_of = "quotes.txt" } | haste | ""
        { line_of = "quotes.txt" } | waste\n | ""
        "##,
    ) {
        let body = body.replace("MANY", many);
        assert_eq!(
            mismatch(&right(&body), &response(received)),
            message,
            "{body}"
        );
    }
    let long = mismatch(
        &right("{ asset = \"page.html\" }"),
        &response(&"x".repeat(99)),
    );
    contains(
        &long,
        &format!("got 99 bytes, at byte 0: `{}…`", "x".repeat(40)),
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = mismatch(&right("{ json = [] }"), &response(&deep));
    contains(&deep, "recursion limit exceeded");
    for body in ["", "\n", "haste\n\n", "hast", "haste\nwaste\n", " haste"] {
        let shown = mismatch(&right(QUOTE), &response(body));
        let count = body.len();
        starts_with(
            &shown,
            &format!("expected one of the 2 lines of quotes.txt, got {count} bytes: "),
        );
    }
}

#[test]
fn an_expected_body_that_makes_no_sense_is_refused() {
    refused(
        declared,
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
        { schema = "none.json" } | none.json, which workload `w` needs: No such file
        { schema = "empty.json" } | empty.json is not a JSON Schema, and workload `w` needs one: EOF while parsing
        { schema = "three.json" } | three.json is not a JSON Schema, and workload `w` needs one:\u{20}
        { asset = "gone.html" } | gone.html, which workload `w` needs
        { line_of = "empty.txt" } | empty.txt has no line
        "#,
    );
}

#[test]
fn a_patch_must_have_the_lines_of_the_page_in_any_framing() {
    let patch = right("{ datastar_patch_of = \"page.html\" }");
    let good = "event: datastar-patch-elements\ndata: elements <p>\ndata: elements \n\
        data: elements   one\ndata: elements </p>\n\n";
    for framed in [
        good.to_owned(),
        good.replace('\n', "\r\n"),
        good.replace(": ", ":"),
        format!(": hello\nid: 1\n{good}: bye\n"),
    ] {
        assert_eq!(mismatch(&patch, &response(&framed)), "", "{framed:?}");
    }
    for [from, to, message] in rows(
        r#"
        patch-elements | merge-fragments | expected an event named datastar-patch-elements, got an event named datastar-merge-fragments
        \u{20} one | one | expected 4 lines of data, line 3: `elements   one`, got 4 lines of data, line 3: `elements one`
        data: elements </p>\n | "" | expected 4 lines of data, line 4: `elements </p>`, got 3 lines of data, line 4: none
        </p>\n | </p>\ndata: elements \n | expected 4 lines of data, line 5: none, got 5 lines of data, line 5: `elements `
        "#,
    ) {
        let wrong = response(&good.replace(from, to));
        assert_eq!(mismatch(&patch, &wrong), message);
    }
    for (body, received) in [
        (&*good.repeat(2), "2 events"),
        ("", "nothing"),
        (
            "event: x\n",
            r"no event that an empty line ends, in 9 bytes: `event: x\n`",
        ),
    ] {
        let message = format!("expected one event, got {received}");
        assert_eq!(mismatch(&patch, &response(body)), message);
    }
}

#[test]
fn a_stream_must_have_the_same_messages() {
    let stream = right(r#"{ messages = { count = 3, each = { 1 = "r" } } }"#);
    let message = "\0\0\0\0\x03\n\x01r";
    assert_eq!(mismatch(&stream, &response(&message.repeat(3))), "");
    for (count, shown) in [(0, "0 messages"), (2, "2 messages"), (4, "4 messages")] {
        let other = response(&message.repeat(count));
        assert_eq!(
            mismatch(&stream, &other),
            format!("expected 3 messages, got {shown}")
        );
    }
    for [third, shown] in rows(
        r"
        \0\0\0\0\x03\n\x01q | expected message 3: 3 bytes, at byte 2: `r`, got message 3: 3 bytes, at byte 2: `q`
        \0\0\0\0\x03\n\x01 | expected 3 messages, got 2 messages, then 7 bytes that are not a whole uncompressed message: `\\x00\\x00\\x00\\x00\\x03\\n\\x01`
        \x01\0\0\0\x03\n\x01r | expected 3 messages, got 2 messages, then 8 bytes that are not a whole uncompressed message: `\\x01\\x00\\x00\\x00\\x03\\n\\x01r`
        ",
    ) {
        let wrong = response(&format!("{}{third}", message.repeat(2)));
        assert_eq!(mismatch(&stream, &wrong), shown);
    }
}

const QUOTE: &str = "{ line_of = \"quotes.txt\" }";

#[test]
fn the_draws_of_a_load_are_counted_and_those_on_other_hosts_are_not() {
    let quote = right(QUOTE);
    let lines = quote.drawn_lines().unwrap();
    assert_eq!(lines.count(), 2);
    let counting = || {
        let draws = CountedDraws::of(lines);
        let counting = Expected {
            draws: Some(draws.clone()),
            ..quote.clone()
        };
        (counting, draws)
    };
    let verdict = |bodies: [&str; 2]| {
        let (counting, draws) = counting();
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..100 {
            let body = bodies[random.usize(..2)];
            counting.check(&response(body)).unwrap();
        }
        assert!(counting.check(&response("hast")).is_err());
        judge_counted(&draws)
    };
    assert_eq!(verdict(["haste", "waste\n"]), Ok(()));
    let one = verdict(["haste", "haste\n"]).unwrap_err();
    assert_eq!(one.received, "drew only 1 of 2 lines in 100 responses");
    let uniformly = "a line of quotes.txt drawn uniformly and independently for each request";
    starts_with(&one.expected, uniformly);
    let (counting, draws) = counting();
    let elsewhere = elsewhere(&counting);
    (0..1000).for_each(|_| elsewhere.check(&response("haste")).unwrap());
    assert!(!draws.has_counted());
    assert_eq!(judge_counted(&draws), Ok(()));
    // Too few to test.
    (0..19).for_each(|_| counting.check(&response("haste")).unwrap());
    assert_eq!(judge_counted(&draws), Ok(()));
    assert!(draws.has_counted());
    assert!(right("{ text = \"x\" }").drawn_lines().is_none());
}

#[test]
fn every_expected_response_fits_into_what_is_kept_of_it() {
    let text = right("{ text = \"12345\" }");
    assert_eq!((text.body_length(), text.longest_body()), (Some(5), 5));
    let page = right("{ asset = \"page.html\" }");
    assert_eq!((page.body_length(), page.longest_body()), (Some(16), 16));
    // A line feed may follow.
    let quote = right(QUOTE);
    assert_eq!((quote.body_length(), quote.longest_body()), (None, 6));
    let stream = right(r#"{ messages = { count = 3, each = { 1 = "r" } } }"#);
    assert_eq!(stream.body_length(), Some(24));
    // Far more than one event needs, and far less than the machine's memory.
    let patch = right("{ datastar_patch_of = \"page.html\" }");
    assert_eq!(patch.body_length(), None);
    assert!((60_000..100_000).contains(&patch.longest_body()));
}

#[test]
fn a_compressed_body_is_decoded_before_it_is_compared() {
    // `hello\n` in a block of deflate that is not compressed.
    let deflated = b"\x01\x06\x00\xf9\xffhello\n";
    let compressed = |body: &[u8]| Response {
        headers: vec![("content-encoding".into(), b"deflate".to_vec())],
        body: body.to_vec(),
        status: 200,
    };
    let text = |request, text| {
        let response = format!("status = 200\nbody = {{ text = \"{text}\\n\" }}");
        requested(request, &response).unwrap()
    };
    let right = text("compressed = true", "hello");
    assert_eq!(mismatch(&right, &compressed(deflated)), "");
    assert_eq!(mismatch(&right, &response("hello\n")), "");
    assert_eq!((right.exact_body(), right.body_length()), (None, None));
    // A compressed body may be longer.
    assert!(right.longest_body() > 1000);
    let broken = mismatch(&right, &compressed(&deflated[..7]));
    starts_with(&broken, "expected a body that deflate can decode, got ");
    let wrong = mismatch(&text("compressed = true", "help!"), &compressed(deflated));
    assert!(
        wrong.ends_with(", got 6 bytes, at byte 3: `lo\\n`"),
        "{wrong}"
    );
    let plain = text("", "hello");
    assert_eq!(plain.exact_body(), Some(&b"hello\n"[..]));
    assert_eq!(
        mismatch(&plain, &compressed(deflated)),
        "expected no content-encoding, because the request accepts none, got content-encoding deflate"
    );
}

#[test]
fn a_mismatch_shows_no_secret() {
    let auth = "basic_auth = { user = \"ann\", password = \"swordfish\" }";
    let right = requested(auth, "status = 200\nbody = { text = \"hello\" }").unwrap();
    assert_eq!((right.exact_body(), right.body_length()), (None, None));
    for body in [
        "your password is swordfish",
        "you sent YW5uOnN3b3JkZmlzaA== there",
        // Messages show 40 bytes, which end within the secret.
        "this response has a password in it: swordfish",
    ] {
        for status in [200, 401] {
            let shown = mismatch(&right, &with_status(status, body));
            contains(&shown, "***");
            lacks(&shown, "swordf");
            lacks(&shown, "YW5u");
        }
    }
}
