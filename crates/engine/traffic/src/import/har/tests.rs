//! HAR files after the specification, as browsers write them.

use prony_testkit::contains;
use prony_testkit::table::rows;

use super::*;
use crate::import::write;

/// A visit of a shop as Chrome exports it.
const SHOP: &str = r##"{"log": {
    "version": "1.2",
    "creator": {"name": "WebInspector", "version": "537.36"},
    "pages": [{"startedDateTime": "2026-03-01T10:00:00.000Z", "id": "page_1", "title": "Shop", "pageTimings": {}}],
    "entries": [
        {"_resourceType": "other", "startedDateTime": "2026-03-01T09:59:59.000Z", "time": 1,
            "request": {"method": "GET", "url": "chrome-extension://abc/x.js", "headers": []},
            "response": {"status": 200, "content": {"mimeType": "text/javascript"}}},
        {"_resourceType": "document", "pageref": "page_1", "startedDateTime": "2026-03-01T10:00:00.000Z", "time": 100.5,
            "request": {
                "method": "GET", "url": "https://shop.example/?a=b#top", "httpVersion": "h2",
                "headers": [
                    {"name": ":authority", "value": "shop.example"},
                    {"name": "accept", "value": "text/html;q=0.9, */*"},
                    {"name": "cookie", "value": "session=a b; theme=#fff"},
                    {"name": "Connection", "value": "keep-alive"},
                    {"name": "Host", "value": "shop.example"}
                ],
                "queryString": [{"name": "a", "value": "b"}], "cookies": [], "headersSize": -1, "bodySize": 0
            },
            "response": {"status": 200, "content": {"size": 5, "mimeType": "text/html", "text": "<p>{{"}}},
        {"_resourceType": "image", "pageref": "page_1", "startedDateTime": "2026-03-01T10:00:00.050Z", "time": 200,
            "request": {"method": "GET", "url": "https://shop.example:443/logo.svg", "headers": []},
            "response": {"status": 304, "content": {"mimeType": "image/svg+xml"}}},
        {"_resourceType": "script", "pageref": "page_1", "startedDateTime": "2026-03-01T10:00:00.060Z", "time": 10,
            "request": {"method": "GET", "url": "https://cdn.example/x.js", "headers": []},
            "response": {"status": 200, "content": {"mimeType": "text/javascript"}}},
        {"_resourceType": "xhr", "pageref": "page_1", "startedDateTime": "2026-03-01T10:00:02.500Z", "time": 20,
            "request": {
                "method": "POST", "url": "https://shop.example/cart",
                "headers": [{"name": "content-type", "value": "application/json"}, {"name": "content-length", "value": "17"}],
                "postData": {"mimeType": "application/json", "text": "{\"item\":\"{{a}}\"}"}
            },
            "response": {"status": 201, "content": {"mimeType": "application/json"}}},
        {"_resourceType": "websocket", "pageref": "page_1", "startedDateTime": "2026-03-01T10:00:02.600Z", "time": 20,
            "request": {"method": "GET", "url": "wss://shop.example/live", "headers": []},
            "response": {"status": 101, "content": {}}},
        {"_resourceType": "xhr", "pageref": "page_1", "startedDateTime": "2026-03-01T10:00:03.000Z", "time": 0,
            "request": {"method": "GET", "url": "https://shop.example/blocked", "headers": []},
            "response": {"status": 0, "content": {}}}
    ]
}}"##;

fn hurl(text: &str, options: HarOptions) -> (String, Vec<String>) {
    let imported = har(text, options).unwrap_or_else(|error| panic!("{error}"));
    let hurl = write(&imported.entries, &[]).expect("a Hurl file");
    prony_hurl::parse(&hurl).unwrap_or_else(|error| panic!("{}", error.render("a.hurl", &hurl)));
    (hurl, imported.notes)
}

const PAGE: &str = "\
GET https://shop.example/?a=b
accept: text/html;q=0.9, */*
cookie: session=a b; theme=\\#fff
HTTP 200
";

#[test]
fn the_first_host_is_imported() {
    let (text, notes) = hurl(SHOP, HarOptions::default());
    let expected = format!(
        "{PAGE}
GET https://shop.example:443/logo.svg
HTTP 304

POST https://shop.example/cart
content-type: application/json
`{{\"item\":\"{{\\u{{7b}}a}}}}\"}}`
HTTP 201
"
    );
    assert_eq!(text, expected);
    let note = "left out 4 of 7 requests: 1 to other hosts (cdn.example; --all-hosts keeps them), \
                2 not over HTTP, such as ws: or data:, 1 without a response";
    assert_eq!(notes, [note]);
}

#[test]
fn options_choose_requests() {
    let options = HarOptions {
        all_hosts: true,
        no_assets: true,
        think_time: true,
    };
    let (text, notes) = hurl(SHOP, options);
    let expected = format!(
        "{PAGE}
POST https://shop.example/cart
content-type: application/json
[Options]
delay: 2400ms
`{{\"item\":\"{{\\u{{7b}}a}}}}\"}}`
HTTP 201
"
    );
    assert_eq!(text, expected);
    contains(&notes[0], "2 images, styles, fonts, scripts or media");
    // The gap to the end of the image is shorter.
    let options = HarOptions {
        think_time: true,
        ..HarOptions::default()
    };
    let (text, _) = hurl(SHOP, options);
    contains(&text, "delay: 2250ms\n");
}

#[test]
fn assets_are_known_by_their_media_type() {
    let is_asset = |mime_type: &str| {
        let text = format!(
            r#"{{"request": {{"method": "GET", "url": "http://a"}},
                "response": {{"status": 200, "content": {{"mimeType": "{mime_type}"}}}}}}"#
        );
        is_asset(&serde_json::from_str(&text).expect("an entry"))
    };
    let assets = "image/png | TEXT/CSS; charset=utf-8 | font/woff2 | application/x-javascript | text/javascript | \
        application/font-woff | video/mp4";
    for asset in assets.split(" | ") {
        assert!(is_asset(asset), "{asset}");
    }
    for other in ["", "text/html", "application/json", "x-unknown"] {
        assert!(!is_asset(other), "{other}");
    }
}

/// One POST with this `postData` and these headers.
fn posted(data: &str, headers: &str) -> String {
    format!(
        r#"{{"log": {{"entries": [{{"request": {{"method": "post", "url": "http://a/",
        "headers": [{headers}], "postData": {data}}}}}]}}}}"#
    )
}

#[test]
fn bodies_of_every_kind() {
    let multipart = "entry 1, http://a/: the recording does not contain its files; put them beside the Hurl file";
    let missing = "entry 1, http://a/: the recording does not contain its body of 286 bytes; add it to the Hurl file";
    for (data, headers, expected, notes) in [
        (
            r#"{"mimeType": "application/x-www-form-urlencoded", "params": [
                {"name": "a b", "value": "c&d"}, {"name": "e"}]}"#,
            "",
            "content-type: application/x-www-form-urlencoded\n`a+b=c%26d&e=`\n",
            &[][..],
        ),
        (
            r#"{"mimeType": "a/b", "text": "AP8=", "encoding": "base64"}"#,
            "",
            "content-type: a/b\nbase64,AP8=;\n",
            &[],
        ),
        (r#"{"mimeType": "a/b", "text": ""}"#, "", "", &[]),
        (
            r#"{"mimeType": "multipart/form-data; boundary=x", "params": [
                {"name": "a", "value": "b"}, {"name": "f", "fileName": "x y.png", "contentType": "image/png"}]}"#,
            r#"{"name": "Content-Type", "value": "multipart/form-data; boundary=x"}"#,
            "[Multipart]\na: b\nf: file,x\\u{20}y.png; image/png\n",
            &[multipart],
        ),
        (
            "null",
            r#"{"name": "Content-Length", "value": "286"}"#,
            "",
            &[missing],
        ),
        (
            "null",
            r#"{"name": "Content-Length", "value": "0"}"#,
            "",
            &[],
        ),
    ] {
        let (text, noted) = hurl(&posted(data, headers), HarOptions::default());
        assert_eq!(text, format!("POST http://a/\n{expected}"));
        assert_eq!(noted, notes, "{data}");
    }
}

#[test]
fn null_is_as_good_as_nothing() {
    let text = r#"{"log": {"version": "1.2", "pages": null, "entries": [{"pageref": null, "time": null,
        "startedDateTime": null, "_resourceType": null, "request": {"method": "POST", "url": "http://a/n",
        "headers": null, "bodySize": null, "postData": {"mimeType": null, "text": "a=1", "encoding": null, "params": null}},
        "response": {"status": 200, "content": {"mimeType": null}}}, {"request": {"method": "GET", "url": "http://a/",
        "headers": [{"name": "x-a", "value": null}], "postData": null}, "response": {"status": 200, "content": null}}]}}"#;
    let (text, notes) = hurl(text, HarOptions::default());
    assert_eq!(
        text,
        "POST http://a/n\n`a=1`\nHTTP 200\n\nGET http://a/\nx-a:\nHTTP 200\n"
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn other_files_are_refused() {
    for [text, message] in rows(
        r#"
        "" | the file is empty
        \u{feff} \n | the file is empty
        {"log": {\n"entries": [,]}} | line 2 column 13
        [] | this is not a HAR file
        {} | missing field `log`
        {"openapi": "3.0.0"} | missing field `log`
        {"log": {"entries": null}} | this is not a HAR file: log.entries: invalid type: null
        {"log": {"entries": [{"request": {"method": "GET", "url": 1}}]}} | this is not a HAR file: log.entries[0].request.url: invalid type
        {"log": {"entries": []}} | the file has no requests
        {"log": {"entries": [{"request": {"method": "GET", "url": "ws://a/"}}]}} | no request is left: left out 1 of 1 requests: 1 not over HTTP
        {"log": {"entries": [{"request": {"method": "M-SEARCH", "url": "http://a/"}}]}} | entry 1, http://a/: the method `M-SEARCH` is not supported
    "#,
    ) {
        refused(text, message);
    }
    let deep = "{\"log\": {\"entries\": ".to_owned() + &"[".repeat(100_000);
    refused(&deep, "this is not a HAR file");
    refused(&" ".repeat(MAX_INPUT_BYTES + 1), "longer than 64 MiB");
    let base64 = posted(r#"{"text": "*", "encoding": "base64"}"#, "");
    refused(&base64, "its body is not base64");
    let gzip = posted(r#"{"text": "a", "encoding": "gzip"}"#, "");
    refused(&gzip, "encoded as `gzip`");
}

fn refused(text: &str, message: &str) {
    let error = har(text, HarOptions::default()).expect_err(message);
    contains(&error.to_string(), message);
}
