//! `prony load FILE.hurl` with a server that redirects.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use bytes::Bytes;
use serde_json::Value;

use crate::common::run;
use crate::load::{load, outcome, result};

const LOOPS: [&str; 2] = ["io_uring", "epoll"];

/// What the server responds: the status, where it redirects to, a cookie, and the body.
struct Reply {
    status: u16,
    location: &'static str,
    cookie: &'static str,
    body: String,
}

impl Reply {
    fn to(status: u16, location: &'static str) -> Self {
        Self {
            status,
            location,
            cookie: "",
            body: "moved".into(),
        }
    }

    fn ok(body: String) -> Self {
        Self {
            body,
            ..Self::to(200, "")
        }
    }

    /// Its header fields.
    fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = [("location", self.location), ("set-cookie", self.cookie)];
        all.into_iter().filter(|(_, value)| !value.is_empty())
    }
}

/// A web application with a login that redirects.
fn reply(method: &str, path: &str, cookie: &str, body: &[u8]) -> Reply {
    let is_in = cookie == "sid=7";
    match (method, path) {
        ("POST", "/login") if body == b"user=ann" => Reply {
            cookie: "sid=7; Path=/",
            ..Reply::to(303, "/home?from=login")
        },
        ("GET", "/home?from=login") if is_in => Reply::to(302, "pages/start"),
        ("GET", "/pages/start") if is_in => Reply::ok("welcome".into()),
        ("POST" | "PUT", "/old") => Reply::to(308, "/new"),
        (_, "/new") => Reply::ok(format!("{method} {}", body.len())),
        ("GET", "/loop") => Reply::to(302, "/loop"),
        ("GET", "/away") => Reply::to(302, "http://other.test/"),
        _ => Reply {
            status: 404,
            ..Reply::ok(format!("{method} {path} {cookie}"))
        },
    }
}

/// Over HTTP/1.1. It ends with the test's process, as the other.
fn http1_server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                while respond_http1(&mut reader).is_some() {}
            });
        }
    });
    address
}

fn respond_http1(reader: &mut BufReader<&TcpStream>) -> Option<()> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|&length| length > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut cookie) = (0, String::new());
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok()?;
        match field.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some(("cookie", value)) => cookie = value.to_owned(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let reply = reply(method, path, &cookie, &body);
    let mut head = format!("HTTP/1.1 {} x\r\n", reply.status);
    for (name, value) in reply.fields() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = &reply.body;
    let response = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let mut writer = *reader.get_ref();
    writer.write_all(response.as_bytes()).ok()
}

/// Over HTTP/2.
fn http2_server() -> SocketAddr {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_http2(stream));
            }
        });
    });
    address
}

async fn serve_http2(stream: tokio::net::TcpStream) -> Option<()> {
    let mut connection = h2::server::handshake(stream).await.ok()?;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            let (head, mut stream) = request.into_parts();
            let mut body = Vec::new();
            while let Some(Ok(piece)) = stream.data().await {
                let _ = stream.flow_control().release_capacity(piece.len());
                body.extend_from_slice(&piece);
            }
            let cookie = head
                .headers
                .get("cookie")
                .map_or("", |it| it.to_str().unwrap());
            let path = head.uri.path_and_query().unwrap().as_str();
            let reply = reply(head.method.as_str(), path, cookie, &body);
            let mut response = h2_response(&reply);
            *response.status_mut() = reply.status.try_into().unwrap();
            let mut stream = respond.send_response(response, false).unwrap();
            let _ = stream.send_data(Bytes::from(reply.body), true);
        });
    }
    None
}

fn h2_response(reply: &Reply) -> http::Response<()> {
    let mut response = http::Response::new(());
    for (name, value) in reply.fields() {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

/// The result of a load of that file, which ends with that status.
fn load_of(text: &str, host: SocketAddr, flags: &[&str], status: i32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hurl"), text).unwrap();
    let host = format!("host={host}");
    let all = ["a.hurl", "--json", "result.json", "--variable", &host];
    run(load(folder.path(), &[&all[..], flags].concat())).with(status);
    result(folder.path(), "result.json")
}

/// For each entry, its name, requests and responses that are ok.
fn rows(result: &Value) -> Vec<(String, u64, u64)> {
    let entries = result["flows"]["entries"].as_array().unwrap().iter();
    let row = |entry: &Value| {
        let ok = entry["outcomes"]["ok"].as_u64().unwrap_or(0);
        let name = entry["name"].as_str().unwrap().to_owned();
        (name, entry["requests"].as_u64().unwrap(), ok)
    };
    entries.map(row).collect()
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
    let servers = [
        (http1_server(), &[][..]),
        (http2_server(), &["--http2"][..]),
    ];
    for (server, protocol) in servers {
        for event_loop in LOOPS {
            for shape in [
                &["-n12", "-c3"][..],
                &["-n12", "--rate", "1k/s"],
                &["-n12", "-c2", "--think-time", "1ms"],
            ] {
                let flags = [protocol, shape, &["--loop", event_loop]].concat();
                let result = load_of(LOGIN, server, &flags, 0);
                assert_eq!(result["flows"]["ok"], 12, "{flags:?}");
                let expected = [("POST /login".into(), 36, 36), ("PUT /old".into(), 24, 24)];
                assert_eq!(rows(&result), expected, "{flags:?}");
                let statuses: BTreeMap<String, u64> =
                    serde_json::from_value(result["statuses"].clone()).unwrap();
                let statuses: Vec<(&str, u64)> = statuses
                    .iter()
                    .map(|(status, &count)| (&**status, count))
                    .collect();
                let expected = [("200", 24), ("302", 12), ("303", 12), ("308", 12)];
                assert_eq!(statuses, expected, "{flags:?}");
            }
        }
    }
}

#[test]
fn a_server_that_closes_each_connection_is_followed_over_new_ones() {
    let server = http1_server();
    let result = load_of(LOGIN, server, &["-n3", "-c1", "--no-keepalive"], 0);
    assert_eq!(result["flows"]["ok"], 3);
    assert_eq!(outcome(&result, "ok"), 15);
}

#[test]
fn redirects_that_cannot_be_followed_end_the_flow() {
    let server = http1_server();
    for (path, options, requests, reason) in [
        (
            "/loop",
            "max-redirs: 4\n",
            5,
            "a.hurl:1:5: HTTP connection: too many redirect".to_owned(),
        ),
        (
            "/away",
            "",
            1,
            format!(
                "a.hurl:1:1: the response redirects, but http://other.test/ is on another server than \
                 http://{server}; a load needs one server"
            ),
        ),
    ] {
        for event_loop in LOOPS {
            let text =
                format!("GET http://{{{{host}}}}{path}\n[Options]\nlocation: true\n{options}");
            let flags = ["-n3", "-c1", "--loop", event_loop];
            let result = load_of(&text, server, &flags, 1);
            assert_eq!(result["flows"]["failed"], 3);
            let entry = &result["flows"]["entries"][0];
            assert_eq!(entry["requests"], 3 * requests, "{path}");
            assert_eq!(entry["outcomes"]["wrong_status"], 3, "{path}");
            assert_eq!(entry["first_wrong"]["detail"], reason);
        }
    }
}
