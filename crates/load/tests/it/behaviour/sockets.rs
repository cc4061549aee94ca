//! Rare events on a TCP connection: immediate resets, and urgent data.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use prony_load::{Endpoint, EventLoopChoice, LoadPlan};
use prony_model::Outcome;
use socket2::SockRef;

use crate::plans::{assert_outcome, get_from, load};

over_each_loop!(
    an_immediate_reset_is_a_reset,
    urgent_data_is_ignored_and_stalls_nothing
);

/// A server that runs `conversation` with every connection, each on its own thread.
fn server(conversation: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || conversation(stream.unwrap()));
        }
    });
    address
}

/// Resets every connection on the thread that accepts it, as early as possible.
fn resetting() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            SockRef::from(&stream)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
        }
    });
    address
}

fn an_immediate_reset_is_a_reset(event_loop: EventLoopChoice) {
    let address = resetting();
    let plan = LoadPlan {
        connections: 8,
        max_connections: 8,
        ..get_from(event_loop, address, 2000)
    };
    let result = load(&plan);
    assert_outcome(&result, Outcome::Reset, 2000);
    assert_eq!(result.connections_opened, 2000);
}

#[test]
fn a_server_that_resets_at_once_is_reachable() {
    let endpoint = Endpoint::Tcp(resetting());
    for _ in 0..200 {
        let there = endpoint.clone().connectable(Duration::from_secs(20));
        assert_eq!(there.unwrap(), endpoint);
    }
}

/// Responds to each request in pieces; the last byte of a piece marked `true` is urgent.
fn in_pieces(mut stream: TcpStream, pieces: &[(&[u8], bool)], pause: Duration) {
    stream.set_nodelay(true).unwrap();
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(length) => request.extend_from_slice(&buffer[..length]),
        }
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        for (bytes, urgent) in pieces {
            let sent = match urgent {
                true => SockRef::from(&stream).send_out_of_band(bytes).map(drop),
                false => stream.write_all(bytes),
            };
            if sent.is_err() {
                return;
            }
            thread::sleep(pause);
        }
    }
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n";
const HALF: &[u8] = &[b'x'; 100_000];

/// The urgent byte is not part of the stream, as in curl and every browser.
fn urgent_data_is_ignored_and_stalls_nothing(event_loop: EventLoopChoice) {
    let at_once: [fn(TcpStream); 5] = [
        |stream| {
            let pieces: [(&[u8], bool); 3] = [
                (b"HTTP/1.1 200 OK\r\nContent-Le", false),
                (b"!", true),
                (b"ngth: 5\r\n\r\nhello", false),
            ];
            in_pieces(stream, &pieces, Duration::ZERO);
        },
        |stream| {
            let pieces: [(&[u8], bool); 2] = [
                (b"!", true),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
            ];
            in_pieces(stream, &pieces, Duration::ZERO);
        },
        |stream| {
            let pieces: [(&[u8], bool); 2] = [
                (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
                (b"!", true),
            ];
            in_pieces(stream, &pieces, Duration::ZERO);
        },
        |stream| {
            let pieces = [(HEAD, false), (HALF, false), (b"!", true), (HALF, false)];
            in_pieces(stream, &pieces, Duration::ZERO);
        },
        |stream| {
            let pieces: [(&[u8], bool); 3] = [
                (b"HTTP/1.1 200 OK\r\nContent-Le", false),
                (b"!", true),
                (b"ngth: 5\r\n\r\nhello", false),
            ];
            in_pieces(stream, &pieces, Duration::from_millis(20));
        },
    ];
    for (case, conversation) in at_once.into_iter().enumerate() {
        let mut plan = get_from(event_loop, server(conversation), 60);
        plan.timeout = Duration::from_secs(5);
        let result = load(&plan);
        assert_eq!(
            result.outcomes[Outcome::Ok],
            60,
            "{case}: {:?}",
            result.first_wrong
        );
        // It does not poll while it waits.
        let calls = result.generator.system_calls as f64 / 60.0;
        assert!(calls < 200.0, "{case}: {calls} system calls per request");
    }
}
