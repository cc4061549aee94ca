//! A server that goes away before the request is sent.

use std::net::{TcpListener, TcpStream};
use std::thread;

use http::Method;

use super::*;
use crate::wire::h2::StreamRequest;

const TIMEOUT: Duration = Duration::from_secs(20);
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Settings and a GOAWAY frame with NO_ERROR: no stream was processed.
const GOING: &[u8] = &[
    0, 0, 0, 4, 0, 0, 0, 0, 0, //
    0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];
/// The header of a HEADERS frame that is a whole request on stream 1, without its length.
const REQUEST: &[u8] = &[1, 5, 0, 0, 0, 1];
/// A whole response on stream 1, with status 200.
const OK: &[u8] = &[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88];

/// A wire whose handshake is over once the server has sent something, and sees nothing of the handshake itself.
struct AfterHandshake<W> {
    inner: W,
    is_ready: bool,
}

impl<W: Wire> Wire for AfterHandshake<W> {
    fn open(&mut self) {
        self.inner.open();
        self.is_ready = false;
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn room(&self) -> usize {
        self.inner.room()
    }

    fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    fn farewell(&self) -> Option<Fault> {
        self.inner.farewell()
    }

    fn request(&mut self, which: Which) {
        self.inner.request(which);
    }

    fn request_own(&mut self, request: &ScenarioRequest, last: bool) {
        self.inner.request_own(request, last);
    }

    fn unsent(&mut self) -> &[u8] {
        self.inner.unsent()
    }

    fn sent(&mut self, length: usize) {
        self.inner.sent(length);
    }

    fn eat(&mut self, bytes: &[u8], responses: &mut dyn Responses) -> Result<Eaten, Fault> {
        self.is_ready = true;
        self.inner.eat(bytes, responses)
    }

    fn close(&mut self) -> OnClose {
        self.inner.close()
    }
}

/// Responds to a request once it has arrived.
fn respond(mut stream: TcpStream) -> io::Result<()> {
    let mut received = Vec::new();
    let has_request = |received: &[u8]| {
        received
            .windows(REQUEST.len())
            .any(|bytes| bytes == REQUEST)
    };
    while !has_request(&received) {
        let mut buffer = [0; 1024];
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        received.extend_from_slice(&buffer[..length]);
    }
    stream.write_all(OK)
}

/// The result of a request to a server that sends these bytes at once, over one connection after another, and how many
/// connections it takes.
fn request_of(connections: &'static [&'static [u8]]) -> (Result<Response, ExchangeError>, u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for bytes in connections {
            let (mut stream, _) = listener.accept()?;
            stream.write_all(bytes)?;
            thread::spawn(move || respond(stream));
        }
        Ok::<_, io::Error>(())
    });
    let request = StreamRequest::http(&Method::POST, "http", "a", "/", &[], b"").unwrap();
    let requests = std::slice::from_ref(&request);
    let request = WireRequest::from(request.clone());
    let mut conversation = Conversation::new(&address.into(), &request, None, TIMEOUT);
    conversation.wire = Box::new(AfterHandshake {
        inner: H2Wire::new(requests, false),
        is_ready: false,
    });
    let response = conversation.request();
    (response, conversation.connections())
}

#[test]
fn a_server_that_goes_away_with_the_end_of_the_handshake_is_left_once() {
    let (response, connections) = request_of(&[GOING, SETTINGS]);
    assert_eq!((response.unwrap().status, connections), (200, 2));
    let (response, connections) = request_of(&[GOING, GOING, SETTINGS]);
    assert_eq!(
        response.unwrap_err().to_string(),
        "the server is going away: NO_ERROR"
    );
    assert_eq!(connections, 2);
}
