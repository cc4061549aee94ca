//! Handmade frames of a server.

use prony_http::{ErrorCode, Kind, MAX_FRAME, encode_header, flag, hpack};

pub(in crate::wire) const END_STREAM: u8 = flag::END_STREAM;
pub(in crate::wire) const END_HEADERS: u8 = flag::END_HEADERS;
pub(in crate::wire) const ACK: u8 = flag::ACK;
pub(in crate::wire) const PADDED: u8 = flag::PADDED;
pub(in crate::wire) const PRIORITY: u8 = flag::PRIORITY;

pub(in crate::wire) fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [
        &encode_header(payload.len(), kind, flags, stream)[..],
        payload,
    ]
    .concat()
}

/// SETTINGS with numbers and values.
pub(in crate::wire) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(number, value)| [&number.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(Kind::SETTINGS, 0, 0, &payload)
}

pub(in crate::wire) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    hpack::encode(fields, &mut block);
    block
}

/// A whole HEADERS frame; `flags` are added.
pub(in crate::wire) fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(Kind::HEADERS, flags | END_HEADERS, stream, &block(fields))
}

pub(in crate::wire) fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(Kind::DATA, flags, stream, bytes)
}

pub(in crate::wire) fn window_update(stream: u32, by: u32) -> Vec<u8> {
    frame(Kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

pub(in crate::wire) fn reset(stream: u32, code: ErrorCode) -> Vec<u8> {
    frame(Kind::RST_STREAM, 0, stream, &code.0.to_be_bytes())
}

pub(in crate::wire) fn go_away(last_stream: u32, code: ErrorCode, debug: &str) -> Vec<u8> {
    let numbers = [last_stream.to_be_bytes(), code.0.to_be_bytes()].concat();
    frame(Kind::GOAWAY, 0, 0, &[&numbers, debug.as_bytes()].concat())
}

/// A frame that a client has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wire) struct Sent {
    pub(in crate::wire) kind: Kind,
    pub(in crate::wire) flags: u8,
    pub(in crate::wire) stream: u32,
    pub(in crate::wire) payload: Vec<u8>,
}

/// Splits `bytes` into whole frames.
pub(in crate::wire) fn frames(mut bytes: &[u8]) -> Vec<Sent> {
    let mut frames = Vec::new();
    while let Some((&[a, b, c, kind, flags, stream @ ..], rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        assert!(length <= MAX_FRAME, "a frame of {length} bytes");
        frames.push(Sent {
            kind: Kind(kind),
            flags,
            stream: u32::from_be_bytes(stream),
            payload: rest[..length].to_vec(),
        });
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "the last frame is incomplete");
    frames
}

/// The bytes of frames that are written as `HEADERS+END_STREAM 1 :status=200&a=b; DATA 3 hello`: each with its type or the
/// number of that, its flags, its stream and its payload. Fields are a whole block; any other payload is a byte a character.
pub(in crate::wire) fn written(text: &str) -> Vec<u8> {
    text.split(';')
        .flat_map(|text| written_frame(text.trim_start()))
        .collect()
}

fn written_frame(text: &str) -> Vec<u8> {
    let mut words = text.splitn(3, ' ');
    let mut names = words.next().unwrap().split('+');
    let name = names.next().unwrap();
    let mut known = (0..10).map(Kind).filter(|kind| kind.to_string() == name);
    let kind = known.next().unwrap_or_else(|| Kind(name.parse().unwrap()));
    let flags = names.map(|flag| match flag {
        "ACK" => ACK,
        "END_STREAM" => END_STREAM,
        "END_HEADERS" => END_HEADERS,
        "PADDED" => PADDED,
        "PRIORITY" => PRIORITY,
        _ => panic!("{text}"),
    });
    let (flags, stream) = (flags.sum(), words.next().unwrap().parse().unwrap());
    let payload = words.next().unwrap_or_default();
    if kind == Kind::HEADERS && payload.contains('=') {
        let fields = payload
            .split('&')
            .map(|field| field.split_once('=').unwrap());
        return headers(stream, flags, &fields.collect::<Vec<_>>());
    }
    let payload: Vec<u8> = payload
        .chars()
        .map(|byte| u8::try_from(byte).unwrap())
        .collect();
    frame(kind, flags, stream, &payload)
}
