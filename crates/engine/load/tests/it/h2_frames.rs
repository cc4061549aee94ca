//! HTTP/2 servers of a test, frame by frame.

use std::io::{Read, Write};

/// What a client begins with.
const PREFACE: usize = 24;
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const REFUSED_STREAM: u8 = 7;
const END_STREAM: u8 = 1;
/// An empty SETTINGS frame.
pub(crate) const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// SETTINGS with MAX_CONCURRENT_STREAMS.
pub(crate) const fn most_streams(count: u8) -> [u8; 15] {
    [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, count]
}

/// GOAWAY with NO_ERROR.
pub(crate) const fn go_away(last_stream: u8) -> [u8; 17] {
    [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last_stream, 0, 0, 0, 0]
}

/// A whole response with status 200.
pub(crate) fn ok(stream: [u8; 4]) -> Vec<u8> {
    [&[0, 0, 1, HEADERS, 4 | END_STREAM][..], &stream, &[0x88]].concat()
}

/// RST_STREAM.
pub(crate) fn reset(stream: [u8; 4], code: u8) -> Vec<u8> {
    [&[0, 0, 4, 3, 0][..], &stream, &[0, 0, 0, code]].concat()
}

/// A frame whose payload was read.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) stream: [u8; 4],
    /// Whether a request is whole with it.
    pub(crate) ends_request: bool,
}

/// Sends `greeting`, and after each frame of the client what `respond` gives.
pub(crate) fn converse(
    mut stream: impl Read + Write,
    greeting: &[u8],
    mut respond: impl FnMut(Frame) -> Vec<u8>,
) -> Option<()> {
    read_preface(&mut stream)?;
    stream.write_all(greeting).ok()?;
    loop {
        let response = respond(read_whole(&mut stream)?);
        stream.write_all(&response).ok()?;
    }
}

pub(crate) fn read_preface(stream: &mut impl Read) -> Option<()> {
    stream.read_exact(&mut [0; PREFACE]).ok()
}

/// The kind and the stream of the next frame; its payload is read too.
pub(crate) fn read_frame(stream: &mut impl Read) -> Option<(u8, [u8; 4])> {
    read_whole(stream).map(|frame| (frame.kind, frame.stream))
}

fn read_whole(stream: &mut impl Read) -> Option<Frame> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let [a, b, c, kind, flags, number @ ..] = header;
    let length = u32::from_be_bytes([0, a, b, c]);
    stream.read_exact(&mut vec![0; length as usize]).ok()?;
    Some(Frame {
        kind,
        stream: number,
        ends_request: matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0,
    })
}
