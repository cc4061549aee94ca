use std::io::{Read, Write};
use std::thread;

use prony_kernel::{Completion, Receive, SEND_ROOM};

use crate::ring::driver::{
    SETTINGS, adopt, echo, next, next_received, pair, pattern, received, reset, ring,
};

/// What one slot still has to send, and what must come back.
struct Talk {
    bytes: Vec<u8>,
    sent: usize,
    received: usize,
}

fn everything_comes_back(length_of: impl Fn(usize) -> usize, receive: Receive) {
    let mut ring = ring(&SETTINGS);
    let (mut talks, mut peers) = (Vec::new(), Vec::new());
    for slot in 0..SETTINGS.slots {
        let (ours, theirs) = pair();
        peers.push(echo(theirs));
        ring.adopt(slot, ours.into());
        ring.receive(slot, receive);
        let bytes = pattern(length_of(slot), slot as u64);
        let sent = ring.send(slot, &bytes);
        assert_eq!(sent, bytes.len().min(SEND_ROOM));
        assert_eq!(ring.send(slot, &bytes), 0, "one send at a time");
        talks.push(Talk {
            bytes,
            sent,
            received: 0,
        });
    }
    let mut open = talks.len();
    while open > 0 {
        let (slot, completion) = next(&mut ring);
        let talk = &mut talks[slot];
        match completion {
            Completion::Sent(result) => {
                assert!(result.unwrap() <= SEND_ROOM);
                talk.sent += ring.send(slot, &talk.bytes[talk.sent..]);
            }
            Completion::Received(chunk) => {
                assert!(!chunk.is_empty());
                let expected = &talk.bytes[talk.received..][..chunk.len()];
                assert_eq!(chunk[..], *expected, "slot {slot}");
                talk.received += chunk.len();
                if talk.received == talk.bytes.len() {
                    ring.close(slot);
                    open -= 1;
                } else if receive != Receive::Many {
                    ring.receive(slot, receive);
                }
            }
            other => panic!("slot {slot}: {other:?}"),
        }
    }
    drop(ring);
    peers.into_iter().for_each(|peer| peer.join().unwrap());
}

#[test]
fn many_slots_get_back_what_they_sent() {
    everything_comes_back(|slot| 1 + slot * 7, Receive::Many);
}

#[test]
fn pieces_may_be_larger_than_the_buffers() {
    for receive in [Receive::Many, Receive::Once { at_most: u32::MAX }] {
        everything_comes_back(|slot| SEND_ROOM * 3 + slot * 1000 + 1, receive);
    }
}

#[test]
fn many_messages_go_back_and_forth() {
    let mut ring = ring(&SETTINGS);
    let mut left = [100_u32; 16];
    let mut peers = Vec::new();
    for (slot, left) in left.iter().enumerate() {
        let (ours, theirs) = pair();
        peers.push(echo(theirs));
        ring.adopt(slot, ours.into());
        ring.receive(slot, Receive::Many);
        ring.receive(slot, Receive::Many);
        assert_eq!(ring.send(slot, &left.to_be_bytes()), 4);
    }
    while left.iter().any(|&left| left > 0) {
        let (slot, Completion::Received(chunk)) = next_received(&mut ring) else {
            panic!("nothing received");
        };
        assert_eq!(chunk[..], left[slot].to_be_bytes());
        left[slot] -= 1;
        if left[slot] > 0 {
            assert_eq!(ring.send(slot, &left[slot].to_be_bytes()), 4);
        }
    }
    drop(ring);
    peers.into_iter().for_each(|peer| peer.join().unwrap());
}

#[test]
fn a_receive_returns_at_most_the_requested_bytes() {
    let mut ring = ring(&SETTINGS);
    let (ours, mut theirs) = pair();
    theirs.write_all(b"hello world").unwrap();
    ring.adopt(3, ours.into());
    for expected in ["hello", " worl", "d"] {
        ring.receive(3, Receive::Once { at_most: 5 });
        let chunk = received(&mut ring, 3);
        assert_eq!(chunk[..], *expected.as_bytes());
    }
}

#[test]
fn the_end_is_reported_after_the_last_bytes() {
    let mut ring = ring(&SETTINGS);
    for receive in [Receive::Many, Receive::Once { at_most: 100 }] {
        let (ours, mut theirs) = pair();
        theirs.write_all(b"the last").unwrap();
        drop(theirs);
        ring.adopt(0, ours.into());
        ring.receive(0, receive);
        let chunk = received(&mut ring, 0);
        assert_eq!(chunk[..], *b"the last");
        ring.receive(0, receive);
        assert!(matches!(next(&mut ring), (0, Completion::Ended)));
        ring.close(0);
    }
}

#[test]
fn a_reset_is_reported() {
    let mut ring = ring(&SETTINGS);
    let once = Receive::Once { at_most: 100 };
    for receive in [Receive::Many, once, Receive::Skip(100)] {
        let theirs = adopt(&mut ring, 0);
        ring.receive(0, receive);
        ring.submit().unwrap();
        reset(theirs);
        let (0, Completion::Failed(errno)) = next(&mut ring) else {
            panic!("no failure");
        };
        assert_eq!(errno, nix::errno::Errno::ECONNRESET);
        ring.send(0, b"lost");
        assert!(matches!(next(&mut ring), (0, Completion::Sent(Err(_)))));
        ring.close(0);
    }
}

#[test]
fn a_chunk_keeps_its_bytes_while_others_arrive() {
    let mut ring = ring(&SETTINGS);
    let mut theirs = adopt(&mut ring, 0);
    ring.receive(0, Receive::Many);
    theirs.write_all(b"kept").unwrap();
    let kept = received(&mut ring, 0);
    // Enough to use every buffer several times.
    let total = 512 * 128 * 4;
    let writer = thread::spawn(move || theirs.write_all(&vec![b'x'; total]).map(|()| theirs));
    let mut length = 0;
    while length < total {
        let chunk = received(&mut ring, 0);
        assert!(chunk.iter().all(|&byte| byte == b'x'));
        length += chunk.len();
        assert_eq!(kept[..], *b"kept");
    }
    drop(writer.join().unwrap().unwrap());
    // The chunk outlives the ring.
    drop(ring);
    assert_eq!(kept[..], *b"kept");
}

#[test]
fn a_send_completes_when_all_its_bytes_are_sent() {
    let mut ring = ring(&SETTINGS);
    let (ours, mut theirs) = pair();
    socket2::SockRef::from(&ours)
        .set_send_buffer_size(4096)
        .unwrap();
    ring.adopt(0, ours.into());
    let bytes = pattern(SEND_ROOM * 64, 1);
    let expected = bytes.clone();
    let reader = thread::spawn(move || {
        let mut all = vec![0; expected.len()];
        theirs.read_exact(&mut all).unwrap();
        assert!(all == expected);
    });
    let mut sent = 0;
    while sent < bytes.len() {
        let taken = ring.send(0, &bytes[sent..]);
        let (0, Completion::Sent(Ok(length))) = next(&mut ring) else {
            panic!("not sent");
        };
        assert_eq!(length, taken);
        sent += length;
    }
    reader.join().unwrap();
}
