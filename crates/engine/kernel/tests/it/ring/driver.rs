//! What the tests share: a ring, peers, and a bounded wait.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use prony_kernel::{Chunk, Completion, Ring, RingSettings};
use socket2::SockRef;

/// Nothing here takes that long, however busy the machine is.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const SETTINGS: RingSettings = RingSettings {
    slots: 64,
    small_buffers: 128,
    small_buffer_bytes: 512,
    large_buffers: 16,
    large_buffer_bytes: 16 * 1024,
};

/// A ring. Fails the test if the kernel gives none: passing would mean nothing.
pub(super) fn ring(settings: &RingSettings) -> Ring {
    Ring::new(settings).unwrap_or_else(|error| {
        panic!("these tests need io_uring, which is unavailable here ({error}); a container must allow it")
    })
}

/// Two ends of a TCP connection: ours and the peer's.
pub(super) fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    ours.set_nodelay(true).unwrap();
    theirs.set_nodelay(true).unwrap();
    (ours, theirs)
}

/// Sends everything back until the other end closes.
pub(super) fn echo(mut peer: TcpStream) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = peer.read(&mut buffer) {
            if peer.write_all(&buffer[..length]).is_err() {
                return;
            }
        }
    })
}

pub(super) fn next(ring: &mut Ring) -> (usize, Completion) {
    next_within(ring, PATIENCE).expect("nothing completed")
}

/// Waits for the next completion, at most `longest`.
pub(super) fn next_within(ring: &mut Ring, longest: Duration) -> Option<(usize, Completion)> {
    let end = Instant::now() + longest;
    loop {
        if let Some(completion) = ring.next() {
            return Some(completion);
        }
        let left = end.checked_duration_since(Instant::now())?;
        ring.wait(left.min(Duration::from_millis(100))).unwrap();
    }
}

/// The next completion that is not of a send.
pub(super) fn next_received(ring: &mut Ring) -> (usize, Completion) {
    loop {
        match next(ring) {
            (_, Completion::Sent(Ok(_))) => {}
            other => return other,
        }
    }
}

/// What the next completion has received, which must be of this slot.
pub(super) fn received(ring: &mut Ring, slot: usize) -> Chunk {
    match next(ring) {
        (one, Completion::Received(chunk)) if one == slot => chunk,
        other => panic!("{other:?}"),
    }
}

/// Puts one end of a new connection into a slot, and returns the other one.
pub(super) fn adopt(ring: &mut Ring, slot: usize) -> TcpStream {
    let (ours, theirs) = pair();
    ring.adopt(slot, ours.into());
    theirs
}

/// Closes a connection with a reset.
pub(super) fn reset(peer: TcpStream) {
    SockRef::from(&peer)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
}

/// Bytes that differ by position.
pub(super) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| random.u8(..)).collect()
}

/// Reads everything from the peer until its connection ends, while the ring takes its turns: closes may take a few.
pub(super) fn read_to_end(ring: &mut Ring, peer: &mut TcpStream) -> Vec<u8> {
    let end = Instant::now() + PATIENCE;
    let (mut all, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    peer.set_nonblocking(true).unwrap();
    loop {
        match peer.read(&mut buffer) {
            Ok(0) => return all,
            Ok(length) => all.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        assert!(Instant::now() < end, "the connection was not closed");
        if let Some(completion) = next_within(ring, Duration::from_micros(100)) {
            panic!("{completion:?} for a closed slot");
        }
    }
}
