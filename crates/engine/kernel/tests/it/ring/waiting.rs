use std::time::{Duration, Instant};

use prony_kernel::{Completion, Receive, Ring, RingSettings};

use crate::ring::driver::{PATIENCE, SETTINGS, adopt, ring};

#[test]
fn a_short_wait_is_short() {
    let mut ring = ring(&SETTINGS);
    let requested = Duration::from_micros(50);
    let waits = (0..200).map(|_| {
        let begin = Instant::now();
        ring.wait(requested).unwrap();
        begin.elapsed()
    });
    let shortest = waits.min().unwrap();
    // Rounded up to whole milliseconds, every wait would be longer.
    assert!(shortest < Duration::from_millis(1), "{shortest:?}");
    assert!(shortest >= requested, "{shortest:?}");
}

#[test]
fn a_zero_wait_returns_at_once() {
    let mut ring = ring(&SETTINGS);
    let begin = ring.system_calls();
    let shortest = (0..100).map(|_| {
        let begin = Instant::now();
        ring.wait(Duration::ZERO).unwrap();
        begin.elapsed()
    });
    assert!(shortest.min().unwrap() < Duration::from_millis(1));
    assert_eq!(ring.system_calls() - begin, 100, "one call each");
}

#[test]
fn completions_not_taken_survive_the_next_wait() {
    let mut ring = ring(&SETTINGS);
    let _theirs = adopt(&mut ring, 0);
    ring.send(0, b"x");
    ring.wait(PATIENCE).unwrap();
    let begin = Instant::now();
    ring.wait(PATIENCE).unwrap();
    let waited = begin.elapsed();
    assert!(waited < PATIENCE, "although a completion was ready");
    assert!(matches!(ring.next(), Some((0, Completion::Sent(Ok(1))))));
    assert!(ring.next().is_none());
}

/// The caller reads the clock after the wait: later completions belong to the next reading.
#[test]
fn only_completions_of_the_last_wait_are_returned() {
    let mut ring = ring(&SETTINGS);
    let _theirs = adopt(&mut ring, 0);
    ring.send(0, b"x");
    ring.submit().unwrap();
    assert!(ring.next().is_none());
    ring.wait(PATIENCE).unwrap();
    assert!(ring.next().is_some());
}

#[test]
fn impossible_settings_are_refused_with_a_reason() {
    let changes: [fn(&mut RingSettings); 5] = [
        |settings| settings.slots = 0,
        |settings| settings.small_buffers = 3,
        |settings| settings.small_buffers = 0,
        |settings| settings.large_buffers = 1 << 15 | 1,
        |settings| settings.large_buffer_bytes = 0,
    ];
    for change in changes {
        let mut settings = SETTINGS;
        change(&mut settings);
        let error = Ring::new(&settings).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
#[should_panic(expected = "a skip needs at least one byte")]
fn a_skip_of_zero_bytes_is_refused() {
    let mut ring = ring(&SETTINGS);
    adopt(&mut ring, 0);
    ring.receive(0, Receive::Skip(0));
}

#[test]
#[should_panic(expected = "is under way")]
fn a_second_receive_is_refused() {
    let mut ring = ring(&SETTINGS);
    adopt(&mut ring, 0);
    ring.receive(0, Receive::Skip(1));
    ring.receive(0, Receive::Many);
}
