//! HTTP/2 servers of a test, frame by frame.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// What a client begins with.
const PREFACE: usize = 24;
pub const HEADERS: u8 = 1;

/// A server that converses over each connection until the client closes it.
pub fn server(converse: impl Fn(TcpStream) -> Option<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let converse = converse.clone();
            thread::spawn(move || converse(stream.unwrap()));
        }
    });
    address
}

pub fn read_preface(stream: &mut impl Read) -> Option<()> {
    stream.read_exact(&mut [0; PREFACE]).ok()
}

/// The kind and the stream of the next frame; its payload is read too.
pub fn read_frame(stream: &mut impl Read) -> Option<(u8, [u8; 4])> {
    read_head(stream).map(|(kind, _, number)| (kind, number))
}

/// The kind, the flags and the stream of the next frame; its payload is read too.
pub fn read_head(stream: &mut impl Read) -> Option<(u8, u8, [u8; 4])> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let [a, b, c, kind, flags, number @ ..] = header;
    let length = u32::from_be_bytes([0, a, b, c]);
    stream.read_exact(&mut vec![0; length as usize]).ok()?;
    Some((kind, flags, number))
}
