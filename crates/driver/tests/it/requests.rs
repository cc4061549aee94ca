//! Every installed tool sends the request that its driver describes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

use prony_driver::{Catalogue, Load, Resources, Tool};

/// What a server received.
#[derive(Default)]
struct Seen {
    /// The first request, its head and its body.
    first: Option<(String, Vec<u8>)>,
    /// Connections with at least one request.
    connections: u64,
    requests: u64,
}

type Shared = Arc<Mutex<Seen>>;

/// Starts a server that responds to everything with 200, and returns its address. It runs until the test process ends.
fn server() -> (String, Shared) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = Shared::default();
    let kept = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = kept.clone();
            thread::spawn(move || {
                let mut responded = 0;
                while respond(&stream, &kept, responded).is_some() {
                    responded += 1;
                }
            });
        }
    });
    (address, seen)
}

/// Reads a request, records it and responds; `None` if that was the last one on the connection.
fn respond(stream: &TcpStream, seen: &Shared, responded: u64) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(line);
        head.push('\n');
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let lower = head.to_lowercase();
    let keeps = match lower.contains(" http/1.1") {
        true => !lower.contains("connection: close"),
        false => lower.contains("connection: keep-alive"),
    };
    {
        let mut seen = seen.lock().unwrap();
        seen.first.get_or_insert((head, body));
        seen.connections += u64::from(responded == 0);
        seen.requests += 1;
    }
    let connection = if keeps { "keep-alive" } else { "close" };
    let text =
        format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: {connection}\r\n\r\nok");
    let mut writer = stream;
    writer.write_all(text.as_bytes()).ok()?;
    keeps.then_some(())
}

/// Checks what each installed tool sends for the load that `change` gives; only tools in `cannot` may be unable to
/// generate it. Other tests cover Prony itself; ghz does not speak HTTP/1.1.
fn each_tool(change: impl Fn(Load) -> Load, cannot: &[&str], check: impl Fn(&str, &Seen)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers");
    let drivers = Catalogue::read(&folder).unwrap();
    for id in drivers.ids().filter(|id| !["ghz", "prony"].contains(id)) {
        let manifest = drivers.get(id).unwrap();
        let tool = match Tool::find(id, manifest, Path::new("prony")) {
            Ok(tool) => tool,
            Err(error) => {
                eprintln!("LEFT OUT {id}: {error}");
                continue;
            }
        };
        let (address, seen) = server();
        let load = change(Load::new(format!("http://{address}/there?a=b")));
        if let Some(why) = tool.unsupported(&load) {
            assert!(cannot.contains(&id), "{id}: {why}");
            continue;
        }
        let result = tool.run(&load, &Resources::default(), &AtomicBool::new(false));
        let result = result.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(result.reported.ok > 0, "{id}: {result:?}");
        check(id, &seen.lock().unwrap());
    }
}

fn first(seen: &Seen) -> (&str, &[u8]) {
    let (head, body) = seen.first.as_ref().unwrap();
    (head, body)
}

#[test]
fn a_plain_request_is_a_get_over_a_kept_connection() {
    each_tool(
        |load| load,
        &[],
        |id, seen| {
            let (head, body) = first(seen);
            assert!(head.starts_with("GET /there?a=b HTTP/1."), "{id}: {head}");
            assert!(body.is_empty(), "{id}");
            // Connections are kept open.
            assert!(
                seen.requests >= 10 * seen.connections,
                "{id}: {}",
                seen.connections
            );
        },
    );
}

#[test]
fn close_opens_a_connection_for_each_request() {
    each_tool(
        |load| Load {
            close: true,
            ..load
        },
        &["h2load"],
        |id, seen| assert_eq!(seen.connections, seen.requests, "{id}"),
    );
}

#[test]
fn the_method_headers_and_body_are_sent() {
    each_tool(
        |load| Load {
            method: Some("POST".to_owned()),
            headers: vec!["X-One: 1".to_owned(), "X-Two: b: c".to_owned()],
            body: b"a body\nof two lines".to_vec(),
            ..load
        },
        &["ab"],
        |id, seen| {
            let (head, body) = first(seen);
            assert!(head.starts_with("POST /there?a=b HTTP/1."), "{id}: {head}");
            let lower = head.to_lowercase();
            assert!(
                lower.contains("x-one: 1\n") && lower.contains("x-two: b: c\n"),
                "{id}: {head}"
            );
            assert_eq!(body, b"a body\nof two lines", "{id}");
        },
    );
}
