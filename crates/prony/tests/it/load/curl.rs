//! The request of a curl command.

use std::fs;

use crate::common::run;
use crate::load::{Ceiling, load, loaded};
use prony_testkit::certificate::Certificate;
use prony_testkit::recorder::HttpServer;

#[test]
fn a_command_is_the_request() {
    let server = HttpServer::start();
    let command = format!(
        "curl '{}cart?a=b' \\\n  -X PUT -H 'Content-Type: application/json' -b 'id=1; x=y' \\\n  \
         -H 'Connection: keep-alive' -H 'Content-Length: 99' -u me:secret \\\n  \
         --compressed --data-raw $'{{\"it\\'s\": \"{{{{x}}}}\"}}'",
        server.url()
    );
    let (shown, result) = loaded(&["-c1", "-t1", "-n2", "--curl", &command]);
    let sent = server.first();
    let mut lines: Vec<&str> = sent.head.lines().collect();
    lines[1..].sort_unstable();
    let host = format!("Host: {}", server.address);
    let expected = [
        "PUT /cart?a=b HTTP/1.1",
        "Content-Length: 17",
        &host,
        "accept-encoding: deflate, gzip, br, zstd",
        "authorization: Basic bWU6c2VjcmV0",
        "content-type: application/json",
        "cookie: id=1; x=y",
    ];
    assert_eq!(lines, expected);
    assert_eq!(sent.body, br#"{"it's": "{{x}}"}"#);
    assert_eq!(server.count(), 2);
    let url = format!("{}cart?a=b", server.url());
    assert_eq!(result["target"]["url"], url);
    assert_eq!(result["target"]["method"], "PUT");
    assert!(shown.contains(&format!("PUT {url}")), "{shown}");
}

#[test]
fn a_command_and_its_body_may_be_in_files() {
    let (server, folder) = (HttpServer::start(), tempfile::tempdir().unwrap());
    // Longer than what fits into a Hurl file.
    let body = vec![0xff; 5 << 20];
    fs::write(folder.path().join("body.bin"), &body).unwrap();
    let url = server.url();
    for command in [
        format!("curl {url} --data-binary @body.bin"),
        format!("curl {url} -H 'content-type: a/b' -d x --data-binary @body.bin"),
        format!("curl {url} -F 'f=@body.bin;type=a/b'"),
    ] {
        fs::write(folder.path().join("command.txt"), command).unwrap();
        let flags = ["-c1", "-n1", "--curl", "@command.txt"];
        run(load(folder.path(), &flags)).with(0);
    }
    let all = server.all();
    assert_eq!(all[0].body, body);
    assert_eq!(all[1].body, [&b"x&"[..], &body].concat());
    let part = b"filename=\"body.bin\"\r\ncontent-type: a/b\r\n\r\n\xff\xff";
    let is_there = all[2].body.windows(part.len()).any(|window| window == part);
    assert!(is_there);
}

#[test]
fn a_command_chooses_trust_and_version() {
    let certificate = Certificate::new();
    let server = Ceiling::over_tls(&certificate);
    let url = server.https_url("hello");
    let version = |command: &str| {
        let (_, result) = loaded(&["-c1", "-n1", "--curl", command]);
        result["target"]["protocol"].clone()
    };
    assert_eq!(version(&format!("curl -sk {url}")), "h2");
    assert_eq!(version(&format!("curl -k --http1.1 {url}")), "https/1.1");
    let folder = tempfile::tempdir().unwrap();
    let command = format!("curl {url}");
    run(load(folder.path(), &["-n1", "--curl", &command])).with(1);
    // Without TLS, -k means nothing.
    let plain = HttpServer::start();
    loaded(&["-c1", "-n1", "--curl", &format!("curl -k {}", plain.url())]);
}

#[test]
fn what_goes_with_a_command_is_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], message: &str| {
        run(load(folder.path(), arguments)).with(2).says(message);
    };
    let curl = ["--curl", "curl http://127.0.0.1:1/"];
    for more in [
        &["http://127.0.0.1:1/"][..],
        &["-X", "PUT"],
        &["-b", "body"],
        &["-H", "a: b"],
        &["--requests-file", "a"],
        &["--grpc", "a.B/C"],
    ] {
        refused(&[&curl[..], more].concat(), "cannot be used with");
    }
    for (command, message) in [
        (
            "curl -L http://a",
            "--curl: -L of curl: Prony does not follow redirects",
        ),
        (
            "curl ^\"http://a^\"",
            "--curl: this is a command for the Windows command prompt",
        ),
        ("curl http://a | jq", "--curl: `|` is for the shell"),
        ("http://a", "--curl: the command must begin with `curl`"),
        ("", "--curl: the command is empty"),
    ] {
        refused(&["--curl", command], message);
    }
    let closes = [
        "--curl",
        "curl http://a -H 'Connection: close'",
        "--no-keepalive",
    ];
    refused(&closes, "--no-keepalive sends");
    run(load(folder.path(), &["--curl", "@missing"]))
        .with(1)
        .says("cannot read the command from `missing`");
}
