//! The event counter counts as many events as the parser reads, however the stream is split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::wire::sse::EventCounter;
use prony_traffic::sse::events;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let cut = usize::from(cut) % (bytes.len() + 1);
    let read = events(bytes).len() as u64;
    assert_eq!(count([bytes]), read);
    assert_eq!(count([&bytes[..cut], &bytes[cut..]]), read);
    assert_eq!(count(bytes.chunks(1)), read);
});

fn count<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut counter = EventCounter::default();
    pieces.into_iter().map(|piece| counter.eat(piece)).sum()
}
