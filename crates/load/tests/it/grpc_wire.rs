//! gRPC calls over real sockets, against the HTTP/2 server of the `h2` crate.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{self, SendResponse};
use http::{HeaderMap, HeaderValue, Request};
use prony_load::Response;
use prony_load::wire::grpc::Call;
use prony_load::wire::h1::Collect;
use prony_load::wire::h2::{H2Wire, StreamRequest};
use prony_load::wire::{End, OnClose, Responses, Which, Whole, Wire};

/// How many calls a connection of the server takes before it goes away.
const CALLS: usize = 100;

/// A server that echoes each message, and responds to `/x/Fail` with an error.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = { runtime }.enable_io().build().unwrap();
                runtime.block_on(serve_connection(stream));
            });
        }
    });
    address
}

async fn serve_connection(stream: TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    let mut connection = server::handshake(stream).await.unwrap();
    let mut calls = 0;
    while let Some(accepted) = connection.accept().await {
        let Ok((request, respond)) = accepted else {
            return;
        };
        calls += 1;
        if calls == CALLS {
            connection.graceful_shutdown();
        }
        // In its own task: the connection must be polled on.
        tokio::task::spawn(response(request, respond, calls));
    }
}

async fn response(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, number: usize) {
    assert_eq!(request.method(), "POST");
    assert_eq!(request.headers()["te"], "trailers");
    assert_eq!(request.headers()["content-type"], "application/grpc");
    let fails = request.uri().path() == "/x/Fail";
    let mut response = http::Response::new(());
    let fields = response.headers_mut();
    fields.insert("content-type", HeaderValue::from_static("application/grpc"));
    if fails {
        fields.insert("grpc-status", 5.into());
        fields.insert("grpc-message", HeaderValue::from_static("not%20here"));
        respond.send_response(response, true).unwrap();
        return;
    }
    // A different value each time, some of them long: the table fills up and evicts the oldest.
    let value = format!("{number}-{}", "v".repeat(number * 37 % 1000));
    fields.insert("x-number", value.try_into().unwrap());
    let mut body = request.into_body();
    let mut send = respond.send_response(response, false).unwrap();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        send.send_data(piece, false).unwrap();
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", 0.into());
    send.send_trailers(trailers).unwrap();
}

/// One connection to the server.
struct Client<'a> {
    stream: TcpStream,
    wire: H2Wire<'a>,
}

/// Keeps the one response.
struct Kept(Collect);

impl Responses for Kept {
    fn begun(&mut self, _: usize) {}

    fn keep(&mut self, _: usize) -> Option<&mut Collect> {
        Some(&mut self.0)
    }

    fn events(&mut self, _: usize, _: u64) {}
}

impl<'a> Client<'a> {
    fn connect(address: SocketAddr, call: &'a StreamRequest) -> Self {
        Self {
            stream: TcpStream::connect(address).unwrap(),
            wire: H2Wire::new(std::slice::from_ref(call), false),
        }
    }

    /// Sends the call and reads the response, `size` bytes at a time.
    fn call(&mut self, size: usize) -> (Whole, Response) {
        let (mut kept, mut buffer) = (Kept(Collect::default()), vec![0; size]);
        self.wire.request(Which::default());
        loop {
            while !self.wire.unsent().is_empty() {
                let sent = self.stream.write(self.wire.unsent()).unwrap();
                self.wire.sent(sent);
            }
            let length = self.stream.read(&mut buffer).unwrap();
            if length == 0 {
                panic!("closed: {:?}", self.wire.close());
            }
            let mut bytes = &buffer[..length];
            let mut whole = None;
            while !bytes.is_empty() {
                let eaten = self.wire.eat(bytes, &mut kept).unwrap();
                bytes = &bytes[eaten.bytes..];
                whole = eaten.ended.or(whole);
            }
            match whole.map(|ended| ended.end) {
                None => {}
                Some(End::Whole(whole)) => return (whole, kept.0.into_response()),
                Some(end) => panic!("{end:?}"),
            }
        }
    }
}

fn call(path: &str, message: &[u8]) -> StreamRequest {
    let message = message.to_vec();
    Call::unary(path, "localhost", &message).encode().unwrap()
}

#[test]
fn calls_get_a_response_until_the_server_goes_away() {
    let call = call("/x/Echo", b"\x0a\x01x");
    let mut client = Client::connect(serve(), &call);
    for number in 1..=CALLS {
        let (whole, response) = client.call(1 + number * 7);
        assert_eq!((whole.status, whole.rpc_status), (200, Some(0)));
        assert_eq!((whole.body_bytes, &*response.body), (3, &b"\x0a\x01x"[..]));
        let value = response.header("x-number").unwrap();
        assert_eq!(value.split_once('-').unwrap().0, number.to_string());
        assert_eq!(response.header("grpc-status"), Some("0"));
        let takes_more = !client.wire.is_finished();
        assert_eq!(takes_more, number < CALLS, "call {number}");
    }
}

#[test]
fn long_messages_go_both_ways() {
    let message: Vec<u8> = (0..3_000_000u32)
        .map(|number| (number >> 4) as u8)
        .collect();
    let call = call("/x/Echo", &message);
    let mut client = Client::connect(serve(), &call);
    for _ in 0..2 {
        let (whole, response) = client.call(64 * 1024);
        assert_eq!(whole.body_bytes, 3_000_000);
        assert!(response.body == message);
    }
}

#[test]
fn an_error_is_a_response() {
    let call = call("/x/Fail", b"");
    let mut client = Client::connect(serve(), &call);
    for _ in 0..3 {
        let (whole, response) = client.call(1000);
        assert_eq!((whole.rpc_status, whole.keep_alive), (Some(5), true));
        assert_eq!(response.header("grpc-message"), Some("not here"));
        assert_eq!(client.wire.message(), Some("not here"));
    }
    assert_eq!(client.wire.close(), OnClose::BeforeResponse);
}
