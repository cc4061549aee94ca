use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use nix::errno::Errno;
use prony_kernel::{Completion, Receive, Ring, RingSettings};
use prony_testkit::connections::refusing;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::ring::driver::{SETTINGS, next, next_received, next_within, received, ring};

fn tcp() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
}

/// The results of the next connects, by slot.
fn connected<const N: usize>(ring: &mut Ring) -> [(usize, Result<(), Errno>); N] {
    let mut results = [(); N].map(|()| match next(ring) {
        (slot, Completion::Connected(result)) => (slot, result),
        other => panic!("{other:?}"),
    });
    results.sort_by_key(|(slot, _)| *slot);
    results
}

/// More at a time than are submitted together, each to its own address.
#[test]
fn concurrent_connects_each_reach_their_own_server() {
    let mut ring = ring(&RingSettings {
        slots: 150,
        ..SETTINGS
    });
    let listener = || TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners = [(); 150].map(|()| listener());
    for (slot, listener) in listeners.iter().enumerate() {
        let address = SockAddr::from(listener.local_addr().unwrap());
        ring.connect(slot, tcp().into(), &address);
    }
    for _ in &listeners {
        let (slot, Completion::Connected(Ok(()))) = next_received(&mut ring) else {
            panic!("not connected");
        };
        assert_eq!(ring.send(slot, &(slot as u32).to_be_bytes()), 4);
        ring.receive(slot, Receive::Many);
    }
    for (slot, listener) in listeners.iter().enumerate() {
        let (mut peer, _) = listener.accept().unwrap();
        let mut bytes = [0; 4];
        ring.submit().unwrap();
        std::io::Read::read_exact(&mut peer, &mut bytes).unwrap();
        assert_eq!(u32::from_be_bytes(bytes), slot as u32);
    }
}

#[test]
fn a_refused_connect_is_reported_and_the_slot_is_reusable() {
    let mut ring = ring(&SETTINGS);
    let (_bound, nobody) = refusing();
    for _ in 0..3 {
        ring.connect(0, tcp().into(), &nobody.into());
        assert_eq!(connected(&mut ring), [(0, Err(Errno::ECONNREFUSED))]);
        ring.close(0);
    }
}

#[test]
fn a_unix_socket_connects() {
    let mut ring = ring(&SETTINGS);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let socket = || Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    ring.connect(0, socket().into(), &SockAddr::unix(&path).unwrap());
    assert_eq!(connected(&mut ring), [(0, Ok(()))]);
    let (mut peer, _) = listener.accept().unwrap();
    std::io::Write::write_all(&mut peer, b"hello").unwrap();
    ring.receive(0, Receive::Many);
    let chunk = received(&mut ring, 0);
    assert_eq!(chunk[..], *b"hello");
    let missing = folder.path().join("missing");
    ring.connect(1, socket().into(), &SockAddr::unix(missing).unwrap());
    assert_eq!(connected(&mut ring), [(1, Err(Errno::ENOENT))]);
}

/// The listener's queue is full, so the connect stays under way.
#[test]
fn a_connect_under_way_can_be_closed() {
    let mut ring = ring(&SETTINGS);
    let listener = tcp();
    listener
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut count = 0;
    for slot in 0..8 {
        ring.connect(slot, tcp().into(), &address);
    }
    while let Some((_, completion)) = next_within(&mut ring, Duration::from_millis(200)) {
        let is_connected = matches!(completion, Completion::Connected(Ok(())));
        assert!(is_connected, "{completion:?}");
        count += 1;
    }
    assert!(count < 8);
    for slot in 0..8 {
        ring.close(slot);
    }
    assert!(next_within(&mut ring, Duration::from_millis(50)).is_none());
    // The slots can be used again.
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    for slot in 0..8 {
        ring.connect(slot, tcp().into(), &open.local_addr().unwrap().into());
    }
    let results = connected::<8>(&mut ring);
    assert!(results.iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn a_connect_begun_elsewhere_is_reported() {
    let mut ring = ring(&SETTINGS);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap();
    let (_bound, closed) = refusing();
    for (slot, address) in [open, closed].into_iter().enumerate() {
        let socket = tcp();
        socket.set_nonblocking(true).unwrap();
        let begun = socket.connect(&address.into()).unwrap_err();
        assert_eq!(begun.raw_os_error(), Some(libc::EINPROGRESS));
        socket.set_nonblocking(false).unwrap();
        ring.adopt_connecting(slot, socket.into());
    }
    let results = connected::<2>(&mut ring);
    assert_eq!(results, [(0, Ok(())), (1, Err(Errno::ECONNREFUSED))]);
    assert_eq!(ring.send(0, b"x"), 1);
}
