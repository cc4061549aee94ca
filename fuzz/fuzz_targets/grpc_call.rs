//! Bytes from a server have the same meaning however they are split, and fill no memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::Response;
use prony_load::wire::grpc::{Call, CallWire, Malformed};
use prony_load::wire::h1::Collect;
use prony_load::wire::{Fault, OnClose, Which, Whole, Wire};

/// How a server starts: SETTINGS, a head, a message, trailers. The fuzzer continues after any number of them, as it
/// would hardly find them by itself.
const BEGINNING: [&[u8]; 4] = [
    b"\0\0\0\x04\0\0\0\0\0",
    b"\0\0\x13\x01\x04\0\0\0\x01\x88\x5f\x10application/grpc",
    b"\0\0\x08\0\0\0\0\0\x01\0\0\0\0\x03\x0a\x01x",
    b"\0\0\x0f\x01\x05\0\0\0\x01\x40\x0bgrpc-status\x010",
];

/// What the bytes mean for one call.
#[derive(Debug, PartialEq)]
struct Outcome {
    response: Option<(Response, Whole)>,
    fault: Option<Fault>,
    close: Option<OnClose>,
}

fuzz_target!(|input: (u16, u8, &[u8])| {
    let (cut, begun, bytes) = input;
    if bytes.len() > 64 * 1024 {
        return;
    }
    let begun = usize::from(begun) % (BEGINNING.len() + 1);
    let bytes = [&BEGINNING[..begun].concat(), bytes].concat();
    let whole = read([&bytes[..]]).expect("one piece has nothing after it");
    if let Some((response, short)) = &whole.response {
        assert_eq!(response.status, short.status);
        assert_eq!(response.body.len() as u64, short.body_bytes);
    }
    let cut = usize::from(cut) % (bytes.len() + 1);
    let cut = [read([&bytes[..cut], &bytes[cut..]]), read(bytes.chunks(1))];
    for outcome in cut.into_iter().flatten() {
        assert_eq!(outcome, whole);
    }
    converse(&bytes);
});

fn wire() -> CallWire {
    let call = Call::new("/prony.echo.v1.Echo/Unary", "localhost", b"\x0a\x01x").unwrap();
    CallWire::new(&call)
}

fn flush(wire: &mut CallWire) {
    assert!(wire.unsent().len() < 512 * 1024);
    while !wire.unsent().is_empty() {
        wire.sent(wire.unsent().len().div_ceil(2));
    }
}

/// One call. `None` if the server sends GOAWAY between two pieces: how much of the second the wire reads is undefined
/// then.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Outcome> {
    let (mut wire, mut collect) = (wire(), Collect::default());
    wire.request(Which::default());
    flush(&mut wire);
    let mut whole = None;
    let mut fault = None;
    for piece in pieces {
        let keep = whole.is_none().then_some(&mut collect);
        match wire.eat(piece, keep).map(|eaten| eaten.whole) {
            Ok(came) => {
                assert!(
                    whole.is_none() || came.is_none(),
                    "two responses to one call"
                );
                whole = whole.or(came);
            }
            Err(Fault::Ended(_)) if whole.is_some() => return None,
            Err(came) => {
                fault = Some(came);
                break;
            }
        }
        flush(&mut wire);
    }
    // A response followed by something forbidden: if both arrive at once, only the fault counts.
    let whole = whole.filter(|_| fault.is_none());
    let close = fault.is_none().then(|| wire.close());
    if matches!(fault, Some(Fault::Grpc(Malformed::TooEarly))) {
        panic!("a short message is sent at once");
    }
    Some(Outcome {
        response: whole.map(|whole| (collect.into_response(), whole)),
        fault,
        close,
    })
}

/// Calls until there is no response.
fn converse(bytes: &[u8]) {
    let mut wire = wire();
    wire.request(Which::default());
    for byte in bytes.chunks(1) {
        flush(&mut wire);
        match wire.eat(byte, None).map(|eaten| eaten.whole) {
            Ok(Some(whole)) if whole.keep_alive => wire.request(Which::default()),
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => {
                wire.open();
                wire.request(Which::default());
            }
        }
    }
}
