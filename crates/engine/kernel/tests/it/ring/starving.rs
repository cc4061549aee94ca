use std::io::Write;

use prony_kernel::{Completion, Receive, RingSettings};

use crate::ring::driver::{SETTINGS, next, pair, pattern, ring};

/// How many bytes come over each connection.
const LENGTH: usize = 2000;

fn everything_arrives_in_order(settings: &RingSettings, receive: Receive, hold: usize) {
    let mut ring = ring(settings);
    let (mut expected, mut received, mut peers) = (Vec::new(), vec![0; settings.slots], Vec::new());
    for slot in 0..settings.slots {
        let (ours, mut theirs) = pair();
        let bytes = pattern(LENGTH, slot as u64);
        theirs.write_all(&bytes).unwrap();
        expected.push(bytes);
        peers.push(theirs);
        ring.adopt(slot, ours.into());
        ring.receive(slot, receive);
    }
    let mut held = Vec::new();
    while received.iter().any(|&received| received < LENGTH) {
        let (slot, Completion::Received(chunk)) = next(&mut ring) else {
            panic!("nothing received");
        };
        let rest = &expected[slot][received[slot]..];
        assert_eq!(chunk[..], rest[..chunk.len()], "slot {slot}");
        received[slot] += chunk.len();
        if receive != Receive::Many && received[slot] < LENGTH {
            ring.receive(slot, receive);
        }
        held.push(chunk);
        if held.len() > hold {
            held.remove(0);
        }
    }
    drop(peers);
    // Nothing is left over.
    if receive == Receive::Many {
        (0..settings.slots).for_each(|_| assert!(matches!(next(&mut ring).1, Completion::Ended)));
    }
}

#[test]
fn fewer_buffers_than_connections_lose_nothing() {
    let settings = RingSettings {
        small_buffers: 2,
        small_buffer_bytes: 100,
        large_buffers: 2,
        large_buffer_bytes: 100,
        ..SETTINGS
    };
    // Also while the caller keeps one of them.
    for hold in [0, 1] {
        everything_arrives_in_order(&settings, Receive::Many, hold);
        everything_arrives_in_order(&settings, Receive::Once { at_most: 1000 }, hold);
    }
}

#[test]
fn a_single_buffer_is_enough() {
    let settings = RingSettings {
        slots: 5,
        small_buffers: 1,
        small_buffer_bytes: 1,
        ..SETTINGS
    };
    everything_arrives_in_order(&settings, Receive::Many, 0);
}

#[test]
fn more_buffers_are_used_as_needed() {
    let settings = RingSettings {
        small_buffers: 1024,
        small_buffer_bytes: 64,
        ..SETTINGS
    };
    everything_arrives_in_order(&settings, Receive::Many, 900);
}

/// A completion queue that overflows keeps what does not fit.
#[test]
fn a_completion_queue_overflow_loses_nothing() {
    let settings = RingSettings {
        slots: 8,
        small_buffers: 4096,
        small_buffer_bytes: 1,
        ..SETTINGS
    };
    everything_arrives_in_order(&settings, Receive::Many, 3000);
}
