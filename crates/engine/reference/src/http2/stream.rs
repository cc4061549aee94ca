//! One stream: what the client still sends, and what is still to be sent to it.

use std::ops::Range;

use prony_http::{Kind, MAX_FRAME, SendWindow, encode_header, flag};

use super::head::{Head, Place, failure};
use super::window::ReceiveWindow;
use crate::date::Date;
use crate::grpc::{Call, Failure, Messages};
use crate::output::Output;
use crate::responses::Responses;
use crate::route::Reply;
use crate::shared::BATCH;

#[derive(Debug)]
pub(super) struct Stream {
    pub(crate) id: u32,
    /// How much it may send.
    pub(crate) window: SendWindow,
    /// How much the client may send.
    pub(crate) receive: ReceiveWindow,
    /// What the client still sends.
    pub(crate) inbound: Inbound,
    /// What is still to be sent.
    pub(crate) outbound: Outbound,
}

/// What the client still sends.
#[derive(Debug)]
pub(super) enum Inbound {
    /// A body that is skipped, of this length if it is known, and then the response.
    Body {
        reply: Reply,
        /// How many bytes are left.
        left: Option<u64>,
    },
    /// The messages of a gRPC call.
    Call(Call),
    /// Nothing.
    Ended,
}

/// What is still to be sent.
#[derive(Debug)]
pub(super) enum Outbound {
    /// Nothing until the client has sent more.
    Nothing,
    /// The rest of a body.
    Text(Text),
    /// Messages of a gRPC call.
    Call(CallResponse),
}

/// The rest of a body.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// Where it is in the shared texts.
    pub(crate) range: Range<usize>,
    /// Where a copy of it is in the output's own buffer, if that is still there.
    pub(crate) own: Option<usize>,
}

/// The response of a gRPC call.
#[derive(Debug, Default)]
pub(super) struct CallResponse {
    /// What is sent.
    pub(crate) messages: Messages,
    /// How many of the bytes have been sent.
    sent: usize,
    has_head: bool,
    /// How the call ends, once that is certain.
    pub(crate) end: Option<Result<(), Failure>>,
}

impl CallResponse {
    /// Nothing is to be sent yet; messages will go into this memory.
    pub(super) fn new(memory: Vec<u8>) -> Self {
        let messages = Messages {
            bytes: memory,
            repeats: 0,
        };
        Self {
            messages,
            ..Self::default()
        }
    }

    /// How many bytes it holds.
    pub(super) fn held(&self) -> usize {
        self.messages.bytes.len()
    }

    /// How many bytes are left to send, or as many as a frame can have.
    fn left(&self) -> usize {
        let length = self.messages.bytes.len();
        let repeats = usize::try_from(self.messages.repeats).unwrap_or(usize::MAX);
        length - self.sent + length.saturating_mul(repeats)
    }

    /// Appends the next bytes to `buffer`.
    fn write(&mut self, mut length: usize, buffer: &mut Vec<u8>) {
        while length > 0 {
            let rest = &self.messages.bytes[self.sent..];
            let part = rest.len().min(length);
            buffer.extend_from_slice(&rest[..part]);
            self.sent += part;
            length -= part;
            if self.sent == self.messages.bytes.len() {
                self.sent = 0;
                match self.messages.repeats.checked_sub(1) {
                    Some(repeats) => self.messages.repeats = repeats,
                    None => self.messages.bytes.clear(),
                }
            }
        }
    }
}

/// What sending depends on besides the stream.
#[derive(Debug)]
pub(super) struct Sender<'a> {
    /// How much the connection may send.
    pub(crate) window: &'a mut SendWindow,
    /// Whether the next header block must say that the dynamic table stays empty.
    pub(crate) shrinks_table: &'a mut bool,
    pub(crate) responses: &'a Responses,
    pub(crate) date: &'a Date,
    /// Where frames go.
    pub(crate) output: &'a mut Output,
}

impl Sender<'_> {
    pub(super) fn head(&mut self, head: &Head, stream: u32, ends_stream: bool) {
        let place = Place {
            stream,
            ends_stream,
            shrinks_table: std::mem::take(self.shrinks_table),
        };
        let start = self.output.buffer().len();
        head.write(place, self.date, self.output.buffer());
        self.output.push_since(start);
    }

    /// Writes the header of a DATA frame.
    fn data(&mut self, length: usize, stream: u32, ends_stream: bool) {
        let flags = if ends_stream { flag::END_STREAM } else { 0 };
        let start = self.output.buffer().len();
        let header = encode_header(length, Kind::DATA, flags, stream);
        self.output.buffer().extend_from_slice(&header);
        self.output.push_since(start);
    }
}

/// How far a stream got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Everything was sent, and the stream has ended on this side.
    All,
    /// The rest needs more of a window, or something else from the client.
    Waits,
    /// The rest needs room in the batch.
    HeldBack,
}

impl Stream {
    /// A stream that the client has just opened.
    pub(super) fn new(id: u32, send_window: u32, inbound: Inbound) -> Self {
        Self {
            id,
            window: SendWindow::new(send_window),
            receive: ReceiveWindow::new(super::settings::STREAM_WINDOW),
            inbound,
            outbound: Outbound::Nothing,
        }
    }

    /// How many bytes it holds.
    pub(super) fn held(&self) -> usize {
        let inbound = match &self.inbound {
            Inbound::Call(call) => call.held(),
            _ => 0,
        };
        let outbound = match &self.outbound {
            Outbound::Call(response) => response.held(),
            _ => 0,
        };
        inbound + outbound
    }

    /// Whether it has something that may be sent now if the windows allow it.
    pub(super) fn can_send(&self) -> bool {
        match &self.outbound {
            Outbound::Nothing => false,
            Outbound::Text(_) => true,
            Outbound::Call(response) => {
                let at_once =
                    matches!(&self.inbound, Inbound::Call(call) if call.responds_at_once());
                at_once || response.end.is_some()
            }
        }
    }

    /// Whether the client has to take something before it may send more.
    pub(super) fn is_blocked(&self) -> bool {
        matches!(&self.outbound, Outbound::Call(response) if response.held() > 0)
            && matches!(&self.inbound, Inbound::Call(call) if call.responds_at_once())
    }

    /// Sends as much as the windows allow.
    pub(super) fn send(&mut self, sender: &mut Sender<'_>) -> Sent {
        let (id, window) = (self.id, &mut self.window);
        match &mut self.outbound {
            Outbound::Nothing => Sent::Waits,
            Outbound::Text(text) => send_text(id, window, text, sender),
            Outbound::Call(response) => send_call(id, window, response, sender),
        }
    }
}

/// The length of the next DATA frame for `left` bytes; `Err` if nothing may be sent now.
fn next_length(left: usize, window: &SendWindow, sender: &Sender<'_>) -> Result<usize, Sent> {
    if sender.output.left() >= BATCH {
        return Err(Sent::HeldBack);
    }
    let windows = window.room().min(sender.window.room());
    match left.min(windows).min(MAX_FRAME) {
        0 => Err(Sent::Waits),
        length => Ok(length),
    }
}

fn send_text(id: u32, window: &mut SendWindow, text: &mut Text, sender: &mut Sender<'_>) -> Sent {
    while !text.range.is_empty() {
        let length = match next_length(text.range.len(), window, sender) {
            Ok(length) => length,
            Err(sent) => {
                // The output's buffer is about to be sent.
                text.own = None;
                return sent;
            }
        };
        sender.data(length, id, length == text.range.len());
        let end = text.range.start + length;
        match &mut text.own {
            None => {
                let part = text.range.start..end;
                sender.responses.write_text(part, sender.output);
            }
            Some(own) => {
                sender.output.push_own(*own, *own + length);
                *own += length;
            }
        }
        text.range.start = end;
        window.take(length);
        sender.window.take(length);
    }
    Sent::All
}

fn send_call(
    id: u32,
    window: &mut SendWindow,
    response: &mut CallResponse,
    sender: &mut Sender<'_>,
) -> Sent {
    if let Some(Err(reason)) = response.end {
        sender.head(&failure(reason, !response.has_head), id, true);
        return Sent::All;
    }
    let responses = sender.responses;
    if !std::mem::replace(&mut response.has_head, true) {
        sender.head(&responses.grpc.begin, id, false);
    }
    while response.left() > 0 {
        let length = match next_length(response.left(), window, sender) {
            Ok(length) => length,
            Err(sent) => return sent,
        };
        sender.data(length, id, false);
        let start = sender.output.buffer().len();
        response.write(length, sender.output.buffer());
        sender.output.push_since(start);
        window.take(length);
        sender.window.take(length);
    }
    match response.end {
        None => Sent::Waits,
        Some(_) => {
            sender.head(&responses.grpc.ok, id, true);
            Sent::All
        }
    }
}
