use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use prony_kernel::{Completion, LONGEST_SKIP, Receive, Ring};

use crate::ring::driver::{SETTINGS, adopt, next, received, reset, ring};

const BODY: u64 = 10 * 1024 * 1024;

/// Skips this many bytes and returns how many pieces it took.
fn skip(ring: &mut Ring, slot: usize, bytes: u64) -> u32 {
    let (mut left, mut pieces) = (bytes, 0);
    while left > 0 {
        ring.receive(slot, Receive::Skip(left));
        let (completed, Completion::Skipped(skipped)) = next(ring) else {
            panic!("not skipped");
        };
        assert_eq!(completed, slot);
        assert_eq!(skipped, left.min(LONGEST_SKIP), "a skip must be complete");
        left -= skipped;
        pieces += 1;
    }
    pieces
}

/// Checks this of slot 0.
fn the_byte_after_a_skip_is_right(ring: &mut Ring, mut theirs: impl Write + Send + 'static) {
    let writer = thread::spawn(move || {
        for _ in 0..3 {
            theirs.write_all(b"head").unwrap();
            theirs.write_all(&vec![0; BODY as usize]).unwrap();
        }
        theirs.write_all(b"end").unwrap();
        theirs
    });
    for _ in 0..3 {
        ring.receive(0, Receive::Once { at_most: 4 });
        assert_eq!(received(ring, 0)[..], *b"head");
        assert_eq!(skip(ring, 0, BODY), 10);
    }
    ring.receive(0, Receive::Once { at_most: 100 });
    assert_eq!(received(ring, 0)[0], b'e');
    drop(writer.join().unwrap());
}

#[test]
fn a_long_body_is_skipped_to_the_byte_over_tcp_and_a_unix_socket() {
    let mut ring = ring(&SETTINGS);
    let theirs = adopt(&mut ring, 0);
    the_byte_after_a_skip_is_right(&mut ring, theirs);
    ring.close(0);
    let (ours, theirs) = UnixStream::pair().unwrap();
    ring.adopt(0, ours.into());
    the_byte_after_a_skip_is_right(&mut ring, theirs);
}

#[test]
fn a_close_in_the_middle_reports_the_bytes_skipped() {
    let mut ring = ring(&SETTINGS);
    let mut theirs = adopt(&mut ring, 0);
    ring.receive(0, Receive::Skip(1000));
    theirs.write_all(&[0; 300]).unwrap();
    theirs.shutdown(Shutdown::Write).unwrap();
    assert!(matches!(next(&mut ring), (0, Completion::Skipped(300))));
    ring.receive(0, Receive::Skip(700));
    assert!(matches!(next(&mut ring), (0, Completion::Ended)));
}

#[test]
fn a_reset_in_the_middle_is_reported() {
    let mut ring = ring(&SETTINGS);
    let mut theirs = adopt(&mut ring, 0);
    ring.receive(0, Receive::Skip(1000));
    ring.submit().unwrap();
    theirs.write_all(&[0; 300]).unwrap();
    reset(theirs);
    // The reset may have discarded the bytes before the ring looked at them.
    match next(&mut ring) {
        (0, Completion::Skipped(300)) => {
            ring.receive(0, Receive::Skip(700));
            let (0, Completion::Ended | Completion::Failed(_)) = next(&mut ring) else {
                panic!("no end");
            };
        }
        (0, Completion::Failed(errno)) => assert_eq!(errno, nix::errno::Errno::ECONNRESET),
        other => panic!("{other:?}"),
    }
}
