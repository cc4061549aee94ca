//! HTTP/2 and gRPC with another implementation as the client: the crate `h2`.

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{PATIENCE, asset, start, workloads};
use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, SendRequest};
use http::{HeaderMap, Method, Request, StatusCode};
use prony_testkit::alone::alone;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::net::TcpStream;

fn with_client(address: SocketAddr, builder: &Builder, act: impl AsyncFnOnce(SendRequest<Bytes>)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let socket = TcpStream::connect(address).await.unwrap();
        let (client, connection) = builder.handshake(socket).await.unwrap();
        let connection = tokio::spawn(connection);
        tokio::time::timeout(PATIENCE, act(client)).await.unwrap();
        connection.abort();
    });
}

fn with_server(act: impl AsyncFnOnce(SendRequest<Bytes>)) {
    with_client(start(1).address, &Builder::new(), act);
}

struct Response {
    status: StatusCode,
    fields: HeaderMap,
    body: Vec<u8>,
    trailers: HeaderMap,
}

fn request(method: &str, path: &str) -> Request<()> {
    let uri = format!("http://localhost{path}");
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

/// Requests `path`, with this body if there is one.
async fn fetch(client: &SendRequest<Bytes>, request: Request<()>, body: Option<Bytes>) -> Response {
    let mut client = client.clone().ready().await.unwrap();
    let (response, mut stream) = client.send_request(request, body.is_none()).unwrap();
    if let Some(body) = body {
        // Waits for the server's windows by itself.
        stream.send_data(body, true).unwrap();
    }
    read(response.await.unwrap()).await
}

async fn read(response: http::Response<RecvStream>) -> Response {
    let (head, mut stream) = response.into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data.unwrap();
        stream.flow_control().release_capacity(data.len()).unwrap();
        body.extend_from_slice(&data);
    }
    Response {
        status: head.status,
        fields: head.headers,
        body,
        trailers: stream.trailers().await.unwrap().unwrap_or_default(),
    }
}

#[test]
fn every_workload_has_the_response_of_http_1() {
    let server = start(2);
    with_client(server.address, &Builder::new(), async |client| {
        for (path, content_type, body) in workloads() {
            for method in ["GET", "GET", "HEAD"] {
                let response = fetch(&client, request(method, path), None).await;
                assert_eq!(response.status, 200, "{path}");
                assert_eq!(response.fields["content-type"], content_type, "{path}");
                let date = response.fields["date"].to_str().unwrap();
                httpdate::parse_http_date(date).unwrap();
                let expected = if method == "HEAD" { "" } else { &body };
                assert!(response.body == expected.as_bytes(), "{method} {path}");
            }
        }
        let quote = fetch(&client, request("GET", "/franklin-says"), None).await;
        let quote = String::from_utf8(quote.body).unwrap();
        let quotes = asset("quotes.txt");
        assert!(quotes.lines().any(|line| line == quote.trim_end()));
        for (method, path, status) in [("GET", "/nothing", 404), ("PUT", "/hello", 405)] {
            let response = fetch(&client, request(method, path), None).await;
            assert_eq!(response.status, status);
        }
    });
    let logged =
        ["/log", "/sse", "/sse-20k"].map(|path| format!("GET {path}\nGET {path}\nHEAD {path}\n"));
    assert_eq!(server.log(), logged.concat());
}

/// Requests these workloads by their places, all at once, with bodies of these lengths if there are some.
async fn fetch_all(
    client: &SendRequest<Bytes>,
    requests: impl IntoIterator<Item = (usize, Option<usize>)>,
) {
    let workloads = workloads();
    let fetch_one = |(place, upload): (usize, Option<usize>)| {
        let (client, (path, _, body)) = (client.clone(), workloads[place].clone());
        tokio::spawn(async move {
            let upload = upload.map(|length| Bytes::from(vec![0; length]));
            let response = fetch(&client, request("GET", path), upload).await;
            assert!(response.body == body.as_bytes(), "{path}");
        })
    };
    let tasks: Vec<_> = requests.into_iter().map(fetch_one).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn many_streams_at_once_get_their_responses() {
    with_server(async |client| {
        fetch_all(&client, (0..500).map(|number| (number % 6, None))).await;
    });
}

#[test]
fn any_windows_and_any_mix_of_requests_work() {
    let server = start(1);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(24));
    let inputs = (
        2000u32..200_000,
        65_535u32..400_000,
        prop_oneof![Just(0u32), 1u32..5000],
        prop::collection::vec((0..6usize, prop::option::of(0..100_000usize)), 1..30),
    );
    let run = |(window, connection, table, requests)| {
        let mut builder = Builder::new();
        builder
            .initial_window_size(window)
            .initial_connection_window_size(connection)
            .header_table_size(table);
        with_client(server.address, &builder, async |client| {
            fetch_all(&client, requests).await;
        });
        Ok(())
    };
    runner.run(&inputs, run).unwrap();
}

#[test]
fn a_stream_that_is_reset_affects_no_other() {
    let server = start(1);
    let mut builder = Builder::new();
    builder.initial_window_size(1000);
    with_client(server.address, &builder, async |client| {
        for _ in 0..100 {
            let mut ready = client.clone().ready().await.unwrap();
            let (response, _) = ready.send_request(request("GET", "/sse"), true).unwrap();
            let response = response.await.unwrap();
            // Dropping the body resets the stream in the middle.
            drop(response);
        }
        let response = fetch(&client, request("GET", "/byte"), None).await;
        assert_eq!(response.body, b"r");
    });
}

fn call(method: &str) -> Request<()> {
    let mut request = request("POST", &format!("/prony.echo.v1.Echo/{method}"));
    *request.method_mut() = Method::POST;
    let fields = request.headers_mut();
    fields.insert("content-type", "application/grpc".parse().unwrap());
    fields.insert("te", "trailers".parse().unwrap());
    request
}

/// A message with a payload shorter than 128 bytes, and its count.
fn message(payload: &str, count: u8) -> Vec<u8> {
    let mut message = vec![0x0a, payload.len() as u8];
    message.extend_from_slice(payload.as_bytes());
    if count > 0 {
        message.extend_from_slice(&[0x10, count]);
    }
    let mut framed = vec![0, 0, 0, 0, message.len() as u8];
    framed.extend(message);
    framed
}

#[test]
fn each_kind_of_call_works() {
    with_server(async |client| {
        let grpc = (200, &b"application/grpc"[..]);
        let three = [message("a", 0), message("b", 0), message("c", 0)].concat();
        for (method, sent, expected) in [
            ("Unary", message("hi", 0), message("hi", 0)),
            ("ServerStream", message("b", 3), message("b", 0).repeat(3)),
            ("ClientStream", three.clone(), message("c", 3)),
            ("BidiStream", three.clone(), three.clone()),
        ] {
            let response = fetch(&client, call(method), Some(sent.into())).await;
            let content_type = response.fields["content-type"].as_bytes();
            assert_eq!((response.status.as_u16(), content_type), grpc, "{method}");
            assert_eq!(response.body, expected, "{method}");
            assert_eq!(response.trailers["grpc-status"], "0", "{method}");
        }
    });
}

#[test]
fn failures_are_trailers_alone() {
    with_server(async |client| {
        let compressed = [&[1], &message("hi", 0)[1..]].concat();
        for (method, sent, status) in [
            ("Other", message("hi", 0), "12"),
            ("Unary", compressed, "12"),
            ("Unary", vec![], "13"),
            ("Unary", vec![0, 0, 0, 0, 1, 0xff], "3"),
            ("Unary", vec![0, 0xff, 0, 0, 0], "8"),
        ] {
            let response = fetch(&client, call(method), Some(sent.into())).await;
            assert_eq!(response.fields["grpc-status"], status, "{method}");
            assert!(response.fields.contains_key("grpc-message"));
            assert!(response.body.is_empty() && response.trailers.is_empty());
        }
    });
}

#[test]
fn messages_go_back_and_forth() {
    with_server(async |client| {
        let mut client = client.ready().await.unwrap();
        let (response, mut sending) = client.send_request(call("BidiStream"), false).unwrap();
        // The head comes before the first message.
        let mut receiving = response.await.unwrap().into_body();
        for number in 0..100 {
            let message = message(&number.to_string(), 0);
            sending.send_data(message.clone().into(), false).unwrap();
            let mut received = Vec::new();
            while received.len() < message.len() {
                let data = receiving.data().await.unwrap().unwrap();
                let mut window = receiving.flow_control().clone();
                window.release_capacity(data.len()).unwrap();
                received.extend_from_slice(&data);
            }
            assert_eq!(received, message);
        }
        sending.send_data(Bytes::new(), true).unwrap();
        assert!(receiving.data().await.is_none());
        let trailers = receiving.trailers().await.unwrap().unwrap();
        assert_eq!(trailers["grpc-status"], "0");
    });
}

#[test]
fn long_messages_go_back_and_forth() {
    let server = start(1);
    let payload = vec![b'x'; 1 << 20];
    let mut message = vec![0, 0, 0x10, 0, 4, 0x0a, 0x80, 0x80, 0x40];
    message.extend_from_slice(&payload);
    with_client(server.address, &Builder::new(), async |client| {
        for method in ["Unary", "BidiStream"] {
            let sent = match method {
                "Unary" => message.clone(),
                _ => message.repeat(10),
            };
            let response = fetch(&client, call(method), Some(sent.clone().into())).await;
            assert!(response.body == sent, "{method}");
            assert_eq!(response.trailers["grpc-status"], "0");
        }
    });
}

#[test]
fn a_connection_with_broken_frames_ends_and_affects_no_other() {
    let server = start(1);
    let mut client = server.connect();
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x06\0\0\0\0\0");
    let bytes = client.rest();
    // The last frame is a GOAWAY with PROTOCOL_ERROR.
    let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert!(bytes.ends_with(&goaway), "{bytes:?}");
    assert_eq!(server.connect().get("/byte").body, "r");
}

/// Other tests take memory too, so the server and its client have a process of their own.
#[test]
fn a_client_that_never_reads_takes_no_memory_for_its_responses() {
    alone(
        "http2::a_client_that_never_reads_takes_no_memory_for_its_responses",
        never_read,
    );
}

fn never_read() {
    let server = start(1);
    let before = resident_kib();
    let mut builder = Builder::new();
    builder.initial_window_size(0);
    with_client(server.address, &builder, async |client| {
        let mut responses = Vec::new();
        for _ in 0..1000 {
            let mut client = client.clone().ready().await.unwrap();
            let (response, _) = client.send_request(request("GET", "/sse"), true).unwrap();
            responses.push(response.await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 20 << 10, "{grown} KiB");
    });
}

/// The memory of this process, which is the server's too.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse().unwrap()
}
