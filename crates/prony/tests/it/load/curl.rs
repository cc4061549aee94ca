//! The request of a curl command.

use crate::load::{Ceiling, Folder, Holds, loaded};
use prony_testkit::certificate::Certificate;
use prony_testkit::recorder::{HttpServer, Received};

/// The lines of the head of a request, with its fields in alphabetical order.
pub(super) fn sorted_head(received: &Received) -> Vec<&str> {
    let mut lines: Vec<&str> = received.head.lines().collect();
    lines[1..].sort_unstable();
    lines
}

#[test]
fn a_command_is_the_request() {
    let server = HttpServer::start();
    let command = format!(
        "curl '{}cart?a=b' \\\n  -X PUT -H 'Content-Type: application/json' -b 'id=1; x=y' \\\n  \
         -H 'Connection: keep-alive' -H 'Content-Length: 99' -u me:secret \\\n  \
         --compressed --data-raw $'{{\"it\\'s\": \"{{{{x}}}}\"}}'",
        server.url()
    );
    let (ended, result) = loaded(["-c1", "-t1", "-n2", "--curl", &command]);
    let sent = server.first();
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
    assert_eq!(sorted_head(&sent), expected);
    assert_eq!(sent.body, br#"{"it's": "{{x}}"}"#);
    assert_eq!(server.count(), 2);
    let url = format!("{}cart?a=b", server.url());
    result.holds(&format!("target.url={url} target.method=PUT"));
    ended.prints(&format!("PUT {url}"));
}

#[test]
fn a_command_and_its_body_may_be_in_files() {
    let (server, folder) = (HttpServer::start(), Folder::new());
    // Longer than what fits into a Hurl file.
    let body = vec![0xff; 5 << 20];
    folder.write("body.bin", &body);
    let url = server.url();
    for command in [
        format!("curl {url} --data-binary @body.bin"),
        format!("curl {url} -H 'content-type: a/b' -d x --data-binary @body.bin"),
        format!("curl {url} -F 'f=@body.bin;type=a/b'"),
    ] {
        folder.write("command.txt", command);
        folder.load("-c1 -n1 --curl @command.txt").with(0);
    }
    let all = server.all();
    assert_eq!(all[0].body, body);
    assert_eq!(all[1].body, [&b"x&"[..], &body].concat());
    let part = b"filename=\"body.bin\"\r\ncontent-type: a/b\r\n\r\n\xff\xff";
    let mut windows = all[2].body.windows(part.len());
    assert!(windows.any(|window| window == part));
}

#[test]
fn a_command_chooses_trust_and_version() {
    let (certificate, plain, folder) = (Certificate::new(), HttpServer::start(), Folder::new());
    let server = Ceiling::over_tls(&certificate);
    let url = server.https_url("hello");
    for (command, protocol) in [
        (format!("curl -sk {url}"), "h2"),
        (format!("curl -k --http1.1 {url}"), "https/1.1"),
        // Without TLS, -k means nothing.
        (format!("curl -k {}", plain.url()), "http/1.1"),
    ] {
        let (_, result) = loaded(format!("-c1 -n1 --curl '{command}'"));
        result.holds(&format!("target.protocol={protocol}"));
    }
    folder.load(format!("-n1 --curl 'curl {url}'")).with(1);
}

#[test]
fn what_differs_from_curl_is_noted() {
    let (server, folder) = (HttpServer::start(), Folder::new());
    let command = "curl -L -H \"Transfer-Encoding: chunked\" -d a";
    folder
        .load(format!("-n1 -c1 --curl '{command} {}'", server.url()))
        .with(0)
        .says("note: -L: Prony does not follow redirects here")
        .says("note: Prony sends Content-Length instead of Transfer-Encoding");
}

#[test]
fn a_wrong_command_is_reported() {
    Folder::new().refuses(
        2,
        r#"
        --curl 'Invoke-WebRequest -Uri "http://a"' | --curl: this is a command for PowerShell
        --curl 'curl ^"http://a^"' | --curl: this is a command for the Windows command prompt
        --curl 'curl http://a \x7c jq' | --curl: `|` is for the shell
        --curl http://a | --curl: the command must begin with `curl`
        --curl '' | --curl: the command is empty
        --curl 'curl http://a -H "Connection: close"' --no-keepalive | --no-keepalive sends
    "#,
    );
}
