use std::io::Write;
use std::time::Duration;

use prony_kernel::{Completion, Receive, Ring, SEND_ROOM};

use nix::sys::resource::{Resource, getrlimit};

use crate::ring::driver::{
    PATIENCE, SETTINGS, adopt, next, next_within, pair, pattern, read_to_end, received, ring,
};

#[test]
fn a_close_ends_every_kind_of_receive() {
    let mut ring = ring(&SETTINGS);
    let once = Receive::Once { at_most: 10 };
    for receive in [Receive::Many, once, Receive::Skip(10)] {
        for submit_between in [false, true] {
            let mut theirs = adopt(&mut ring, 0);
            ring.receive(0, receive);
            if submit_between {
                ring.submit().unwrap();
            }
            ring.close(0);
            assert_eq!(read_to_end(&mut ring, &mut theirs), b"");
        }
    }
}

#[test]
fn closing_an_empty_slot_does_nothing() {
    let mut ring = ring(&SETTINGS);
    (0..2).for_each(|_| ring.close(0));
    assert!(next_within(&mut ring, Duration::ZERO).is_none());
}

#[test]
fn bytes_sent_before_the_close_arrive() {
    let mut ring = ring(&SETTINGS);
    let mut theirs = adopt(&mut ring, 0);
    ring.send(0, b"farewell");
    ring.close(0);
    assert_eq!(read_to_end(&mut ring, &mut theirs), b"farewell");
}

/// Sends until the peer, which does not read, has no room left: a send is then under way.
fn fill(ring: &mut Ring, slot: usize, bytes: &[u8]) -> usize {
    let mut taken = 0;
    loop {
        match ring.send(slot, bytes) {
            0 => return taken,
            length => taken += length,
        }
        // The submission uses whatever room there was.
        let _ = next_within(ring, Duration::from_millis(20));
    }
}

#[test]
fn a_send_cancelled_by_a_close_never_sends_bytes_of_the_next_socket() {
    let mut ring = ring(&SETTINGS);
    let old = [b'o'; SEND_ROOM];
    let new = [b'n'; SEND_ROOM];
    for _ in 0..10 {
        let mut theirs = adopt(&mut ring, 0);
        let taken = fill(&mut ring, 0, &old);
        ring.close(0);
        let (second, mut their_second) = pair();
        ring.adopt(0, second.into());
        assert_eq!(ring.send(0, &new), SEND_ROOM);
        let (0, Completion::Sent(Ok(SEND_ROOM))) = next(&mut ring) else {
            panic!("not sent");
        };
        ring.close(0);
        let all = read_to_end(&mut ring, &mut theirs);
        assert!(all.len() <= taken && all.iter().all(|&byte| byte == b'o'));
        assert_eq!(read_to_end(&mut ring, &mut their_second), new);
    }
}

#[test]
fn a_reused_slot_gets_no_completions_of_its_old_socket() {
    let mut ring = ring(&SETTINGS);
    // More often than there are buffers: those of old sockets must come back.
    for round in 0..1000_u32 {
        let mut old = adopt(&mut ring, 7);
        ring.receive(7, Receive::Many);
        ring.submit().unwrap();
        old.write_all(b"old").unwrap();
        if round % 2 == 0 {
            // The kernel has reported it, but the ring has not returned it yet.
            ring.wait(PATIENCE).unwrap();
        }
        ring.close(7);
        let mut new = adopt(&mut ring, 7);
        ring.receive(7, Receive::Many);
        let _ = old.write_all(b"older");
        new.write_all(&round.to_be_bytes()).unwrap();
        let chunk = received(&mut ring, 7);
        assert_eq!(chunk[..], round.to_be_bytes());
        ring.close(7);
    }
}

#[test]
fn descriptors_are_closed() {
    let mut ring = ring(&SETTINGS);
    // More sockets than a process may have open.
    let (limit, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    for _ in 0..limit.min(20_000) + 10 {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ring.adopt(0, ours.into());
        ring.receive(0, Receive::Many);
        ring.close(0);
        ring.wait(Duration::ZERO).unwrap();
        assert!(ring.next().is_none());
    }
}

/// Queues more than the submission queue has room for.
#[test]
fn a_full_queue_is_submitted_early() {
    let mut ring = ring(&SETTINGS);
    let bytes = pattern(100, 3);
    let mut peers = Vec::new();
    for _ in 0..20 {
        for slot in 0..SETTINGS.slots {
            ring.close(slot);
            peers.push(adopt(&mut ring, slot));
            ring.receive(slot, Receive::Many);
            ring.send(slot, &bytes);
        }
    }
    for slot in 0..SETTINGS.slots {
        ring.close(slot);
    }
    for peer in &mut peers {
        assert_eq!(read_to_end(&mut ring, peer), bytes);
    }
}

#[test]
#[should_panic(expected = "the slot already has a socket")]
fn a_slot_takes_only_one_socket() {
    let mut ring = ring(&SETTINGS);
    ring.adopt(0, pair().0.into());
    ring.adopt(0, pair().0.into());
}
