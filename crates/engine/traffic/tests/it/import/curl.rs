//! What Prony sends for a command is what the installed curl sends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use prony_hurl::evaluate::{Environment, FileError, Scope, Variables};
use prony_testkit::recorder::{HttpServer, Received};

/// What is sent, in a form in which two clients agree.
#[derive(Debug, PartialEq)]
struct Sent {
    method: String,
    target: String,
    /// Names in small letters, sorted.
    headers: Vec<(String, String)>,
    body: String,
}

impl Sent {
    fn new(method: &str, target: &str, headers: Vec<(String, String)>, body: &[u8]) -> Self {
        let mut headers: Vec<_> = headers
            .into_iter()
            .map(|(name, value)| (name.to_lowercase(), value))
            .filter(|(name, value)| !is_own(name, value))
            .collect();
        headers.sort();
        let mut body = body.escape_ascii().to_string();
        for (name, value) in &mut headers {
            // Which codings follow these depends on how curl was built.
            if name == "accept-encoding" && value.starts_with("deflate, gzip") {
                *value = "deflate, gzip".to_owned();
            }
            if let Some((kind, boundary)) = value.split_once("boundary=") {
                assert_eq!(name, "content-type");
                body = body.replace(boundary, "BOUNDARY");
                body = body.replace("Content-Type", "content-type");
                body = body.replace("Content-Disposition", "content-disposition");
                *value = kind.to_owned();
            }
        }
        Self {
            method: method.to_owned(),
            target: with_capital_escapes(target),
            headers,
            body,
        }
    }
}

/// `%C3` for `%c3`: which of the two depends on the version of curl.
fn with_capital_escapes(target: &str) -> String {
    let mut pieces = target.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let (digits, rest) = piece.split_at(piece.len().min(2));
        format!("{text}%{}{rest}", digits.to_ascii_uppercase())
    })
}

/// What a client adds by itself.
fn is_own(name: &str, value: &str) -> bool {
    match name {
        "host" | "content-length" | "connection" => true,
        "accept" => value == "*/*",
        "user-agent" => value.starts_with("curl/"),
        _ => false,
    }
}

fn sent_by_curl(received: &Received) -> Sent {
    let mut lines = received.head.lines();
    let mut words = lines.next().expect("a request line").split(' ');
    let (method, target) = (words.next(), words.next());
    let header = |line: &str| {
        let (name, value) = line.split_once(':').expect("a colon");
        (name.to_owned(), value.trim().to_owned())
    };
    let (method, target) = (method.expect("a method"), target.expect("a target"));
    Sent::new(method, target, lines.map(header).collect(), &received.body)
}

struct Folder(PathBuf);

impl Folder {
    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.0.join(name)).map_err(|error| error.to_string())
    }
}

impl Environment for Folder {
    fn now(&mut self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn random(&mut self) -> u128 {
        7
    }

    fn file(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        self.read(name).map_err(FileError::Unreadable)
    }
}

/// What Prony sends: the command becomes a Hurl file, and that a request.
fn sent_by_prony(command: &str, folder: &Path) -> Sent {
    let mut folder = Folder(folder.to_owned());
    let imported = prony_traffic::import::curl(command, &mut |name| folder.read(name))
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    let text = prony_traffic::import::write(&imported.entries, &[]).expect("a Hurl file");
    let file = prony_hurl::parse(&text)
        .unwrap_or_else(|error| panic!("{command}:\n{}", error.render("a.hurl", &text)));
    assert_eq!(prony_hurl::unsupported(&file), []);
    let variables = Variables::default();
    let request = Scope::new(&variables, &mut folder)
        .request(&file.entries[0].request)
        .expect("a request");
    let behind_scheme = request.url.split_once("://").expect("a URL").1;
    let target = &behind_scheme[behind_scheme.find('/').expect("a path")..];
    Sent::new(&request.method, target, request.headers, &request.body)
}

/// Commands behind `curl -s URL`; `URL` is the server.
const COMMANDS: &[&str] = &[
    "URL",
    "'URL?a=b&c=d#fragment'",
    "URL/a/./b/../c",
    "--path-as-is URL/a/../c",
    "-g 'URL/{a}[b]'",
    "'URL/é'",
    "-X DELETE URL/1",
    "-XPATCH -d a=b URL",
    "-I URL",
    "-d a=b -d c=d URL",
    "-d '' URL",
    r"--data-raw '@a $b `c` {{d}}' URL",
    r#"-d "a \"b\" \$c" URL"#,
    r"--data-raw $'{\n\t\'a\': \u00e9\x21}' URL",
    r"--data-binary $'\xff\xfe\x80' URL",
    "-d @lines.txt URL",
    "--data-binary @lines.txt URL",
    "--data-binary @bytes.bin URL",
    "-d a=b --data-binary @lines.txt URL",
    "--data-urlencode 'a=b c&d/é~' --data-urlencode '=e f' --data-urlencode 'g h' URL",
    "--data-urlencode name@lines.txt --data-urlencode @lines.txt URL",
    "-G -d a=b --data-urlencode 'c=d e' 'URL/x?y=z'",
    "-G -d a=b URL",
    "-G -I -d a=b URL",
    r#"--json '{"a": 1}' URL"#,
    r#"--json '{"a":' --json ' 1}' -H 'Accept: x/y' URL"#,
    r#"--json @lines.txt URL"#,
    r#"-H 'Content-Type: application/json' -d '{"a": "{{b}}"}' URL"#,
    "-H 'content-type: text/plain' -d 'a # b' URL",
    "-H 'Content-Type:' -d a URL",
    "-H 'Accept:' -H 'User-Agent:' -H 'X-Empty;' URL",
    "-H 'X-A: 1' -H 'X-A: 2' -H 'X-Hash: a # b' -H 'X-Space:   a  b  ' URL",
    "-H 'Accept: text/html' -A agent/1 -e http://b/ URL",
    "-H 'User-Agent: a' -A b -H 'Referer: c' -e d URL",
    "-b 'a=b; c=d' -b e=f URL",
    "-b a=b -H 'Cookie: c=d' URL",
    "-u 'user:pass:word' URL",
    "-u user:pass -H 'Authorization: Token a' URL",
    "http://user:p%40ss@HOST/a",
    "--oauth2-bearer token URL",
    "--compressed URL",
    "--compressed -H 'accept-encoding: gzip' URL",
    "-sSvi -o /dev/null -w '%{http_code}' --max-time 50 URL",
    "--url URL -H 'A: b'",
    "-F a=b -F 'c=d e' URL",
    "-H 'content-type: multipart/form-data' -F a=b URL",
    "-X PUT -I URL",
    "-H 'Content-Type: a/b' --json 1 URL",
    "-G --data-urlencode 'e=é' URL",
    "-F 'f=@lines.txt' -F 'g=@bytes.bin;type=a/b' URL",
    r#"-F 'f=<lines.txt' -F 'q="a;b\"c"' --form-string 'h=@i;j' URL"#,
    "-F 'f=@page.html' URL",
    "\\\n  -X PUT \\\n  -d a \\\n URL # comment",
];

#[test]
fn prony_sends_what_curl_sends() {
    if Command::new("curl").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("PRONY_REQUIRE_TOOLCHAINS").is_none(),
            "curl is not installed"
        );
        eprintln!("LEFT OUT: curl is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in [
        ("lines.txt", &b"a=1\r\nb=`2`\n"[..]),
        ("bytes.bin", b"\0\xff\r\n"),
        ("page.html", b"<p>"),
    ] {
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    let server = HttpServer::start();
    let address = server.address.to_string();
    for arguments in COMMANDS {
        let command = format!("curl -s {arguments}")
            .replace("URL", &format!("http://{address}"))
            .replace("HOST", &address);
        let status = Command::new("bash")
            .args(["-c", &command])
            .current_dir(folder.path())
            .env("http_proxy", "")
            .env("NO_PROXY", "*")
            .env("HOME", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("bash");
        assert!(status.success(), "{command}: {status}");
        let all = server.all();
        let curl = sent_by_curl(all.last().expect("a request"));
        assert_eq!(sent_by_prony(&command, folder.path()), curl, "{command}");
    }
}
