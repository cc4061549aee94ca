//! Events are parsed and counted the same however the stream is split.

use prony_traffic::sse::events;
use proptest::prelude::*;

use super::*;

fn count<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut counter = EventCounter::default();
    pieces.into_iter().map(|piece| counter.eat(piece)).sum()
}

/// How many events parsing finds in the same bytes.
fn read(bytes: &[u8]) -> u64 {
    events(bytes).len() as u64
}

#[test]
fn an_event_is_counted_with_the_empty_line_after_its_data() {
    for (text, events) in [
        ("", 0),
        ("data: a\n", 0),
        ("data: a\n\n", 1),
        ("data: a\n\n\n\n", 1),
        ("data\n\n", 1),
        ("data:\r\rdata:\n\r\ndata\r\n\r\n", 3),
        ("\u{FEFF}data: a\n\n", 1),
        ("\u{FEFF}\n\ndata: a\n\n", 1),
        ("\u{FEFF}\u{FEFF}data: a\n\n", 0),
        ("\n\u{FEFF}data: a\n\n", 0),
        (": data: a\n\n", 0),
        ("event: a\nid: 1\nretry: 1\n\n", 0),
        ("event: a\ndata: a\ndata: b\n\nevent: b\n\n", 1),
        ("datas: a\n\ndat: a\n\nda\n\n data: a\n\nDATA: a\n\n", 0),
        ("data : a\n\n", 0),
    ] {
        assert_eq!(count([text.as_bytes()]), events, "{text:?}");
        assert_eq!(read(text.as_bytes()), events, "{text:?}");
    }
}

#[test]
fn each_piece_reports_the_events_it_completed() {
    let mut counter = EventCounter::default();
    assert_eq!(counter.eat(b"data: a\r\n"), 0);
    assert_eq!(counter.eat(b"\r"), 1);
    assert_eq!(counter.eat(b"\ndata: b\n\ndata: c\n\nda"), 2);
    assert_eq!(counter.eat(b"ta\n\n"), 1);
}

#[test]
fn a_restarted_stream_is_independent_of_the_last_one() {
    for begun in ["data: a\n", "da", "data", "\r", "\u{FEFF}"] {
        let mut counter = EventCounter::default();
        counter.eat(begun.as_bytes());
        counter.restart();
        assert_eq!(counter, EventCounter::default());
        assert_eq!(counter.eat(b"\n"), 0, "{begun:?}");
    }
}

const TOKENS: &[&[u8]] = &[
    b"data",
    b"da",
    b"ta",
    b"event",
    b":",
    b" ",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"x",
    b"data: x\n\n",
    b"\xEF\xBB\xBF",
    b"\xEF",
    b"\xBB\xBF",
];

proptest! {
    #[test]
    fn as_many_events_are_counted_as_parsed(
        tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60),
        cuts in prop::collection::vec(0usize..200, 0..4),
    ) {
        let bytes = tokens.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(count(pieces), read(&bytes));
    }
}
