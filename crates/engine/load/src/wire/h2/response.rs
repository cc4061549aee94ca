//! One response, from its head to its trailers.

use prony_traffic::{CallKind, Collect};

use super::meaning::{Meaning, RpcStatus, Section};
use super::short_bodies::ShortBodies;
use super::{Malformed, StreamRequest};
use crate::wire::grpc::{self, MessageReader};
use crate::wire::h1::Keep;
use crate::wire::sse::EventCounter;
use crate::wire::{Fault, Whole};

/// `UNKNOWN`: the result of a call if the server does not tell.
const UNKNOWN: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Nothing,
    /// After a 1xx: the head follows.
    Interim,
    /// After the head: the body or the trailers follow.
    Body,
}

/// Reads one response.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    stage: Stage,
    status: u16,
    /// Whether it responds to a call and is gRPC's, and not from something in front of it.
    is_grpc: bool,
    rpc_status: Option<u32>,
    content_length: Option<u64>,
    /// Bytes in DATA frames.
    data_bytes: u64,
    /// Bytes of the body: of a gRPC call's only message without its prefix, of a stream's messages with theirs.
    body_bytes: u64,
    messages: MessageReader,
    events: EventCounter,
    /// The start of the body, if short ones are kept.
    short_body: Vec<u8>,
}

/// Where the bodies of responses go.
pub(super) struct Sink<'a> {
    pub(super) keep: Option<&'a mut Collect>,
    pub(super) short_bodies: Option<&'a ShortBodies>,
    pub(super) counts_events: bool,
}

impl ResponseReader {
    /// A reader that keeps the start of the body in `short_body`, if short bodies are kept.
    pub(super) fn keeping(short_body: Vec<u8>) -> Self {
        Self {
            short_body,
            ..Self::default()
        }
    }

    /// Whether anything has arrived.
    pub(super) fn begun(&self) -> bool {
        self.stage != Stage::Nothing
    }

    /// Whether the head is read, and was not an interim one.
    pub(super) fn has_head(&self) -> bool {
        self.stage == Stage::Body
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// The section that the next header block belongs to: trailers follow a body, heads come before it.
    pub(super) fn next_section(&self) -> Section {
        match self.stage {
            Stage::Nothing | Stage::Interim => Section::Head,
            Stage::Body => Section::Trailers,
        }
    }

    pub(super) fn into_short_body(self) -> Vec<u8> {
        self.short_body
    }

    /// Takes a list of fields; `end` says whether the server ended the stream with it.
    pub(super) fn fields(
        &mut self,
        request: &StreamRequest,
        meaning: &Meaning,
        end: bool,
    ) -> Result<(), Fault> {
        match self.stage {
            Stage::Nothing | Stage::Interim => self.head(request, meaning, end),
            Stage::Body => self.trailers(meaning, end),
        }
    }

    fn head(&mut self, request: &StreamRequest, meaning: &Meaning, end: bool) -> Result<(), Fault> {
        let status = meaning.status.ok_or(Malformed::PseudoField)?;
        self.stage = match status {
            101 => return Err(Malformed::SwitchingProtocols.into()),
            100..=199 if end => return Err(Malformed::OnlyInterim.into()),
            100..=199 => Stage::Interim,
            _ => Stage::Body,
        };
        if self.stage == Stage::Interim {
            return Ok(());
        }
        self.status = status;
        self.is_grpc = meaning.is_grpc && request.call_kind().is_some();
        self.content_length = meaning.content_length;
        if end {
            // Such a head also has the trailers.
            self.take_rpc_status(meaning)?;
        }
        Ok(())
    }

    fn trailers(&mut self, meaning: &Meaning, end: bool) -> Result<(), Fault> {
        if meaning.status.is_some() {
            return Err(Malformed::PseudoField.into());
        }
        if !end {
            return Err(Malformed::AfterTrailers.into());
        }
        self.take_rpc_status(meaning)
    }

    fn take_rpc_status(&mut self, meaning: &Meaning) -> Result<(), Fault> {
        if self.is_grpc {
            self.rpc_status = match meaning.rpc_status {
                RpcStatus::Absent => None,
                RpcStatus::Number(status) => Some(status),
                RpcStatus::NotANumber => return Err(grpc::Malformed::RpcStatus.into()),
            };
        }
        Ok(())
    }

    /// Whether the call has failed, so that its trailers may have a message.
    pub(super) fn has_failed(&self) -> bool {
        self.rpc_status.is_some_and(|status| status != 0)
    }

    /// Why a response to a call has no RPC status, if its HTTP status does not explain that.
    pub(super) fn lacks_rpc_status(&self, request: &StreamRequest) -> Option<&'static str> {
        match self.rpc_status {
            None if self.status != 200 || request.call_kind().is_none() => None,
            None if self.is_grpc => Some("the response has no grpc-status"),
            None => Some("the response is not gRPC: its content-type is not `application/grpc`"),
            Some(_) => None,
        }
    }

    /// Takes a piece of the body. Returns how many events or messages it completes.
    pub(super) fn data(
        &mut self,
        request: &StreamRequest,
        bytes: &[u8],
        mut sink: Sink<'_>,
    ) -> Result<u64, Fault> {
        if self.stage != Stage::Body {
            return Err(Malformed::BodyBeforeHead.into());
        }
        self.data_bytes += bytes.len() as u64;
        self.check_length(request, bytes)?;
        match request.call_kind() {
            Some(kind) if self.is_grpc => self.message_data(kind, bytes, sink),
            _ => {
                self.take(bytes, &mut sink);
                let counts = sink.counts_events && request.call_kind().is_none();
                Ok(if counts { self.events.eat(bytes) } else { 0 })
            }
        }
    }

    fn check_length(&self, request: &StreamRequest, bytes: &[u8]) -> Result<(), Malformed> {
        if !bytes.is_empty() && request.kind().is_bodiless(self.status) {
            return Err(Malformed::BodyNotAllowed);
        }
        match self.content_length {
            Some(length) if self.data_bytes > length => Err(Malformed::BodyLength),
            _ => Ok(()),
        }
    }

    fn message_data(
        &mut self,
        kind: CallKind,
        bytes: &[u8],
        mut sink: Sink<'_>,
    ) -> Result<u64, Fault> {
        let before = self.messages.whole();
        let mut rest = bytes;
        while !rest.is_empty() {
            if !kind.streams_responses() && self.messages.whole() > 0 {
                return Err(grpc::Malformed::SecondMessage.into());
            }
            let piece = self.messages.eat(&mut rest)?;
            if !kind.streams_responses() {
                self.take(piece, &mut sink);
            }
        }
        if kind.streams_responses() {
            self.take(bytes, &mut sink);
        }
        Ok(self.messages.whole() - before)
    }

    /// Takes bytes of the body as it is counted and compared.
    fn take(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        self.body_bytes += bytes.len() as u64;
        if let Some(keep) = &mut sink.keep {
            keep.body(bytes);
        }
        if let Some(bodies) = sink.short_bodies {
            bodies.add(&mut self.short_body, bytes);
        }
    }

    /// Takes the end of the stream.
    pub(super) fn end(&self, request: &StreamRequest) -> Result<Whole, Fault> {
        let is_bodiless = request.kind().is_bodiless(self.status);
        if let Some(length) = self.content_length
            && length != self.data_bytes
            && !is_bodiless
        {
            return Err(Malformed::BodyLength.into());
        }
        Ok(Whole {
            status: self.status,
            body_bytes: self.body_bytes,
            keep_alive: true,
            rpc_status: match request.call_kind() {
                Some(kind) => self.rpc_result(kind)?,
                None => None,
            },
        })
    }

    fn rpc_result(&self, kind: CallKind) -> Result<Option<u32>, grpc::Malformed> {
        self.messages.end()?;
        let status = match self.rpc_status {
            None if self.status == 200 => Some(UNKNOWN),
            status => status,
        };
        if status == Some(0) && self.messages.whole() == 0 && !kind.streams_responses() {
            return Err(grpc::Malformed::NoMessage);
        }
        Ok(status)
    }
}
