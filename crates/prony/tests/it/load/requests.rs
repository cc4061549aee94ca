//! Several requests: of several URLs, with weights, and of a file.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::run;
use crate::load::{load, loaded, outcome};
use prony_testkit::recorder::HttpServer;

#[test]
fn several_urls_are_used_round_robin() {
    let server = HttpServer::start();
    let [a, b] = ["a", "b?c=d"].map(|path| format!("{}{path}", server.url()));
    let (shown, result) = loaded(&["-c1", "-t1", "-n6", &a, &b]);
    assert_eq!(server.lines(), ["GET /a", "GET /b?c=d"].repeat(3));
    assert!(shown.contains("  2 URLs, round-robin\n"), "{shown}");
    assert_eq!(result["target"]["url"], format!("{a} {b}"));
    assert_eq!(result["target"]["method"], "GET");
}

#[test]
fn weights_say_how_often() {
    let server = HttpServer::start();
    let [a, b] = ["a", "b"].map(|path| format!("{}{path}", server.url()));
    let flags = ["-c1", "-t1", "-n2000", "--weights", "3,1", "--seed", "1"];
    let (shown, _) = loaded(&[&flags[..], &[&a, &b]].concat());
    assert!(shown.contains("  2 URLs, at random, 3:1\n"), "{shown}");
    assert!(shown.contains("  seed 1\n"), "{shown}");
    let of_a = server
        .lines()
        .iter()
        .filter(|line| *line == "GET /a")
        .count();
    // Six standard deviations around 1500; the seed makes it the same every time.
    assert!((1384..=1616).contains(&of_a), "{of_a}");
}

#[test]
fn a_file_has_requests_of_every_kind() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let lines = format!(
        "{}\n\n{}\n{}\n",
        r#"{"path": "/items?page=2", "headers": {"Accept": "text/html"}}"#,
        r#"{"method": "POST", "path": "/items", "body": "{\"a\": 1}"}"#,
        format_args!(
            r#"{{"method": "PUT", "url": "{}blob", "body_base64": "AP8="}}"#,
            server.url()
        ),
    );
    fs::write(folder.path().join("all.jsonl"), lines).unwrap();
    let flags = [
        "--requests-file",
        "all.jsonl",
        "-c1",
        "-t1",
        "-n6",
        "-H",
        "Accept: */*",
    ];
    let mut command = load(folder.path(), &flags);
    command.arg(server.url());
    run(command)
        .with(0)
        .prints("  3 requests of all.jsonl, round-robin\n")
        .prints("various http://");
    let in_turn = ["GET /items?page=2", "POST /items", "PUT /blob"].repeat(2);
    assert_eq!(server.lines(), in_turn);
    let all = server.all();
    assert_eq!(all[1].body, b"{\"a\": 1}");
    assert_eq!(all[2].body, b"\0\xff");
    assert!(
        all[0].head.contains("\naccept: text/html\n"),
        "{}",
        all[0].head
    );
    assert!(all[1].head.contains("\naccept: */*\n"), "{}", all[1].head);
}

#[test]
fn a_file_of_requests_names_its_server() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    let line = format!("{{\"url\": \"{}x\"}}\n", server.url());
    fs::write(folder.path().join("one.jsonl"), line).unwrap();
    let flags = words!("--requests-file one.jsonl -c1 -n2 --order random");
    run(load(folder.path(), &flags)).with(0);
    assert_eq!(server.lines(), ["GET /x", "GET /x"]);
}

#[test]
fn a_call_is_sent_as_grpc() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&received);
    // It ends with the test's process.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let all = Arc::clone(&all);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    all.lock().unwrap().extend_from_slice(&buffer[..length]);
                }
            });
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--grpc", "shop.Orders/List", "-b", "a message", "-c1"];
    let mut command = load(folder.path(), &flags);
    // There is no response.
    command.args(["-n1", "--timeout", "300ms", "--json", "result.json", &url]);
    run(command)
        .with(1)
        .prints(&format!("POST {url}/shop.Orders/List ("));
    let result = crate::load::result(folder.path(), "result.json");
    assert_eq!(outcome(&result, "timed_out"), 1);
    let received = received.lock().unwrap().clone();
    assert!(received.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    // A flag, the length, and the message. The reset of the stream follows.
    let message = b"\0\0\0\0\x09a message";
    assert!(received.windows(message.len()).any(|part| part == message));
}
