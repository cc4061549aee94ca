//! Bytes from a server have the same meaning for many streams however they are split: every request ends at most once,
//! and nothing grows without limit.

#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use prony_load::wire::h2::{H2Wire, Malformed, StreamRequest};
use prony_load::wire::{End, Fault, OnClose, Responses, Which, Wire};
use prony_traffic::Collect;

/// How a server starts: SETTINGS, a head, a part of a body, a response to another request. The fuzzer continues after
/// any number of them, as it would hardly find them by itself.
const BEGINNING: [&[u8]; 4] = [
    b"\0\0\0\x04\0\0\0\0\0",
    b"\0\0\x01\x01\x04\0\0\0\x03\x88",
    b"\0\0\x05\0\0\0\0\0\x03hello",
    b"\0\0\x01\x01\x05\0\0\0\x01\x89",
];

/// How many requests are in flight before anything arrives.
const REQUESTS: usize = 4;

/// What the bytes mean.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// The numbers of the requests that ended, in that order, and the bytes of their bodies.
    ended: Vec<(usize, End, usize)>,
    result: Result<(), Fault>,
    close: Option<OnClose>,
}

impl Outcome {
    /// Whether a flow-control window of the connection or of a stream became too large.
    fn overflows(&self) -> bool {
        let overflow = Fault::from(Malformed::WindowOverflow);
        let ends = self.ended.iter().map(|(_, end, _)| end);
        self.result.as_ref().err() == Some(&overflow)
            || ends
                .into_iter()
                .any(|end| *end == End::Failed(overflow.clone()))
    }
}

fuzz_target!(|input: (u16, u8, bool, &[u8])| {
    let (cut, begun, is_repeated, bytes) = input;
    if bytes.len() > 64 * 1024 {
        return;
    }
    let begun = usize::from(begun) % (BEGINNING.len() + 1);
    let bytes = [&BEGINNING[..begun].concat(), bytes].concat();
    let requests = requests();
    let requests = if is_repeated {
        &requests[2..]
    } else {
        &requests
    };
    let whole = read(requests, [&bytes[..]]);
    let cut = usize::from(cut) % (bytes.len() + 1);
    check(&read(requests, [&bytes[..cut], &bytes[cut..]]), &whole);
    check(&read(requests, bytes.chunks(1)), &whole);
});

/// Both outcomes are the same. A window may be too large or not, depending on how much was sent meanwhile.
fn check(split: &Outcome, whole: &Outcome) {
    if !split.overflows() && !whole.overflows() {
        assert_eq!(split, whole);
    }
}

fn requests() -> [StreamRequest; 3] {
    let request = |method, body: &[u8]| {
        StreamRequest::http(&method, "http", "localhost", "/", &[], body).unwrap()
    };
    let long = vec![b'b'; 100_000];
    [
        request(Method::GET, b""),
        request(Method::HEAD, b""),
        request(Method::POST, &long),
    ]
}

/// The requests in flight: their numbers, and their responses.
struct InFlight(Vec<(usize, Collect)>);

impl Responses for InFlight {
    fn begun(&mut self, position: usize) {
        assert!(position < self.0.len());
    }

    fn keep(&mut self, position: usize) -> Option<&mut Collect> {
        // Heads that are recognised mean the same as decoded ones.
        let (number, collect) = &mut self.0[position];
        number.is_multiple_of(2).then_some(collect)
    }

    fn events(&mut self, _: usize, _: u64) {
        panic!("nobody counts them");
    }
}

fn read<'a>(requests: &[StreamRequest], pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut wire = H2Wire::new(requests, false);
    let mut in_flight = InFlight(Vec::new());
    let mut number = 0;
    let mut request = |wire: &mut H2Wire<'_>, in_flight: &mut InFlight| {
        let which = Which {
            number: number % requests.len(),
            last: false,
        };
        wire.request(which);
        in_flight.0.push((number, Collect::default()));
        number += 1;
    };
    (0..REQUESTS).for_each(|_| request(&mut wire, &mut in_flight));
    flush(&mut wire);
    let mut ended = Vec::new();
    let result = pieces.into_iter().try_for_each(|mut bytes| {
        loop {
            let eaten = wire.eat(bytes, &mut in_flight)?;
            bytes = &bytes[eaten.bytes..];
            flush(&mut wire);
            let Some(response) = eaten.ended else {
                assert!(bytes.is_empty() && !wire.has_more());
                return Ok(());
            };
            let (number, collect) = in_flight.0.remove(response.position);
            let body = collect.into_response().body.len();
            ended.push((number, response.end, body));
            if wire.room() > 0 {
                request(&mut wire, &mut in_flight);
            }
            flush(&mut wire);
        }
    });
    for (number, end, body) in &ended {
        if let End::Whole(whole) = end
            && number.is_multiple_of(2)
        {
            assert_eq!(*body as u64, whole.body_bytes);
        }
    }
    while !in_flight.0.is_empty() && wire.cancel(0) {
        in_flight.0.remove(0);
    }
    flush(&mut wire);
    Outcome {
        ended,
        close: result.is_ok().then(|| wire.close()),
        result,
    }
}

fn flush(wire: &mut H2Wire<'_>) {
    assert!(wire.unsent().len() < 1024 * 1024);
    while !wire.unsent().is_empty() {
        let length = wire.unsent().len();
        wire.sent(length.div_ceil(2));
    }
}
