//! Several requests: of several URLs, with weights, and of a file.

use crate::common::run;
use crate::load::{Folder, Holds, loaded};
use prony_testkit::contains;
use prony_testkit::recorder::HttpServer;

#[test]
fn several_urls_are_used_round_robin() {
    let server = HttpServer::start();
    let [a, b] = ["a", "b?c=d"].map(|path| format!("{}{path}", server.url()));
    let (ended, result) = loaded(format!("-c1 -t1 -n6 {a} {b}"));
    assert_eq!(server.lines(), ["GET /a", "GET /b?c=d"].repeat(3));
    ended.prints("  2 URLs, round-robin\n");
    assert_eq!(result["target"]["url"], format!("{a} {b}"));
    result.holds("target.method=GET");
}

#[test]
fn weights_say_how_often() {
    let server = HttpServer::start();
    let [a, b] = ["a", "b"].map(|path| format!("{}{path}", server.url()));
    let (ended, _) = loaded(format!("-c1 -t1 -n2000 --weights 3,1 --seed 1 {a} {b}"));
    let ended = ended.prints("  2 URLs, at random, 3:1\n");
    ended.prints("  seed 1\n");
    let lines = server.lines();
    let of_a = lines.iter().filter(|line| *line == "GET /a").count();
    // Six standard deviations around 1500; the seed makes it the same every time.
    assert!((1384..=1616).contains(&of_a), "{of_a}");
}

#[test]
fn a_file_has_requests_of_every_kind() {
    let server = HttpServer::start();
    let lines = r#"{"path": "/items?page=2", "headers": {"Accept": "text/html"}}

{"method": "POST", "path": "/items", "body": "{\"a\": 1}"}
{"method": "PUT", "url": "URLblob", "body_base64": "AP8="}
"#;
    let folder = Folder::with(&[("all.jsonl", &lines.replace("URL", &server.url()))]);
    let flags = "--requests-file all.jsonl -c1 -t1 -n6 -H 'Accept: */*'";
    let ended = folder.load(format!("{flags} {}", server.url())).with(0);
    ended
        .prints("  3 requests of all.jsonl, round-robin\n")
        .prints("various http://");
    let in_turn = ["GET /items?page=2", "POST /items", "PUT /blob"].repeat(2);
    assert_eq!(server.lines(), in_turn);
    let all = server.all();
    assert_eq!(all[1].body, b"{\"a\": 1}");
    assert_eq!(all[2].body, b"\0\xff");
    contains(&all[0].head, "\naccept: text/html\n");
    contains(&all[1].head, "\naccept: */*\n");
}

#[test]
fn a_file_of_requests_names_its_server() {
    let server = HttpServer::start();
    let line = format!("{{\"url\": \"{}x\"}}\n", server.url());
    let folder = Folder::with(&[("one.jsonl", &line)]);
    folder
        .load("--requests-file one.jsonl -c1 -n2 --order random")
        .with(0);
    assert_eq!(server.lines(), ["GET /x", "GET /x"]);
}

#[test]
fn a_url_is_sent_as_browsers_and_curl_send_it() {
    let server = HttpServer::start();
    let authority = server.address;
    let url = format!("http://me:secret@{authority}/ü x?q=a|b\"c");
    let (ended, result) = loaded(["-c1", "-n1", &url]);
    let sent = server.first();
    assert_eq!(
        sent.head.lines().next(),
        Some("GET /%C3%BC%20x?q=a%7Cb%22c HTTP/1.1")
    );
    let basic = "authorization: Basic bWU6c2VjcmV0";
    assert!(sent.head.lines().any(|line| line == basic), "{}", sent.head);
    ended.lacks("secret");
    result.holds(&format!(
        "target.url=http://{authority}/%C3%BC%20x?q=a%7Cb%22c"
    ));
}

#[test]
fn what_no_request_may_have_is_refused() {
    Folder::new().refuses(
        2,
        "
        -H 'Host: a' -H 'host: b' URL | a request has one header `Host`: remove the other one
        http://me:secret@a:0/ | `http://***@a:0/` is not a URL: its port is not 1 to 65535
        'http://a b/' | its host may not contain a blank
    ",
    );
}

#[test]
fn variables_of_the_environment_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let server = HttpServer::start();
    let folder = Folder::with(&[("a.hurl", "GET http://{{host}}/\n")]);
    let mut command = folder.prony(format!("a.hurl -n1 -c1 --variable host={}", server.address));
    command.env("OTHER", OsStr::from_bytes(b"\xff"));
    run(command).with(0);
    let mut command = folder.prony("a.hurl -n1");
    command.env("HURL_VARIABLE_host", OsStr::from_bytes(b"\xff"));
    run(command).with(2).says("HURL_VARIABLE_host is not UTF-8");
}
