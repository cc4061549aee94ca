//! One connection in HTTP/2 (RFC 9113), with prior knowledge or by ALPN. Touches no socket.
//!
//! Memory is bounded: nothing more is read while a batch waits to be sent, bodies of requests are skipped, bodies of
//! responses are ranges of shared texts, and the messages of gRPC calls have a limit for the whole connection.

pub(crate) mod head;
mod request;
mod settings;
mod stream;
mod window;

use std::collections::VecDeque;

use prony_http::{
    DEFAULT_WINDOW, ErrorCode, Frame, FrameHeader, Kind, MAX_FRAME, PREFACE, SendWindow,
    encode_header, flag,
};

use crate::grpc::{self, Call, failure};
use crate::responses::Content;
use crate::route::Reply;
use crate::shared::{BATCH, Progress, Shared};
use request::{Request, Requests};
use settings::{CONNECTION_WINDOW, ClientSettings, MAX_STREAMS};
use stream::{CallResponse, Inbound, Outbound, Sender, Sent, Stream, Text};
use window::ReceiveWindow;

/// The longest header block, in bytes. Each frame of it counts as a few more, so that empty ones end too.
const MAX_BLOCK: usize = 64 << 10;
/// How many streams that the server has reset are remembered.
const MAX_RESET: usize = 64;
/// How much the unfinished gRPC calls of a connection may hold, in bytes.
const MAX_HELD: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Http2 {
    stage: Stage,
    requests: Requests,
    /// A header block that CONTINUATION frames continue.
    block: Option<Block>,
    /// Streams that are not complete, by their numbers.
    streams: Vec<Stream>,
    /// The highest number of a stream that the client has opened.
    last_stream: u32,
    client: ClientSettings,
    window: SendWindow,
    receive: ReceiveWindow,
    /// Whether a stream that waited may be able to send.
    may_send: bool,
    /// Streams that the server has reset, the latest last: frames on them may have left the client before it knew.
    reset_streams: VecDeque<u32>,
    /// The memory of a call that is over.
    spare: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The preface comes next.
    Preface,
    /// The client's first SETTINGS frame comes next.
    Settings,
    Open,
}

#[derive(Debug)]
struct Block {
    stream: u32,
    ends_stream: bool,
    bytes: Vec<u8>,
    /// How many bytes it counts as.
    size: usize,
}

impl Default for Http2 {
    fn default() -> Self {
        Self {
            stage: Stage::Preface,
            requests: Requests::default(),
            block: None,
            streams: Vec::new(),
            last_stream: 0,
            client: ClientSettings::default(),
            window: SendWindow::new(DEFAULT_WINDOW),
            receive: ReceiveWindow::new(CONNECTION_WINDOW),
            may_send: false,
            reset_streams: VecDeque::new(),
            spare: Vec::new(),
        }
    }
}

impl Http2 {
    /// Whether a connection that begins with `bytes` is in HTTP/2; `None` if that needs more bytes.
    pub(crate) fn begins(bytes: &[u8]) -> Option<bool> {
        if bytes.len() < PREFACE.len() && PREFACE.starts_with(bytes) {
            None
        } else {
            Some(bytes.starts_with(PREFACE))
        }
    }

    /// Responds to the frames in `bytes`, up to a full batch; returns how many bytes that took. The first bytes have the
    /// whole preface.
    pub(crate) fn respond(&mut self, bytes: &[u8], shared: &mut Shared) -> (usize, Progress) {
        let mut read = 0;
        if self.stage == Stage::Preface {
            self.stage = Stage::Settings;
            read = PREFACE.len();
            write(shared, settings::write_server);
        }
        loop {
            if shared.output.left() >= BATCH {
                return (read, Progress::HeldBack);
            }
            let result = match read_frame(&bytes[read..]) {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    read += frame.size();
                    self.on_frame(&frame, shared)
                }
                Err(code) => Err(code),
            };
            if let Err(code) = result {
                let end = [self.last_stream.to_be_bytes(), code.0.to_be_bytes()];
                write_frame(Kind::GOAWAY, 0, 0, end.as_flattened(), shared);
                return (read, Progress::Over);
            }
        }
        (read, self.send_waiting(shared))
    }

    /// Takes a frame; an error ends the connection.
    fn on_frame(&mut self, frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
        let is_settings = frame.kind == Kind::SETTINGS && !frame.has(flag::ACK);
        let is_continuation = frame.kind == Kind::CONTINUATION;
        if (self.stage == Stage::Settings && !is_settings)
            || self.block.is_some() != is_continuation
        {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        match frame.kind {
            Kind::DATA => self.on_data(frame, shared),
            Kind::HEADERS => self.on_headers(frame, shared),
            Kind::CONTINUATION => self.on_continuation(frame, shared),
            Kind::SETTINGS => self.on_settings(frame, shared),
            Kind::PING => on_ping(frame, shared),
            Kind::WINDOW_UPDATE => self.on_window_update(frame, shared),
            Kind::RST_STREAM => self.on_reset(frame),
            Kind::PRIORITY => on_priority(frame, shared),
            Kind::GOAWAY if frame.stream != 0 => Err(ErrorCode::PROTOCOL_ERROR),
            Kind::GOAWAY if frame.payload.len() < 8 => Err(ErrorCode::FRAME_SIZE_ERROR),
            Kind::PUSH_PROMISE => Err(ErrorCode::PROTOCOL_ERROR),
            // The client still wants its responses after a GOAWAY frame; unknown frames are ignored.
            _ => Ok(()),
        }
    }

    fn on_headers(&mut self, frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
        // Clients open streams with odd numbers.
        if frame.stream.is_multiple_of(2) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let (fragment, ends_stream) = (frame.content()?, frame.has(flag::END_STREAM));
        if frame.has(flag::END_HEADERS) {
            return self.on_block(frame.stream, ends_stream, fragment, shared);
        }
        self.block = Some(Block {
            stream: frame.stream,
            ends_stream,
            bytes: fragment.to_vec(),
            size: frame.size(),
        });
        Ok(())
    }

    fn on_continuation(&mut self, frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
        let mut block = self.block.take().ok_or(ErrorCode::PROTOCOL_ERROR)?;
        if frame.stream != block.stream {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        block.size += frame.size();
        if block.size > MAX_BLOCK {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        block.bytes.extend_from_slice(frame.payload);
        if frame.has(flag::END_HEADERS) {
            return self.on_block(block.stream, block.ends_stream, &block.bytes, shared);
        }
        self.block = Some(block);
        Ok(())
    }

    fn on_block(
        &mut self,
        stream: u32,
        ends_stream: bool,
        block: &[u8],
        shared: &mut Shared,
    ) -> Result<(), ErrorCode> {
        // Even a refused stream has changed the dynamic table.
        let request = self
            .requests
            .read(block)
            .map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        if stream <= self.last_stream {
            return self.on_trailers(stream, ends_stream, shared);
        }
        self.last_stream = stream;
        if self.streams.len() >= MAX_STREAMS {
            self.reset(stream, ErrorCode::REFUSED_STREAM, shared);
        } else {
            self.open(stream, request, ends_stream, shared);
        }
        Ok(())
    }

    fn on_trailers(
        &mut self,
        stream: u32,
        ends_stream: bool,
        shared: &mut Shared,
    ) -> Result<(), ErrorCode> {
        match self.find(stream) {
            Some(place) if matches!(self.streams[place].inbound, Inbound::Ended) => {
                self.abort(place, ErrorCode::STREAM_CLOSED, shared);
            }
            Some(place) if !ends_stream => self.abort(place, ErrorCode::PROTOCOL_ERROR, shared),
            Some(place) => self.on_data_of(place, &[], true, shared),
            None if self.reset_streams.contains(&stream) => {}
            None => return Err(ErrorCode::STREAM_CLOSED),
        }
        Ok(())
    }

    fn open(&mut self, id: u32, request: Request, ends_stream: bool, shared: &mut Shared) {
        let inbound = match request {
            Request::Malformed => return self.reset(id, ErrorCode::PROTOCOL_ERROR, shared),
            Request::Http { reply, length } => {
                if ends_stream && length.is_none_or(|length| length == 0) {
                    let stream = Stream::new(id, self.client.initial_window, Inbound::Ended);
                    return self.respond_on_new(stream, reply, shared);
                }
                Inbound::Body {
                    reply,
                    left: length,
                }
            }
            Request::Grpc(method) => return self.begin_call(id, method, ends_stream, shared),
        };
        let stream = Stream::new(id, self.client.initial_window, inbound);
        self.streams.push(stream);
        if ends_stream {
            self.on_data_of(self.streams.len() - 1, &[], true, shared);
        }
    }

    fn begin_call(
        &mut self,
        id: u32,
        method: grpc::Method,
        ends_stream: bool,
        shared: &mut Shared,
    ) {
        shared.work.carry_out();
        let call = match Call::new(method) {
            Ok(call) => call,
            Err(failure) => {
                let head = head::failure(failure, true);
                sender(&mut self.window, &mut self.client, shared).head(&head, id, true);
                if !ends_stream {
                    self.reset(id, ErrorCode::NO_ERROR, shared);
                }
                return;
            }
        };
        let responds_at_once = call.responds_at_once();
        let mut stream = Stream::new(id, self.client.initial_window, Inbound::Call(call));
        let memory = std::mem::take(&mut self.spare);
        stream.outbound = Outbound::Call(CallResponse::new(memory));
        self.streams.push(stream);
        let place = self.streams.len() - 1;
        if ends_stream {
            self.on_data_of(place, &[], true, shared);
        } else if responds_at_once {
            // The client may wait for the head before it sends messages.
            self.send(place, shared);
        }
    }

    fn on_data(&mut self, frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
        let (stream, length) = (frame.stream, frame.payload.len());
        if stream == 0 || stream > self.last_stream {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let data = frame.content()?;
        self.receive.take(length)?;
        if let Some(more) = self.receive.refill() {
            open_window(0, more, shared);
        }
        let Some(place) = self.find(stream) else {
            if !self.reset_streams.contains(&stream) {
                self.reset(stream, ErrorCode::STREAM_CLOSED, shared);
            }
            return Ok(());
        };
        self.streams[place].receive.take(length)?;
        self.on_data_of(place, data, frame.has(flag::END_STREAM), shared);
        Ok(())
    }

    fn on_data_of(&mut self, place: usize, data: &[u8], ends_stream: bool, shared: &mut Shared) {
        let stream = &mut self.streams[place];
        match &mut stream.inbound {
            Inbound::Ended => self.abort(place, ErrorCode::STREAM_CLOSED, shared),
            Inbound::Body { reply, left } => {
                let reply = *reply;
                if !count_down(left, data.len(), ends_stream) {
                    return self.abort(place, ErrorCode::PROTOCOL_ERROR, shared);
                }
                if ends_stream {
                    let stream = self.streams.remove(place);
                    self.respond_on_new(stream, reply, shared);
                } else {
                    self.open_stream_window(place, shared);
                }
            }
            Inbound::Call(_) => self.on_messages(place, data, ends_stream, shared),
        }
    }

    fn on_messages(&mut self, place: usize, data: &[u8], ends_stream: bool, shared: &mut Shared) {
        let stream = &mut self.streams[place];
        let (Inbound::Call(call), Outbound::Call(response)) =
            (&mut stream.inbound, &mut stream.outbound)
        else {
            return;
        };
        let mut result = call.take(data, &mut response.messages);
        if result.is_ok() && ends_stream {
            result = call.end(&mut response.messages);
        }
        if result.is_err() || ends_stream {
            response.end = Some(result);
        }
        if ends_stream {
            stream.inbound = Inbound::Ended;
        } else if result.is_ok() && self.holds_too_much(place) {
            self.fail(place, failure::NO_ROOM);
        }
        if self.streams[place].can_send() {
            self.send(place, shared);
        } else {
            self.open_stream_window(place, shared);
        }
    }

    /// Whether the connection holds too much. Most calls hold nothing once a frame has been read, and need no sum.
    fn holds_too_much(&self, place: usize) -> bool {
        self.streams[place].held() > 0
            && self.streams.iter().map(Stream::held).sum::<usize>() > MAX_HELD
    }

    fn fail(&mut self, place: usize, failure: grpc::Failure) {
        if let Outbound::Call(response) = &mut self.streams[place].outbound {
            response.end = Some(Err(failure));
        }
    }

    /// Lets the client send more, unless it has to take responses first.
    fn open_stream_window(&mut self, place: usize, shared: &mut Shared) {
        let stream = &mut self.streams[place];
        let sends_more = !matches!(stream.inbound, Inbound::Ended);
        if sends_more
            && !stream.is_blocked()
            && let Some(more) = stream.receive.refill()
        {
            open_window(stream.id, more, shared);
        }
    }

    /// Responds on a stream whose request is complete and which is not among the streams.
    fn respond_on_new(&mut self, mut stream: Stream, reply: Reply, shared: &mut Shared) {
        shared.begin(reply);
        let Shared {
            responses,
            random,
            output,
            date,
            ..
        } = shared;
        let content = responses.content(reply.what, random);
        // The body is converted before the head, as in HTTP/1.1.
        let (head, range, own) = match content {
            Content::Prepared(prepared) => (&prepared.http2, prepared.body.clone(), None),
            Content::Patch(patch) => {
                let start = output.buffer().len();
                responses.convert(patch, output.buffer());
                (&patch.http2, patch.event.clone(), Some(start))
            }
        };
        let mut sender = Sender {
            window: &mut self.window,
            shrinks_table: &mut self.client.shrinks_table,
            responses,
            date,
            output,
        };
        sender.head(head, stream.id, reply.head_only);
        if reply.head_only {
            return;
        }
        stream.inbound = Inbound::Ended;
        stream.outbound = Outbound::Text(Text { range, own });
        let sent = stream.send(&mut sender);
        if sent != Sent::All {
            self.may_send |= sent == Sent::HeldBack;
            let place = self.streams.partition_point(|other| other.id < stream.id);
            self.streams.insert(place, stream);
        }
    }

    /// Sends what a stream has; removes it if it is complete.
    fn send(&mut self, place: usize, shared: &mut Shared) {
        let mut sender = sender(&mut self.window, &mut self.client, shared);
        match self.streams[place].send(&mut sender) {
            Sent::HeldBack => self.may_send = true,
            Sent::Waits => self.open_stream_window(place, shared),
            Sent::All => {
                let stream = self.streams.remove(place);
                if !matches!(stream.inbound, Inbound::Ended) {
                    // The client need not send the rest.
                    self.reset(stream.id, ErrorCode::NO_ERROR, shared);
                }
                if let Outbound::Call(response) = stream.outbound {
                    self.keep(response.messages.bytes);
                }
            }
        }
    }

    /// Keeps the memory of a call that is over for the next one.
    fn keep(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() <= BATCH {
            bytes.clear();
            self.spare = bytes;
        }
    }

    /// Sends on the streams that waited, until the batch is full.
    fn send_waiting(&mut self, shared: &mut Shared) -> Progress {
        let mut place = 0;
        while self.may_send && place < self.streams.len() {
            if shared.output.left() >= BATCH {
                break;
            }
            let id = self.streams[place].id;
            if self.streams[place].can_send() {
                self.send(place, shared);
            }
            // A stream that is complete has made its place for the next one.
            if self
                .streams
                .get(place)
                .is_some_and(|stream| stream.id == id)
            {
                place += 1;
            }
        }
        if shared.output.left() >= BATCH {
            return Progress::HeldBack;
        }
        self.may_send = false;
        Progress::Waits
    }

    fn on_settings(&mut self, frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if frame.has(flag::ACK) {
            return if frame.payload.is_empty() {
                Ok(())
            } else {
                Err(ErrorCode::FRAME_SIZE_ERROR)
            };
        }
        let before = self.client.initial_window;
        self.client.take(frame.payload)?;
        let change = i64::from(self.client.initial_window) - i64::from(before);
        for stream in &mut self.streams {
            stream.window.grow(change)?;
        }
        self.may_send |= change > 0;
        self.stage = Stage::Open;
        write_frame(Kind::SETTINGS, flag::ACK, 0, &[], shared);
        Ok(())
    }

    fn on_window_update(
        &mut self,
        frame: &Frame<'_>,
        shared: &mut Shared,
    ) -> Result<(), ErrorCode> {
        let more = frame.number()? & 0x7fff_ffff;
        if frame.stream > self.last_stream {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if frame.stream == 0 {
            self.may_send = true;
            return match more {
                0 => Err(ErrorCode::PROTOCOL_ERROR),
                _ => Ok(self.window.grow(more.into())?),
            };
        }
        let Some(place) = self.find(frame.stream) else {
            return Ok(());
        };
        let added = match more {
            0 => Err(ErrorCode::PROTOCOL_ERROR),
            _ => (self.streams[place].window.grow(more.into())).map_err(ErrorCode::from),
        };
        match added {
            Ok(()) => self.may_send = true,
            Err(code) => self.abort(place, code, shared),
        }
        Ok(())
    }

    fn on_reset(&mut self, frame: &Frame<'_>) -> Result<(), ErrorCode> {
        frame.number()?;
        if frame.stream == 0 || frame.stream > self.last_stream {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if let Some(place) = self.find(frame.stream) {
            self.streams.remove(place);
        }
        Ok(())
    }

    fn find(&self, stream: u32) -> Option<usize> {
        // Most frames are on the newest stream.
        let last = self.streams.len().checked_sub(1)?;
        if self.streams[last].id == stream {
            return Some(last);
        }
        self.streams
            .binary_search_by_key(&stream, |stream| stream.id)
            .ok()
    }

    fn abort(&mut self, place: usize, code: ErrorCode, shared: &mut Shared) {
        let stream = self.streams.remove(place);
        self.reset(stream.id, code, shared);
    }

    fn reset(&mut self, stream: u32, code: ErrorCode, shared: &mut Shared) {
        if self.reset_streams.len() == MAX_RESET {
            self.reset_streams.pop_front();
        }
        self.reset_streams.push_back(stream);
        reset(stream, code, shared);
    }
}

/// The frame that `bytes` begin with, if it is whole. One that is too long is refused as soon as its header is there.
#[inline]
fn read_frame(bytes: &[u8]) -> Result<Option<Frame<'_>>, ErrorCode> {
    match FrameHeader::read(bytes) {
        Some(header) if header.length > MAX_FRAME => Err(ErrorCode::FRAME_SIZE_ERROR),
        Some(header) => Ok(header.frame(bytes)),
        None => Ok(None),
    }
}

fn sender<'a>(
    window: &'a mut SendWindow,
    client: &'a mut ClientSettings,
    shared: &'a mut Shared,
) -> Sender<'a> {
    Sender {
        window,
        shrinks_table: &mut client.shrinks_table,
        responses: &shared.responses,
        date: &shared.date,
        output: &mut shared.output,
    }
}

/// Counts down a body whose length is known; whether it can still be right.
fn count_down(left: &mut Option<u64>, length: usize, ends_stream: bool) -> bool {
    let Some(left) = left else { return true };
    match left.checked_sub(length as u64) {
        Some(rest) => {
            *left = rest;
            !ends_stream || rest == 0
        }
        None => false,
    }
}

fn on_ping(frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
    match frame.payload.len() {
        _ if frame.stream != 0 => return Err(ErrorCode::PROTOCOL_ERROR),
        8 if frame.has(flag::ACK) => {}
        8 => write_frame(Kind::PING, flag::ACK, 0, frame.payload, shared),
        _ => return Err(ErrorCode::FRAME_SIZE_ERROR),
    }
    Ok(())
}

/// Priorities are obsolete (section 5.3.2).
fn on_priority(frame: &Frame<'_>, shared: &mut Shared) -> Result<(), ErrorCode> {
    if frame.stream == 0 {
        return Err(ErrorCode::PROTOCOL_ERROR);
    }
    if frame.payload.len() != 5 {
        reset(frame.stream, ErrorCode::FRAME_SIZE_ERROR, shared);
    }
    Ok(())
}

fn reset(stream: u32, code: ErrorCode, shared: &mut Shared) {
    write_frame(Kind::RST_STREAM, 0, stream, &code.0.to_be_bytes(), shared);
}

fn open_window(stream: u32, more: u32, shared: &mut Shared) {
    write_frame(Kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes(), shared);
}

fn write_frame(kind: Kind, flags: u8, stream: u32, payload: &[u8], shared: &mut Shared) {
    write(shared, |buffer| {
        buffer.extend_from_slice(&encode_header(payload.len(), kind, flags, stream));
        buffer.extend_from_slice(payload);
    });
}

fn write(shared: &mut Shared, append: impl FnOnce(&mut Vec<u8>)) {
    let start = shared.output.buffer().len();
    append(shared.output.buffer());
    shared.output.push_since(start);
}

#[cfg(test)]
mod tests;
