//! Several requests: of several URLs, with weights, and of a file.

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
