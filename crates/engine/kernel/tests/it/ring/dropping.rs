use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use prony_kernel::{Receive, Ring, RingSettings, SEND_ROOM};
use socket2::{Domain, Socket, Type};

use crate::ring::driver::{PATIENCE, SETTINGS, adopt, ring};

/// Has operations of every kind under way: sends that nobody reads, receives with and without data, connects, closes.
fn busy(ring: &mut Ring) -> Vec<TcpStream> {
    let mut peers = Vec::new();
    let receives = [
        Receive::Many,
        Receive::Once { at_most: 9 },
        Receive::Skip(1 << 20),
    ];
    for slot in 0..48 {
        let mut theirs = adopt(ring, slot);
        if slot % 2 == 0 {
            theirs.write_all(&[7; 1000]).unwrap();
        }
        ring.receive(slot, receives[slot % 3]);
        ring.send(slot, &[1; SEND_ROOM]);
        peers.push(theirs);
    }
    for _ in 0..20 {
        ring.wait(Duration::ZERO).unwrap();
        while let Some((slot, _)) = ring.next() {
            ring.send(slot, &[2; SEND_ROOM]);
        }
    }
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .unwrap();
    listener.listen(0).unwrap();
    for slot in 48..64 {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        ring.connect(slot, socket.into(), &listener.local_addr().unwrap());
    }
    (0..8).for_each(|slot| ring.close(slot));
    peers
}

#[test]
fn dropping_a_ring_ends_its_operations_and_closes_its_sockets() {
    for round in 0..8 {
        let mut ring = ring(&SETTINGS);
        let peers = busy(&mut ring);
        if round % 2 == 0 {
            ring.submit().unwrap();
        }
        drop(ring);
        for mut peer in peers {
            peer.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut all = Vec::new();
            // The connection ends or is reset, but must not stay open.
            if let Err(error) = peer.read_to_end(&mut all) {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
            assert!(all.iter().all(|byte| [1, 2].contains(byte)));
        }
    }
}

/// The kernel ends only a limited number of operations per turn.
#[test]
fn dropping_a_ring_closes_thousands_of_sockets() {
    let mut ring = ring(&RingSettings {
        slots: 2000,
        ..SETTINGS
    });
    let mut peers = Vec::new();
    for slot in 0..2000 {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ring.adopt(slot, ours.into());
        ring.receive(slot, Receive::Many);
        peers.push(theirs);
    }
    ring.wait(Duration::ZERO).unwrap();
    drop(ring);
    for mut peer in peers {
        // Not at once: a child of another test that has just started holds all sockets until it executes.
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(peer.read(&mut [0; 10]).unwrap(), 0);
    }
}

#[test]
fn a_thread_may_open_many_rings() {
    (0..100).for_each(|_| drop(ring(&SETTINGS)));
    let mut all = Vec::new();
    for _ in 0..20 {
        // More rings than descriptors the kernel registers for a thread.
        let mut ring = ring(&SETTINGS);
        ring.wait(Duration::ZERO).unwrap();
        all.push(ring);
    }
}

#[test]
fn a_panic_with_operations_under_way_is_harmless() {
    let thread = std::thread::spawn(|| {
        let mut ring = ring(&SETTINGS);
        let _peers = busy(&mut ring);
        panic!("on purpose");
    });
    assert!(thread.join().is_err());
}
