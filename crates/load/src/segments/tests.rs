//! Servers whose writes are known.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::tls::{HttpVersion, Offer, TlsSettings, Trust};
use crate::{HttpUrl, Request};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Responds to each request with these writes, each of which leaves at once.
fn serve(writes: &'static [&'static str], stays_open: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || respond(&stream, &stream, writes, stays_open));
        }
    });
    address
}

fn respond(from: impl Read, mut to: impl Write, writes: &[&str], stays_open: bool) {
    let lines = BufReader::new(from).lines();
    for _end in lines.map_while(Result::ok).filter(String::is_empty) {
        for write in writes {
            to.write_all(write.as_bytes()).unwrap();
            to.flush().unwrap();
        }
        if !stays_open {
            return;
        }
    }
}

fn request() -> LoadRequest {
    let url: HttpUrl = "http://localhost/".parse().unwrap();
    Request::new("GET", &url, &[], b"").unwrap().into()
}

fn count(address: SocketAddr, tls: Option<&TlsClient>) -> Segments {
    segments_of(&address.into(), &request(), tls, 20, TIMEOUT).unwrap()
}

/// On a busy machine the kernel may send a segment again before it is acknowledged, but not each time.
fn until_counted(expected: &Segments, count: impl Fn() -> Segments) {
    let counted: Vec<_> = (0..20)
        .map(|_| count())
        .take_while(|it| it != expected)
        .collect();
    assert!(counted.len() < 20, "{expected:?}, but {counted:?}");
}

fn length(writes: &[&str]) -> u64 {
    writes.iter().map(|write| write.len() as u64).sum()
}

#[test]
fn a_response_in_one_write_is_a_segment() {
    let writes = &["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"];
    let address = serve(writes, true);
    let expected = Segments {
        responses: 20,
        bytes: 20 * length(writes),
        segments: 20,
        events: 0,
    };
    until_counted(&expected, || count(address, None));
}

const STREAM: &[&str] = &[
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
    "9\r\ndata: 1\n\n\r\n",
    "9\r\ndata: 2\n\n\r\n",
    "9\r\ndata: 3\n\n\r\n",
    "0\r\n\r\n",
];

#[test]
fn a_stream_that_is_written_event_by_event_has_as_many_segments() {
    let address = serve(STREAM, true);
    let expected = Segments {
        responses: 20,
        bytes: 20 * length(STREAM),
        segments: 20 * 5,
        events: 20 * 3,
    };
    until_counted(&expected, || count(address, None));
}

#[test]
fn a_server_that_closes_each_connection_is_counted() {
    let writes = &[
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n",
        "hello",
    ];
    let address = serve(writes, false);
    let expected = Segments {
        responses: 20,
        bytes: 20 * length(writes),
        segments: 40,
        events: 0,
    };
    until_counted(&expected, || count(address, None));
}

/// A certificate that nobody signed, for TLS 1.3.
fn server_config() -> Arc<ServerConfig> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let config =
        ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.into());
    Arc::new(config.unwrap())
}

fn serve_tls(writes: &'static [&'static str]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = server_config();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            let connection = ServerConnection::new(config.clone()).unwrap();
            thread::spawn(move || respond_tls(StreamOwned::new(connection, stream), writes));
        }
    });
    address
}

fn respond_tls(mut stream: StreamOwned<ServerConnection, TcpStream>, writes: &[&str]) {
    let mut head = Vec::new();
    let mut byte = [0];
    while let Ok(1) = stream.read(&mut byte) {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        head.clear();
        for write in writes {
            stream.write_all(write.as_bytes()).unwrap();
            stream.flush().unwrap();
        }
    }
}

/// Each record of TLS 1.3 has 22 bytes more than its content: a header of 5, the type, and a tag of 16.
#[test]
fn tls_adds_its_records_and_neither_handshake_nor_tickets() {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let client = settings
        .client("localhost", Offer::Only(HttpVersion::Http1))
        .unwrap();
    let address = serve_tls(STREAM);
    let expected = Segments {
        responses: 20,
        bytes: 20 * (length(STREAM) + 5 * 22),
        segments: 20 * 5,
        events: 20 * 3,
    };
    until_counted(&expected, || count(address, Some(&client)));
}

#[test]
fn a_socket_without_segments_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let response = &["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"];
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        respond(&stream, &stream, response, true);
    });
    let counted = segments_of(&Endpoint::Unix(path), &request(), None, 1, TIMEOUT);
    assert!(
        matches!(counted, Err(SegmentsError::NotCounted)),
        "{counted:?}"
    );
}

#[test]
fn a_server_that_does_not_respond_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let counted = segments_of(&address.into(), &request(), None, 1, TIMEOUT);
    assert!(
        matches!(counted, Err(SegmentsError::Exchange(_))),
        "{counted:?}"
    );
}
