//! `prony load FILE.hurl` with a server that redirects.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use bytes::Bytes;
use serde_json::Value;

use crate::load::{Folder, Holds};
use prony_testkit::connections;

const LOOPS: [&str; 2] = ["io_uring", "epoll"];

/// What the server responds.
struct Reply {
    status: u16,
    fields: Vec<(&'static str, &'static str)>,
    body: String,
}

impl Reply {
    fn to(status: u16, location: &'static str) -> Self {
        Self {
            status,
            fields: vec![("location", location)],
            body: "moved".into(),
        }
    }

    fn of(status: u16, body: String) -> Self {
        Self {
            status,
            fields: Vec::new(),
            body,
        }
    }
}

/// A web application with a login that redirects.
fn reply(method: &str, path: &str, cookie: &str, body: &[u8]) -> Reply {
    let is_in = cookie == "sid=7";
    match (method, path) {
        ("POST", "/login") if body == b"user=ann" => {
            let mut reply = Reply::to(303, "/home?from=login");
            reply.fields.push(("set-cookie", "sid=7; Path=/"));
            reply
        }
        ("GET", "/home?from=login") if is_in => Reply::to(302, "pages/start"),
        ("GET", "/pages/start") if is_in => Reply::of(200, "welcome".into()),
        ("POST" | "PUT", "/old") => Reply::to(308, "/new"),
        (_, "/new") => Reply::of(200, format!("{method} {}", body.len())),
        ("GET", "/loop") => Reply::to(302, "/loop"),
        ("GET", "/away") => Reply::to(302, "http://other.test/"),
        _ => Reply::of(404, format!("{method} {path} {cookie}")),
    }
}

fn http1_server() -> SocketAddr {
    connections::serve(|stream| {
        let mut reader = BufReader::new(&stream);
        while respond_http1(&mut reader).is_some() {}
    })
}

fn respond_http1(reader: &mut BufReader<&TcpStream>) -> Option<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let length = reader.read_line(&mut head).ok()?;
        (length > 0).then_some(())?;
    }
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let mut body = vec![0; field("Content-Length: ").map_or(0, |it| it.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let mut words = head.split(' ');
    let cookie = field("cookie: ").unwrap_or_default();
    let reply = reply(words.next()?, words.next()?, cookie, &body);
    let fields = reply.fields.iter();
    let fields: String = fields
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let (status, body) = (reply.status, reply.body);
    let length = body.len();
    let response = format!("HTTP/1.1 {status} x\r\n{fields}content-length: {length}\r\n\r\n{body}");
    reader.get_mut().write_all(response.as_bytes()).ok()
}

fn http2_server() -> SocketAddr {
    connections::serve(|stream| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().build().unwrap();
        runtime.block_on(serve_http2(stream))
    })
}

async fn serve_http2(stream: TcpStream) -> Option<()> {
    stream.set_nonblocking(true).ok()?;
    let stream = tokio::net::TcpStream::from_std(stream).ok()?;
    let mut connection = h2::server::handshake(stream).await.ok()?;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            let (head, mut stream) = request.into_parts();
            let mut body = Vec::new();
            while let Some(Ok(piece)) = stream.data().await {
                let _ = stream.flow_control().release_capacity(piece.len());
                body.extend_from_slice(&piece);
            }
            let cookie = head.headers.get("cookie");
            let cookie = cookie.map_or("", |it| it.to_str().unwrap());
            let path = head.uri.path_and_query().unwrap().as_str();
            let reply = reply(head.method.as_str(), path, cookie, &body);
            let mut response = http::Response::builder().status(reply.status);
            for (name, value) in reply.fields {
                response = response.header(name, value);
            }
            let response = response.body(()).unwrap();
            let mut stream = respond.send_response(response, false).unwrap();
            let _ = stream.send_data(Bytes::from(reply.body), true);
        });
    }
    None
}

/// The result of a load of that file, which ends with that status.
fn load_of(text: &str, host: SocketAddr, flags: &str, status: i32) -> Value {
    let folder = Folder::with(&[("a.hurl", text)]);
    let ended = folder.load(format!("a.hurl --variable host={host} {flags}"));
    ended.with(status);
    folder.result()
}

const LOGIN: &str = "POST http://{{host}}/login
[Options]
location: true
[Form]
user: ann
HTTP 200
[Asserts]
body == \"welcome\"
redirects count == 2
url == \"http://{{host}}/pages/start\"
PUT http://{{host}}/old
[Options]
location-trusted: true
`four`
HTTP 200
[Asserts]
body == \"PUT 4\"
";

#[test]
fn a_login_that_redirects_is_followed_over_every_wire() {
    for (server, protocol) in [(http1_server(), "--http1.1"), (http2_server(), "--http2")] {
        for event_loop in LOOPS {
            for shape in ["-c3", "--rate 1k/s", "-c2 --think-time 1ms"] {
                let flags = format!("-n12 {protocol} {shape} --loop {event_loop}");
                let result = load_of(LOGIN, server, &flags, 0);
                let entries = &result["flows"]["entries"];
                result.holds("flows.ok=12 outcomes.ok=60");
                entries[0].holds("requests=36 outcomes.ok=36");
                entries[1].holds("requests=24 outcomes.ok=24");
                assert_eq!(entries[0]["name"], "POST /login");
                assert_eq!(entries[1]["name"], "PUT /old");
                let statuses = serde_json::json!({"200": 24, "302": 12, "303": 12, "308": 12});
                assert_eq!(result["statuses"], statuses, "{flags}");
            }
        }
    }
}

#[test]
fn a_server_that_closes_each_connection_is_followed_over_new_ones() {
    let result = load_of(LOGIN, http1_server(), "-n3 -c1 --no-keepalive", 0);
    result.holds("flows.ok=3 outcomes.ok=15");
}

#[test]
fn redirects_that_cannot_be_followed_end_the_flow() {
    let server = http1_server();
    let away = format!(
        "a.hurl:1:1: the response redirects, but http://other.test/ is on another server than \
         http://{server}; a load needs one server"
    );
    let too_many = "a.hurl:1:5: HTTP connection: too many redirect";
    for (path, options, requests, reason) in [
        ("loop", "max-redirs: 4\n", 15, too_many),
        ("away", "", 3, &away),
    ] {
        for event_loop in LOOPS {
            let text =
                format!("GET http://{{{{host}}}}/{path}\n[Options]\nlocation: true\n{options}");
            let flags = format!("-n3 -c1 --loop {event_loop}");
            let result = load_of(&text, server, &flags, 1);
            result.holds("flows.failed=3");
            let entry = &result["flows"]["entries"][0];
            entry.holds(&format!("requests={requests} outcomes.wrong_status=3"));
            assert_eq!(entry["first_wrong"]["detail"], reason);
        }
    }
}
