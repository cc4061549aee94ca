//! The bytes of a connection have the same meaning however they are split, and whether bodies are read or skipped.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::wire::h1::{Ignore, Malformed, RequestKind, ResponseReader};
use prony_load::wire::{OnClose, Whole};
use prony_traffic::{Collect, Response};

/// Longer heads are refused; the byte at which the wire notices may depend on the split.
const LONGEST_HEAD: usize = 64 * 1024;

/// How a connection's bytes end.
#[derive(Debug, PartialEq)]
enum End {
    Malformed(Malformed),
    Closed(OnClose),
}

fuzz_target!(|input: (u16, u8, &[u8])| {
    let (cut, kind, bytes) = input;
    let kind = match kind % 3 {
        0 => RequestKind::Plain,
        1 => RequestKind::Head,
        _ => RequestKind::Connect,
    };
    if bytes.len() > LONGEST_HEAD {
        return;
    }
    let whole = read(kind, &[bytes]);
    let cut = usize::from(cut) % (bytes.len() + 1);
    assert_eq!(read(kind, &[&bytes[..cut], &bytes[cut..]]), whole);
    let read_short: Vec<Whole> = whole.0.iter().map(|(_, short)| *short).collect();
    assert_eq!(skim(kind, bytes), (read_short, whole.1));
    for (response, short) in &whole.0 {
        assert_eq!(response.status, short.status);
        assert_eq!(response.body.len() as u64, short.body_bytes);
    }
});

/// Every response in the pieces, and how they end. A body that lasts until the close is included.
fn read(kind: RequestKind, pieces: &[&[u8]]) -> (Vec<(Response, Whole)>, End) {
    let mut reader = ResponseReader::new(kind);
    let (mut responses, mut collect) = (Vec::new(), Collect::default());
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let eaten = match reader.eat(rest, &mut collect) {
                Ok(eaten) => eaten,
                Err(malformed) => return (responses, End::Malformed(malformed)),
            };
            assert!(eaten.bytes > 0, "no progress");
            assert!(eaten.whole.is_some() || eaten.bytes == rest.len());
            rest = &rest[eaten.bytes..];
            if let Some(whole) = eaten.whole {
                responses.push((std::mem::take(&mut collect).into_response(), whole));
            }
        }
    }
    let close = reader.close();
    if let OnClose::Whole(whole) = close {
        responses.push((collect.into_response(), whole));
    }
    (responses, End::Closed(close))
}

/// The same, but skips whatever may be skipped and reads the rest byte by byte.
fn skim(kind: RequestKind, bytes: &[u8]) -> (Vec<Whole>, End) {
    let mut reader = ResponseReader::new(kind);
    let mut responses = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let whole = match reader.skippable() {
            0 => match reader.eat(&bytes[at..=at], &mut Ignore) {
                Ok(eaten) => {
                    at += 1;
                    eaten.whole
                }
                Err(malformed) => return (responses, End::Malformed(malformed)),
            },
            skippable => {
                let length = skippable.min((bytes.len() - at) as u64);
                at += length as usize;
                reader.skip(length)
            }
        };
        responses.extend(whole);
    }
    let close = reader.close();
    if let OnClose::Whole(whole) = close {
        responses.push(whole);
    }
    (responses, End::Closed(close))
}
