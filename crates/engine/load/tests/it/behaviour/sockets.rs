//! Rare events on a TCP connection: immediate resets, and urgent data.

use prony_model::Seconds;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use prony_load::{Endpoint, EventLoopChoice};
use prony_testkit::connections::serve;
use socket2::{Domain, SockRef, Socket, Type};

use crate::plans::{assert_outcomes, even, get_from, load, summary};
use crate::scripted::HELLO;

over_each_loop!(
    an_immediate_reset_is_a_reset,
    a_connection_that_the_kernel_never_accepts_times_out,
    urgent_data_is_ignored_and_stalls_nothing
);

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
    let result = load(&get_from(event_loop, resetting(), 2000).with(|plan| {
        plan.load.connections = 8;
        plan.load.max_connections = Some(8);
    }));
    assert_outcomes(&result, "2000 reset");
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

/// Responds to each request in pieces. The exclamation mark is urgent.
fn in_pieces(mut stream: TcpStream, pieces: &[&[u8]], pause: Duration) -> Option<()> {
    stream.set_nodelay(true).unwrap();
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer).ok().filter(|length| *length > 0)?;
        request.extend_from_slice(&buffer[..length]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        for piece in pieces {
            match *piece {
                b"!" => SockRef::from(&stream).send_out_of_band(piece).map(drop),
                _ => stream.write_all(piece),
            }
            .ok()?;
            thread::sleep(pause);
        }
    }
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n";
const HALF: &[u8] = &[b'x'; 100_000];
const PARTS: (&[u8], &[u8]) = HELLO.split_at(25);

/// The urgent byte is not part of the stream, as in curl and every browser.
fn urgent_data_is_ignored_and_stalls_nothing(event_loop: EventLoopChoice) {
    let cases: [(&'static [&'static [u8]], u64); 5] = [
        (&[PARTS.0, b"!", PARTS.1], 0),
        (&[b"!", HELLO], 0),
        (&[HELLO, b"!"], 0),
        (&[HEAD, HALF, b"!", HALF], 0),
        (&[PARTS.0, b"!", PARTS.1], 20),
    ];
    for (case, (pieces, pause_ms)) in cases.into_iter().enumerate() {
        let pause = Duration::from_millis(pause_ms);
        let address = serve(move |stream| in_pieces(stream, pieces, pause));
        let result = load(&get_from(event_loop, address, 60));
        assert_eq!(summary(&result.outcomes), "60 ok", "{case}");
        // It does not poll while it waits.
        let calls = result.generator.system_calls as f64 / 60.0;
        assert!(calls < 200.0, "{case}: {calls} system calls per request");
    }
}

fn a_connection_that_the_kernel_never_accepts_times_out(event_loop: EventLoopChoice) {
    // A queue of one that nobody empties: the kernel does not respond to later connects.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let _queued = TcpStream::connect(address).unwrap();
    let result = load(&get_from(event_loop, address, 5).with(|plan| {
        plan.load.shape = even(100.0);
        plan.load.threads = 1;
        plan.load.connections = 2;
        plan.load.max_connections = Some(2);
        plan.load.timeout = Seconds::from_millis(100);
    }));
    assert_outcomes(&result, "5 timed_out");
    assert_eq!(
        result.first_wrong.unwrap().detail,
        "no connection within 100ms"
    );
}
