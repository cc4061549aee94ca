//! The client's side of a connection: its state, and the frames that concern no response.

use prony_http::{DEFAULT_WINDOW, Frame, PREFACE, SendWindow, flag};

use super::flow::ReceiveWindow;
use super::head_encoder::HeadEncoder;
use super::header_block::PartialBlock;
use super::meaning::BlockReader;
use super::outgoing::Outgoing;
use super::response::ResponseReader;
use super::settings::{self, PeerSettings};
use super::short_bodies::ShortBodies;
use super::streams::{Stream, StreamRequestRef, Streams};
use super::{ErrorCode, Kind, Malformed};
use crate::wire::{End, EndedResponse, Fault, Responses};

/// The last number that a stream may have.
const LAST_STREAM: u32 = 0x7fff_ffff;
/// The most unsent bytes of bodies that are queued, so that long bodies are never in memory twice.
const MOST_QUEUED: usize = 128 * 1024;
/// How many frames in a row may bring no response any further.
pub(super) const MOST_SILENT_FRAMES: u32 = 10_000;
/// How many bytes of a GOAWAY's debug data to pass on.
const MOST_DEBUG: usize = 200;

/// A server that takes no further streams.
#[derive(Debug)]
pub(super) struct GoingAway {
    /// The last stream that it may have processed.
    pub(super) last_stream: u32,
    /// Whether it is an orderly end.
    pub(super) is_orderly: bool,
    /// `is going away: ENHANCE_YOUR_CALM (too_many_pings)`
    reason: String,
}

impl GoingAway {
    pub(super) fn fault(&self) -> Fault {
        Fault::Ended(self.reason.clone())
    }
}

/// A connection. A [`FrameReader`](super::FrameReader) splits its bytes into frames. It acknowledges settings, responds
/// to pings and opens windows by itself.
#[derive(Debug)]
pub(super) struct Connection<'a> {
    pub(super) out: Outgoing,
    heads: HeadEncoder,
    /// Whether it repeats one request.
    repeats: bool,
    pub(super) partial_block: PartialBlock,
    pub(super) blocks: BlockReader,
    peer: PeerSettings,
    send: SendWindow,
    pub(super) receive: ReceiveWindow,
    pub(super) streams: Streams<'a>,
    next_stream: u32,
    pub(super) going_away: Option<GoingAway>,
    /// Whether more of some body may be queued.
    may_fill: bool,
    /// How many frames in a row brought no response any further.
    pub(super) silent_frames: u32,
    /// Whether to count the events or messages of responses.
    pub(super) counts_events: bool,
    pub(super) short_bodies: Option<ShortBodies>,
    /// The `grpc-message` of the last response, or what it lacked, if its call has failed.
    pub(super) rpc_message: String,
}

impl Connection<'_> {
    pub(super) fn new(repeats: bool, counts_events: bool) -> Self {
        let mut connection = Self {
            out: Outgoing::default(),
            heads: HeadEncoder::new(repeats),
            repeats,
            partial_block: PartialBlock::default(),
            blocks: BlockReader::default(),
            peer: PeerSettings::default(),
            send: SendWindow::new(DEFAULT_WINDOW),
            receive: ReceiveWindow::FULL,
            streams: Streams::default(),
            next_stream: 1,
            going_away: None,
            may_fill: false,
            silent_frames: 0,
            counts_events,
            short_bodies: None,
            rpc_message: String::new(),
        };
        connection.open();
        connection
    }

    /// Forgets everything but its allocated memory, and queues the start of a connection.
    pub(super) fn open(&mut self) {
        self.heads = HeadEncoder::new(self.repeats);
        self.partial_block.clear();
        self.blocks.restart();
        self.peer = PeerSettings::default();
        self.send = SendWindow::new(DEFAULT_WINDOW);
        self.receive = ReceiveWindow::FULL;
        self.streams.restart();
        self.next_stream = 1;
        self.going_away = None;
        self.may_fill = false;
        self.silent_frames = 0;
        self.out.restart();
        self.out.raw(PREFACE);
        let settings = settings::client();
        self.out
            .frame(Kind::SETTINGS, 0, 0, settings.as_flattened());
        // The connection's window is not a setting.
        self.grant(0, ReceiveWindow::SIZE - DEFAULT_WINDOW);
    }

    /// How many more streams may be opened now.
    pub(super) fn room(&self) -> usize {
        if !self.takes_streams() {
            return 0;
        }
        let numbers = (LAST_STREAM - self.next_stream) / 2 + 1;
        let room = (self.peer.max_streams as usize).saturating_sub(self.streams.len());
        room.min(numbers as usize)
    }

    /// Whether further streams may be opened, now or later: the server is not going away, and there are numbers left.
    pub(super) fn takes_streams(&self) -> bool {
        self.going_away.is_none() && self.next_stream <= LAST_STREAM
    }

    /// How many of the last requests the server cannot know.
    pub(super) fn unsent_requests(&self) -> usize {
        let latest = self.streams.iter().rev();
        latest.take_while(|it| !it.is_known(&self.out)).count()
    }

    /// Whether a header block has begun but not ended.
    pub(super) fn in_block(&self) -> bool {
        self.partial_block.begun()
    }

    /// Queues as much of the bodies as the server has room for.
    pub(super) fn fill(&mut self) {
        if !self.may_fill {
            return;
        }
        let waiting = self.streams.iter_mut().filter(|it| it.end_at.is_none());
        for stream in waiting {
            if self.send.room() == 0 {
                break;
            }
            let filler = Filler {
                out: &mut self.out,
                connection: &mut self.send,
                most: self.peer.max_frame,
            };
            if filler.fill(stream) {
                self.silent_frames = 0;
            }
            if self.out.unsent().len() >= MOST_QUEUED {
                return;
            }
        }
        // Until a window opens.
        self.may_fill = false;
    }

    /// Takes the next frame. Returns the response that it ends.
    ///
    /// # Errors
    ///
    /// If a server must not send it: the connection is then unusable.
    #[inline]
    pub(super) fn take(
        &mut self,
        frame: Frame<'_>,
        responses: &mut dyn Responses,
    ) -> Result<Option<EndedResponse>, Fault> {
        self.silent_frames += 1;
        if self.silent_frames > MOST_SILENT_FRAMES {
            return Err(Malformed::Flood.into());
        }
        if self.in_block() {
            return self.continue_block(&frame, responses);
        }
        check_stream(frame.kind, frame.stream)?;
        match frame.kind {
            Kind::DATA => return self.data(&frame, responses),
            Kind::HEADERS => return self.headers(&frame, responses),
            Kind::RST_STREAM => return self.reset(&frame),
            Kind::WINDOW_UPDATE => return self.window_update(&frame),
            Kind::SETTINGS => self.settings(&frame)?,
            Kind::PING => self.ping(&frame)?,
            Kind::GOAWAY => self.go_away(&frame)?,
            Kind::PUSH_PROMISE => return Err(Malformed::Push.into()),
            Kind::CONTINUATION => return Err(Malformed::ContinuesNothing.into()),
            // Obsolete (section 5.3.2).
            Kind::PRIORITY => frame.fixed::<5>().map(|_| ())?,
            _ => {}
        }
        Ok(None)
    }

    fn settings(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        if frame.has(flag::ACK) {
            return Ok(frame.fixed::<0>().map(|_| ())?);
        }
        let before = self.peer.initial_window;
        self.peer.take(frame.payload)?;
        let change = i64::from(self.peer.initial_window) - i64::from(before);
        if change != 0 {
            let mut streams = self.streams.iter_mut();
            streams.try_for_each(|stream| stream.send.grow(change))?;
        }
        self.heads.limit(self.peer.table_size as usize);
        self.may_fill = true;
        self.out.response(Kind::SETTINGS, flag::ACK, 0, &[])
    }

    fn ping(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        let payload = frame.fixed::<8>()?;
        if !frame.has(flag::ACK) {
            self.out.response(Kind::PING, flag::ACK, 0, payload)?;
        }
        Ok(())
    }

    fn window_update(&mut self, frame: &Frame<'_>) -> Result<Option<EndedResponse>, Fault> {
        let by = frame.number()? & 0x7fff_ffff;
        let number = frame.stream;
        let not_zero = match by {
            0 => Err(Malformed::WindowUpdateZero),
            by => Ok(i64::from(by)),
        };
        if number == 0 {
            self.send.grow(not_zero?)?;
        } else if let Some(position) = self.position(Kind::WINDOW_UPDATE, number)? {
            let stream = self.streams.get(position);
            if let Err(malformed) = not_zero.and_then(|by| Ok(stream.send.grow(by)?)) {
                return self.fail(position, malformed.into(), false).map(Some);
            }
        }
        // A stream that has ended needs no window.
        self.may_fill = true;
        Ok(None)
    }

    fn reset(&mut self, frame: &Frame<'_>) -> Result<Option<EndedResponse>, Fault> {
        let code = ErrorCode(frame.number()?);
        let number = frame.stream;
        let Some(position) = self.position(Kind::RST_STREAM, number)? else {
            // The end of a whole response, or of one that was given up.
            self.streams.is_abandoned(number, true);
            return Ok(None);
        };
        let fault = Fault::Ended(format!("reset the stream: {code}"));
        let end = match code {
            ErrorCode::REFUSED_STREAM => End::Unprocessed(fault),
            _ => End::Failed(fault),
        };
        self.streams.abandon(number);
        Ok(self.end(position, end))
    }

    fn go_away(&mut self, frame: &Frame<'_>) -> Result<(), Malformed> {
        let Some((&[s0, s1, s2, s3, c0, c1, c2, c3], debug)) = frame.payload.split_first_chunk()
        else {
            return Err(Malformed::FrameLength(Kind::GOAWAY));
        };
        let last_stream = u32::from_be_bytes([s0, s1, s2, s3]) & LAST_STREAM;
        let code = ErrorCode(u32::from_be_bytes([c0, c1, c2, c3]));
        let before = self.going_away.as_ref();
        // It may only take back what it has promised (section 6.8).
        let least = before.map_or(LAST_STREAM, |before| before.last_stream);
        self.going_away = Some(GoingAway {
            last_stream: last_stream.min(least),
            is_orderly: code == ErrorCode::NO_ERROR,
            reason: reason(code, debug),
        });
        Ok(())
    }

    /// The last of the streams that a server which is going away has not processed.
    pub(super) fn next_unprocessed(&mut self) -> Option<EndedResponse> {
        let fault = self.unprocessed()?;
        let position = self.streams.len() - 1;
        let number = self.streams.get(position).number;
        self.streams.abandon(number);
        self.end(position, End::Unprocessed(fault))
    }

    /// Why the last stream is not processed, if it is certainly not.
    #[inline]
    pub(super) fn unprocessed(&self) -> Option<Fault> {
        let going_away = self.going_away.as_ref()?;
        let last = self.streams.last()?;
        let is_unprocessed = last.number > going_away.last_stream;
        is_unprocessed.then(|| going_away.fault())
    }

    /// Why the server takes no more streams, if it is going away.
    pub(super) fn farewell(&self) -> Option<Fault> {
        self.going_away.as_ref().map(GoingAway::fault)
    }

    /// Gives up the request at that position; returns false if the server reads too little to learn of it.
    pub(super) fn cancel(&mut self, position: usize) -> bool {
        if self.out.is_clogged() {
            return false;
        }
        let number = self.streams.get(position).number;
        if self.out.reset(number, ErrorCode::CANCEL).is_err() {
            return false;
        }
        self.streams.abandon(number);
        self.remove(position);
        true
    }

    /// Ends the request at that position with a fault that concerns only its stream. `ended` says that the server has
    /// ended the stream.
    #[cold]
    pub(super) fn fail(
        &mut self,
        position: usize,
        fault: Fault,
        ended: bool,
    ) -> Result<EndedResponse, Fault> {
        let stream = self.streams.get(position);
        let (number, is_queued) = (stream.number, stream.end_at.is_some());
        if !(ended && is_queued) {
            self.out.reset(number, error_code(&fault))?;
        }
        if !ended {
            self.streams.abandon(number);
        }
        let was_sent = self.remove(position);
        Ok(EndedResponse {
            position,
            was_sent,
            end: End::Failed(fault),
        })
    }

    /// Ends the request at that position, after the server has ended its stream.
    #[inline]
    pub(super) fn end(&mut self, position: usize, end: End) -> Option<EndedResponse> {
        let was_sent = self.remove(position);
        Some(EndedResponse {
            position,
            was_sent,
            end,
        })
    }

    /// Removes a stream; returns whether its request is fully sent.
    #[inline]
    fn remove(&mut self, position: usize) -> bool {
        let Some(stream) = self.streams.remove(position) else {
            return false;
        };
        let is_sent = stream.is_sent(&self.out);
        if let Some(bodies) = &mut self.short_bodies {
            bodies.put(stream.response.into_short_body());
        }
        is_sent
    }

    /// Lets the server send `by` more bytes.
    pub(super) fn grant(&mut self, stream: u32, by: u32) {
        self.out
            .frame(Kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
    }

    /// The position of the stream of that number, `None` if it has ended.
    #[inline]
    pub(super) fn position(&self, kind: Kind, number: u32) -> Result<Option<usize>, Malformed> {
        // Even numbers are for the server's pushes.
        if number >= self.next_stream || number.is_multiple_of(2) {
            return Err(Malformed::IdleStream(kind));
        }
        Ok(self.streams.find(number))
    }
}

impl<'a> Connection<'a> {
    /// Opens a stream for `request`. Call it only if there is [room](Connection::room).
    #[inline]
    pub(super) fn request(&mut self, request: StreamRequestRef<'a>) {
        let number = self.next_stream;
        self.next_stream += 2;
        self.heads.encode(&request, number, &mut self.out);
        let bodies = self.short_bodies.as_mut();
        let short_body = bodies.map(ShortBodies::memory).unwrap_or_default();
        let has_body = !request.body().is_empty();
        let mut stream = Stream {
            number,
            request,
            response: ResponseReader::keeping(short_body),
            send: SendWindow::new(self.peer.initial_window),
            receive: ReceiveWindow::FULL,
            head_end_at: self.out.all_bytes(),
            body_queued: 0,
            end_at: (!has_body).then(|| self.out.all_bytes()),
        };
        // If other bodies wait, this one goes after them.
        if stream.end_at.is_none() && !self.may_fill {
            let filler = Filler {
                out: &mut self.out,
                connection: &mut self.send,
                most: self.peer.max_frame,
            };
            filler.fill(&mut stream);
            self.may_fill = stream.end_at.is_none();
        }
        self.streams.add(stream);
    }
}

/// Queues bodies of requests.
struct Filler<'o> {
    out: &'o mut Outgoing,
    connection: &'o mut SendWindow,
    /// The longest frame.
    most: usize,
}

impl Filler<'_> {
    /// Queues as much of one body as the windows and the queue have room for; returns whether that is anything.
    fn fill(self, stream: &mut Stream<'_>) -> bool {
        let body = stream.request.body();
        let before = stream.body_queued;
        while stream.end_at.is_none() && self.out.unsent().len() < MOST_QUEUED {
            let rest = &body[stream.body_queued..];
            let window = self.connection.room().min(stream.send.room());
            let length = rest.len().min(window).min(self.most).min(MOST_QUEUED);
            if length == 0 {
                break;
            }
            self.connection.take(length);
            stream.send.take(length);
            stream.body_queued += length;
            let is_last = length == rest.len();
            let flags = if is_last { flag::END_STREAM } else { 0 };
            self.out.data(flags, stream.number, &rest[..length]);
            stream.end_at = is_last.then(|| self.out.all_bytes());
        }
        stream.body_queued > before
    }
}

fn error_code(fault: &Fault) -> ErrorCode {
    match fault {
        Fault::Http2(Malformed::WindowOverflow | Malformed::WindowExceeded) => {
            ErrorCode::FLOW_CONTROL_ERROR
        }
        Fault::Http2(_) => ErrorCode::PROTOCOL_ERROR,
        _ => ErrorCode::CANCEL,
    }
}

fn reason(code: ErrorCode, debug: &[u8]) -> String {
    let debug = &debug[..debug.len().min(MOST_DEBUG)];
    match String::from_utf8_lossy(debug).escape_debug().to_string() {
        debug if debug.is_empty() => format!("is going away: {code}"),
        debug => format!("is going away: {code} ({debug})"),
    }
}

/// Some frames concern a stream, some the connection; WINDOW_UPDATE concerns either.
fn check_stream(kind: Kind, stream: u32) -> Result<(), Malformed> {
    match kind {
        Kind::SETTINGS | Kind::PING | Kind::GOAWAY if stream != 0 => Err(Malformed::OnStream(kind)),
        Kind::DATA | Kind::HEADERS | Kind::PRIORITY | Kind::RST_STREAM if stream == 0 => {
            Err(Malformed::NoStream(kind))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::h2::StreamRequest;
    use http::Method;

    #[test]
    fn stream_numbers_run_out() {
        let request = StreamRequest::http(&Method::GET, "http", "a", "/", &[], b"").unwrap();
        let mut connection = Connection::new(false, false);
        connection.next_stream = LAST_STREAM;
        assert_eq!(connection.room(), 1);
        connection.request(StreamRequestRef::OfSet(&request));
        assert_eq!(connection.streams.last().unwrap().number, LAST_STREAM);
        assert_eq!((connection.room(), connection.takes_streams()), (0, false));
        connection.open();
        assert!(connection.takes_streams());
    }
}
