//! The client's side of a connection: its state, frame by frame.

use super::flow::{DEFAULT_WINDOW, ReceiveWindow, SendWindow};
use super::frame::{Frame, flag};
use super::header_block::{Block, PartialBlock};
use super::hpack::{Decoder, EMPTY_TABLE, Fields};
use super::outgoing::Outgoing;
use super::settings::{self, PeerSettings};
use super::{ErrorCode, Kind, Malformed};

/// What a client begins with (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The last number that a stream may have.
const LAST_STREAM: u32 = 0x7fff_ffff;

/// What one frame means.
#[derive(Clone, Copy, Debug)]
pub enum StreamEvent<'a> {
    /// Nothing that concerns the stream.
    Control,
    /// A list of header fields: a head or trailers.
    Fields {
        /// The stream's number.
        stream: u32,
        /// The list.
        fields: &'a Fields,
        /// Whether the server ended the stream with it.
        end: bool,
    },
    /// A piece of the body.
    Data {
        /// The stream's number.
        stream: u32,
        /// The piece, which may be empty.
        bytes: &'a [u8],
        /// Whether the server ended the stream with it.
        end: bool,
    },
    /// The server has reset the stream.
    Reset {
        /// The stream's number.
        stream: u32,
        /// Why.
        code: ErrorCode,
    },
    /// The server takes no further streams.
    GoAway {
        /// The last stream that it may have processed.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
        /// Its explanation for humans.
        debug: &'a [u8],
    },
}

/// The stream that is open.
#[derive(Debug)]
struct Stream {
    number: u32,
    send: SendWindow,
    receive: ReceiveWindow,
    /// How much of the body is sent or queued.
    body_sent: usize,
    /// How many bytes of the connection are sent when the last one of the body is; `None` until that one is queued.
    end_at: Option<u64>,
}

/// A connection with one stream at a time. A [`FrameReader`](super::FrameReader) splits its bytes into frames. It
/// acknowledges settings, responds to pings and opens windows by itself.
#[derive(Debug)]
pub struct Connection {
    out: Outgoing,
    decoder: Decoder,
    partial_block: PartialBlock,
    fields: Fields,
    peer: PeerSettings,
    send: SendWindow,
    receive: ReceiveWindow,
    stream: Option<Stream>,
    next_stream: u32,
    going_away: bool,
}

impl Default for Connection {
    /// A new connection, as after [`Connection::open`].
    fn default() -> Self {
        let mut connection = Self {
            out: Outgoing::default(),
            decoder: Decoder::default(),
            partial_block: PartialBlock::default(),
            fields: Fields::default(),
            peer: PeerSettings::default(),
            send: SendWindow::new(DEFAULT_WINDOW),
            receive: ReceiveWindow::FULL,
            stream: None,
            next_stream: 1,
            going_away: false,
        };
        connection.open();
        connection
    }
}

impl Connection {
    /// Forgets everything but its allocated memory, and queues the start of a connection.
    pub fn open(&mut self) {
        self.decoder.restart();
        self.partial_block.clear();
        self.peer = PeerSettings::default();
        self.send = SendWindow::new(DEFAULT_WINDOW);
        self.receive = ReceiveWindow::FULL;
        self.stream = None;
        self.next_stream = 1;
        self.going_away = false;
        self.out.restart();
        self.out.raw(PREFACE);
        self.out.frame(Kind::Settings, 0, 0, &settings::client());
        // The connection's window is not a setting.
        self.grant(0, ReceiveWindow::SIZE - DEFAULT_WINDOW);
    }

    /// Whether a further stream may be opened: the server is not going away, and there are numbers left.
    pub fn takes_streams(&self) -> bool {
        !self.going_away && self.next_stream <= LAST_STREAM
    }

    /// The number of the open stream.
    pub fn stream(&self) -> Option<u32> {
        self.stream.as_ref().map(|stream| stream.number)
    }

    /// Whether a header block has begun but not ended.
    pub fn in_block(&self) -> bool {
        self.partial_block.begun()
    }

    /// Opens a stream in place of the open one. `head` is a whole header block, encoded with [`super::hpack::encode`]
    /// and at most [`super::MAX_FRAME`] - 1 bytes long. A body of at least one byte must follow, with
    /// [`Connection::fill`].
    ///
    /// Call it only if [`Connection::takes_streams`].
    pub fn begin(&mut self, head: &[u8]) {
        let number = self.next_stream;
        self.next_stream += 2;
        self.stream = Some(Stream {
            number,
            send: SendWindow::new(self.peer.initial_window),
            receive: ReceiveWindow::FULL,
            body_sent: 0,
            end_at: None,
        });
        if number == 1 {
            // Once per connection.
            let head = [&[EMPTY_TABLE], head].concat();
            self.out
                .frame(Kind::Headers, flag::END_HEADERS, number, &head);
        } else {
            self.out
                .frame(Kind::Headers, flag::END_HEADERS, number, head);
        }
    }

    /// Queues as much of the open stream's `body` as the server has room for; `body` is the same every time. Call it
    /// again whenever something has arrived.
    pub fn fill(&mut self, body: &[u8]) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        while stream.end_at.is_none() {
            let rest = &body[stream.body_sent..];
            let window = self.send.room().min(stream.send.room());
            let length = rest.len().min(window).min(self.peer.max_frame);
            if length == 0 {
                return;
            }
            self.send.take(length);
            stream.send.take(length);
            stream.body_sent += length;
            let last = length == rest.len();
            let flags = if last { flag::END_STREAM } else { 0 };
            self.out.data(flags, stream.number, &rest[..length]);
            stream.end_at = last.then(|| self.out.all_bytes());
        }
    }

    /// Whether all of the open stream's body is sent, so that a response can be final.
    pub fn body_is_sent(&self) -> bool {
        self.stream.as_ref().is_none_or(|stream| {
            let sent = self.out.sent_bytes();
            stream.end_at.is_some_and(|end_at| end_at <= sent)
        })
    }

    /// Ends the stream after the server did. If not all of the body is queued, this cancels the rest.
    pub fn end(&mut self) {
        if let Some(stream) = self.stream.take()
            && stream.end_at.is_none()
        {
            let code = ErrorCode::CANCEL.0.to_be_bytes();
            self.out.frame(Kind::RstStream, 0, stream.number, &code);
        }
    }

    /// The queued bytes that are not sent yet.
    pub fn unsent(&self) -> &[u8] {
        self.out.unsent()
    }

    /// Takes note that `length` bytes of [`Connection::unsent`] were sent.
    pub fn sent(&mut self, length: usize) {
        self.out.sent(length);
    }

    /// Takes the next frame and returns its meaning.
    ///
    /// # Errors
    ///
    /// If a server must not send it: the connection is then unusable.
    pub fn take<'a>(&'a mut self, frame: Frame<'a>) -> Result<StreamEvent<'a>, Malformed> {
        if self.in_block() {
            return self.continue_block(&frame);
        }
        let Some(kind) = frame.header.kind else {
            return Ok(StreamEvent::Control);
        };
        check_stream(kind, frame.header.stream)?;
        match kind {
            Kind::Data => self.data(&frame),
            Kind::Headers => self.headers(&frame),
            Kind::Settings => self.settings(&frame),
            Kind::Ping => self.ping(&frame),
            Kind::WindowUpdate => self.window_update(&frame),
            Kind::RstStream => self.reset(&frame),
            Kind::GoAway => self.go_away(&frame),
            Kind::PushPromise => Err(Malformed::Push),
            Kind::Continuation => Err(Malformed::ContinuesNothing),
            // Obsolete (section 5.3.2).
            Kind::Priority => numbers::<5>(kind, &frame).map(|_| StreamEvent::Control),
        }
    }

    fn data<'a>(&mut self, frame: &Frame<'a>) -> Result<StreamEvent<'a>, Malformed> {
        // Padding counts as well (section 6.9.1).
        let length = frame.payload.len();
        let bytes = frame.unpadded(Kind::Data)?;
        let stream = self.open_stream(Kind::Data, frame.header.stream)?;
        let end = frame.header.has(flag::END_STREAM);
        let number = stream.number;
        let granted = stream.receive.take(length)?;
        if let Some(by) = granted
            && !end
        {
            self.grant(number, by);
        }
        if let Some(by) = self.receive.take(length)? {
            self.grant(0, by);
        }
        Ok(StreamEvent::Data {
            stream: number,
            bytes,
            end,
        })
    }

    fn headers<'a>(&'a mut self, frame: &Frame<'a>) -> Result<StreamEvent<'a>, Malformed> {
        self.open_stream(Kind::Headers, frame.header.stream)?;
        match self.partial_block.begin(frame)? {
            Some(block) => decode(&mut self.decoder, block, &mut self.fields),
            None => Ok(StreamEvent::Control),
        }
    }

    fn continue_block(&mut self, frame: &Frame<'_>) -> Result<StreamEvent<'_>, Malformed> {
        let Some(block) = self.partial_block.continue_with(frame)? else {
            return Ok(StreamEvent::Control);
        };
        let event = decode(&mut self.decoder, block, &mut self.fields)?;
        self.partial_block.clear();
        Ok(event)
    }

    fn settings(&mut self, frame: &Frame<'_>) -> Result<StreamEvent<'static>, Malformed> {
        if frame.header.has(flag::ACK) {
            return numbers::<0>(Kind::Settings, frame).map(|_| StreamEvent::Control);
        }
        let before = self.peer.initial_window;
        self.peer.take(frame.payload)?;
        if let Some(stream) = &mut self.stream {
            let change = i64::from(self.peer.initial_window) - i64::from(before);
            stream.send.grow(change)?;
        }
        self.out.response(Kind::Settings, flag::ACK, &[])?;
        Ok(StreamEvent::Control)
    }

    fn ping(&mut self, frame: &Frame<'_>) -> Result<StreamEvent<'static>, Malformed> {
        let payload = numbers::<8>(Kind::Ping, frame)?;
        if !frame.header.has(flag::ACK) {
            self.out.response(Kind::Ping, flag::ACK, payload)?;
        }
        Ok(StreamEvent::Control)
    }

    fn window_update(&mut self, frame: &Frame<'_>) -> Result<StreamEvent<'static>, Malformed> {
        let by = u32::from_be_bytes(*numbers(Kind::WindowUpdate, frame)?) & 0x7fff_ffff;
        if by == 0 {
            return Err(Malformed::WindowUpdateZero);
        }
        let number = frame.header.stream;
        if number == 0 {
            self.send.grow(by.into())?;
        } else if let Some(stream) = self.known_stream(Kind::WindowUpdate, number)? {
            stream.send.grow(by.into())?;
        }
        // A stream that has ended needs no window.
        Ok(StreamEvent::Control)
    }

    fn reset(&mut self, frame: &Frame<'_>) -> Result<StreamEvent<'static>, Malformed> {
        let code = ErrorCode(u32::from_be_bytes(*numbers(Kind::RstStream, frame)?));
        let stream = frame.header.stream;
        // A stream that has ended is whole; its reset means nothing.
        if self.known_stream(Kind::RstStream, stream)?.is_none() {
            return Ok(StreamEvent::Control);
        }
        self.stream = None;
        Ok(StreamEvent::Reset { stream, code })
    }

    fn go_away<'a>(&mut self, frame: &Frame<'a>) -> Result<StreamEvent<'a>, Malformed> {
        let Some((&[s0, s1, s2, s3, c0, c1, c2, c3], debug)) = frame.payload.split_first_chunk()
        else {
            return Err(Malformed::FrameLength(Kind::GoAway));
        };
        self.going_away = true;
        Ok(StreamEvent::GoAway {
            last_stream: u32::from_be_bytes([s0, s1, s2, s3]) & LAST_STREAM,
            code: ErrorCode(u32::from_be_bytes([c0, c1, c2, c3])),
            debug,
        })
    }

    /// Lets the server send `by` more bytes.
    fn grant(&mut self, stream: u32, by: u32) {
        self.out
            .frame(Kind::WindowUpdate, 0, stream, &by.to_be_bytes());
    }

    /// The stream of that number, `None` if it has ended.
    fn known_stream(&mut self, kind: Kind, number: u32) -> Result<Option<&mut Stream>, Malformed> {
        // Even numbers are for the server's pushes.
        if number >= self.next_stream || number.is_multiple_of(2) {
            return Err(Malformed::IdleStream(kind));
        }
        let stream = self.stream.as_mut();
        Ok(stream.filter(|stream| stream.number == number))
    }

    fn open_stream(&mut self, kind: Kind, number: u32) -> Result<&mut Stream, Malformed> {
        self.known_stream(kind, number)?
            .ok_or(Malformed::ClosedStream(kind))
    }
}

fn decode<'a>(
    decoder: &mut Decoder,
    block: Block<'_>,
    fields: &'a mut Fields,
) -> Result<StreamEvent<'a>, Malformed> {
    decoder.decode(block.bytes, fields)?;
    Ok(StreamEvent::Fields {
        stream: block.stream,
        fields,
        end: block.end_stream,
    })
}

/// Some frames concern a stream, some the connection; WINDOW_UPDATE concerns either.
fn check_stream(kind: Kind, stream: u32) -> Result<(), Malformed> {
    match kind {
        Kind::Settings | Kind::Ping | Kind::GoAway if stream != 0 => Err(Malformed::OnStream(kind)),
        Kind::Data | Kind::Headers | Kind::Priority | Kind::RstStream if stream == 0 => {
            Err(Malformed::NoStream(kind))
        }
        _ => Ok(()),
    }
}

/// The payload of a frame whose kind has a fixed length.
fn numbers<'a, const LENGTH: usize>(
    kind: Kind,
    frame: &Frame<'a>,
) -> Result<&'a [u8; LENGTH], Malformed> {
    frame
        .payload
        .try_into()
        .map_err(|_| Malformed::FrameLength(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_numbers_run_out() {
        let mut connection = Connection {
            next_stream: LAST_STREAM,
            ..Connection::default()
        };
        assert!(connection.takes_streams());
        connection.begin(&[]);
        assert_eq!(connection.stream(), Some(LAST_STREAM));
        assert!(!connection.takes_streams());
        connection.open();
        assert!(connection.takes_streams());
    }
}
