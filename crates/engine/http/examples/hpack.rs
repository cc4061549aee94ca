//! The cost of decoding the header blocks of gRPC servers, here and in `loona-hpack`.
//!
//! `cargo run --release -p prony-http --example hpack` prints nanoseconds of CPU time per response.

use nix::time::{ClockId, clock_gettime};
use prony_http::hpack::{Decoder, Fields};

/// Head and trailers of the first response over a connection, and those of all further ones.
type Responses = [[&'static str; 2]; 2];

/// From Node.js 20 (nghttp2).
const NODE: Responses = [
    [
        "885f8b1d75d0620d263d4c4d65646196dd6d5f4a084a693f75040138a08171976e09a53168df",
        "40889acac8b21234da8f0130",
    ],
    ["88c0bf", "be"],
];
/// From Go's net/http.
const GO: Responses = [
    [
        "885f8b1d75d0620d263d4c4d656440854d833505b393c565645b72469b51f4a62b2b22da0a840e62ff5c01366196dd6d5f4a084a693f75\
         040138a08171976e09b53168df",
        "40889acac8b21234da8f013040899acac8b5254207317f00",
    ],
    ["88c3c2c1c0", "bfbe"],
];
const RESPONSES: u32 = 1_000_000;

fn main() {
    for (server, [first, further]) in [("node", NODE), ("go", GO)] {
        let blocks = |response: [&str; 2]| response.map(bytes);
        let (first, further) = (blocks(first), blocks(further));
        for (which, count, blocks) in [
            ("first", RESPONSES / 1000, &[first.clone()][..]),
            ("further", RESPONSES, &[first, further][..]),
        ] {
            let (ours, theirs) = (ours(blocks, count), theirs(blocks, count));
            println!(
                "{server:5} {which:8} prony {ours:6.0} ns  loona-hpack {theirs:6.0} ns  ratio {:.1}",
                theirs / ours
            );
        }
    }
}

/// Nanoseconds per response for the last blocks; those before them are decoded once.
fn ours(responses: &[[Vec<u8>; 2]], count: u32) -> f64 {
    let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
    let mut decode = |response: &[Vec<u8>; 2]| {
        for block in response {
            decoder.decode(block, &mut fields).expect("a header block");
            std::hint::black_box(&fields);
        }
    };
    timed(responses, count, &mut decode)
}

fn theirs(responses: &[[Vec<u8>; 2]], count: u32) -> f64 {
    let mut decoder = loona_hpack::Decoder::new();
    // Collects the same as ours: a list that outlives the next block, in reused memory.
    let mut list = Vec::new();
    let mut decode = |response: &[Vec<u8>; 2]| {
        for block in response {
            list.clear();
            let keep = |name: std::borrow::Cow<[u8]>, value: std::borrow::Cow<[u8]>| {
                list.extend_from_slice(&name);
                list.extend_from_slice(&value);
            };
            decoder.decode_with_cb(block, keep).expect("a header block");
            std::hint::black_box(&list);
        }
    };
    timed(responses, count, &mut decode)
}

fn timed(responses: &[[Vec<u8>; 2]], count: u32, decode: &mut dyn FnMut(&[Vec<u8>; 2])) -> f64 {
    let (last, before) = responses.split_last().expect("a response");
    before.iter().for_each(&mut *decode);
    let begin = cpu_ns();
    (0..count).for_each(|_| decode(last));
    (cpu_ns() - begin) / f64::from(count)
}

fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("the thread's clock");
    time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).expect("a digit") as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}
