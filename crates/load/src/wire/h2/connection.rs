//! One connection: bytes in, events and bytes out.

use super::frame::FrameReader;
use super::session::Session;
use super::{Event, Malformed};

/// The client's side of a connection with one stream at a time.
///
/// It acknowledges settings, responses pings and opens windows by itself.
#[derive(Debug)]
pub struct Connection {
    frames: FrameReader,
    session: Session,
}

impl Default for Connection {
    /// A new connection, as after [`Connection::open`].
    fn default() -> Self {
        let mut connection = Self {
            frames: FrameReader::default(),
            session: Session::new(),
        };
        connection.open();
        connection
    }
}

impl Connection {
    /// Forgets everything but the memory it has, and puts in line what a connection begins with.
    pub fn open(&mut self) {
        self.frames.restart();
        self.session.open();
    }

    /// Whether a further stream may be opened: the server is not going away, and there are numbers
    /// left.
    pub fn takes_streams(&self) -> bool {
        self.session.takes_streams()
    }

    /// The number of the open stream, where one is.
    pub fn stream(&self) -> Option<u32> {
        self.session.stream()
    }

    /// Whether some of a frame or of a header block has come, and its end has not.
    pub fn in_frame(&self) -> bool {
        self.frames.in_frame() || self.session.in_block()
    }

    /// Opens a stream, in place of the one that was open. `head` is a whole header block, encoded
    /// with [`super::hpack::encode`] and at most [`super::MAX_FRAME`] - 1 bytes long. A body of one
    /// byte at least follows, with [`Connection::fill`].
    ///
    /// May only be called where [`Connection::takes_streams`].
    pub fn begin(&mut self, head: &[u8]) {
        self.session.begin(head);
    }

    /// Puts in line what the server has room for of the open stream's `body`, which is the same every
    /// time. To be called again after whatever came.
    pub fn fill(&mut self, body: &[u8]) {
        self.session.fill(body);
    }

    /// Whether all of the open stream's body is sent, so that a response can be one to it.
    pub fn body_is_sent(&self) -> bool {
        self.session.body_is_sent()
    }

    /// The server has ended the stream. Where not all of the body is in line, the server is told that
    /// the rest will not come.
    pub fn end(&mut self) {
        self.session.end();
    }

    /// What is to be sent and is not yet.
    pub fn unsent(&self) -> &[u8] {
        self.session.out.unsent()
    }

    /// `length` bytes of [`Connection::unsent`] were sent.
    pub fn sent(&mut self, length: usize) {
        self.session.out.sent(length);
    }

    /// Takes one frame off `bytes` and tells what it came to; `None` where all is taken.
    ///
    /// # Errors
    /// Where it is nothing that a server may send: the connection is of no use any more.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Event<'a>>, Malformed> {
        match self.frames.next(bytes)? {
            Some(frame) => self.session.take(frame).map(Some),
            None => Ok(None),
        }
    }
}
