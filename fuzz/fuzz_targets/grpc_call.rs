//! Bytes from a server have the same meaning for a call however they are split, and fill no memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::wire::grpc::Malformed;
use prony_load::wire::h2::{H2Wire, StreamRequest};
use prony_load::wire::{End, Fault, OnClose, Responses, Which, Wire};
use prony_traffic::{Call, CallKind, Collect, Response};

/// How a server starts: SETTINGS, a head, a message, trailers. The fuzzer continues after any number of them, as it
/// would hardly find them by itself.
const BEGINNING: [&[u8]; 4] = [
    b"\0\0\0\x04\0\0\0\0\0",
    b"\0\0\x13\x01\x04\0\0\0\x01\x88\x5f\x10application/grpc",
    b"\0\0\x08\0\0\0\0\0\x01\0\0\0\0\x03\x0a\x01x",
    b"\0\0\x0f\x01\x05\0\0\0\x01\x40\x0bgrpc-status\x010",
];

const KINDS: [CallKind; 4] = [
    CallKind::Unary,
    CallKind::ClientStreaming,
    CallKind::ServerStreaming,
    CallKind::Bidirectional,
];

/// What the bytes mean for one call.
#[derive(Debug, PartialEq)]
struct Outcome {
    end: Option<End>,
    response: Response,
    messages: u64,
    message: Option<String>,
    result: Result<(), Fault>,
    close: Option<OnClose>,
}

fuzz_target!(|input: (u16, u8, u8, &[u8])| {
    let (cut, begun, kind, bytes) = input;
    if bytes.len() > 64 * 1024 {
        return;
    }
    let begun = usize::from(begun) % (BEGINNING.len() + 1);
    let bytes = [&BEGINNING[..begun].concat(), bytes].concat();
    let kind = KINDS[usize::from(kind) % KINDS.len()];
    let request = request(kind);
    let whole = read(&request, [&bytes[..]]);
    check(kind, &whole);
    let cut = usize::from(cut) % (bytes.len() + 1);
    assert_eq!(read(&request, [&bytes[..cut], &bytes[cut..]]), whole);
    assert_eq!(read(&request, bytes.chunks(1)), whole);
});

fn request(kind: CallKind) -> StreamRequest {
    let call = Call {
        kind,
        ..Call::unary("/prony.echo.v1.Echo/Unary", "localhost", b"\x0a\x01x")
    };
    StreamRequest::of_call(&call).unwrap()
}

fn check(kind: CallKind, outcome: &Outcome) {
    match &outcome.end {
        Some(End::Whole(whole)) => {
            assert_eq!(outcome.response.status, whole.status);
            assert_eq!(outcome.response.body.len() as u64, whole.body_bytes);
            assert!(kind.streams_responses() || outcome.messages <= 1);
        }
        Some(End::Failed(Fault::Grpc(Malformed::TooEarly))) => {
            panic!("a short message is sent at once");
        }
        _ => {}
    }
}

/// Keeps the response to the one call.
struct Kept {
    collect: Collect,
    messages: u64,
}

impl Responses for Kept {
    fn begun(&mut self, position: usize) {
        assert_eq!(position, 0);
    }

    fn keep(&mut self, position: usize) -> Option<&mut Collect> {
        assert_eq!(position, 0);
        Some(&mut self.collect)
    }

    fn events(&mut self, position: usize, count: u64) {
        assert_eq!(position, 0);
        self.messages += count;
    }
}

fn read<'a>(request: &StreamRequest, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut wire = H2Wire::new(std::slice::from_ref(request), true);
    wire.request(Which::default());
    flush(&mut wire);
    let mut kept = Kept {
        collect: Collect::default(),
        messages: 0,
    };
    let (mut end, mut message) = (None, None);
    let result = pieces.into_iter().try_for_each(|mut bytes| {
        loop {
            let eaten = wire.eat(bytes, &mut kept)?;
            bytes = &bytes[eaten.bytes..];
            let Some(ended) = eaten.ended else {
                assert!(bytes.is_empty() && !wire.has_more());
                flush(&mut wire);
                return Ok(());
            };
            assert!(end.is_none(), "two responses to one call");
            assert_eq!(ended.position, 0);
            end = Some(ended.end);
            message = wire.message().map(str::to_owned);
        }
    });
    Outcome {
        end,
        response: kept.collect.into_response(),
        messages: kept.messages,
        message,
        close: result.is_ok().then(|| wire.close()),
        result,
    }
}

fn flush(wire: &mut H2Wire<'_>) {
    assert!(wire.unsent().len() < 512 * 1024);
    while !wire.unsent().is_empty() {
        let length = wire.unsent().len();
        wire.sent(length.div_ceil(2));
    }
}
