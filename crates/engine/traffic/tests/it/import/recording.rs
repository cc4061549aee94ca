//! A recording of headless Chromium 156, by Playwright: a page with a script that posts JSON, and two forms, one of
//! which sends a file. `tests/chromium.har` has it without responses and with fewer headers.

use prony_testkit::contains;
use prony_traffic::import::{HarOptions, har, write};

const EXPECTED: &str = r#"GET http://127.0.0.1:8080/
Accept: text/html,application/xh
sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156"
HTTP 200

POST http://127.0.0.1:8080/api?q={\u{7b}x}}
Accept: */*
Cookie: id=1
Origin: http://127.0.0.1:8080
content-type: application/json
sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156"
`{"n":"{\u{7b}y}} \`z\` # é"}`
HTTP 201
"#;

#[test]
fn a_recording_of_chromium() {
    let text = include_str!("../../chromium.har");
    let options = HarOptions {
        no_assets: true,
        ..HarOptions::default()
    };
    let imported = har(text, options).expect("requests");
    let hurl = write(&imported.entries, &[]).expect("a Hurl file");
    prony_hurl::parse(&hurl).unwrap_or_else(|error| panic!("{}", error.render("a.hurl", &hurl)));
    let urls = imported.entries.iter();
    let urls: Vec<_> = urls.filter_map(|entry| entry.url.literal()).collect();
    let paths = ["", "api?q={{x}}", "up", "login", "home"];
    let expected = paths.map(|path| format!("http://127.0.0.1:8080/{path}"));
    assert_eq!(urls, expected);
    assert!(hurl.starts_with(EXPECTED), "{hurl}");
    // The server received this body, and one of 286 bytes that Chromium did not record.
    contains(&hurl, "\n`user=a+b%26%C3%A9&pw=x`\nHTTP 303\n");
    let notes = imported.notes.join("\n");
    contains(
        &notes,
        "/up: the recording does not contain its body of 286 bytes",
    );
    contains(
        &notes,
        "left out 3 of 8 requests: 1 to other hosts (localhost:8080;",
    );
}
