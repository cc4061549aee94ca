//! The frames that bring responses: heads, bodies and trailers.

use prony_http::{Frame, flag};
use prony_traffic::Collect;

use super::connection::Connection;
use super::header_block::Block;
use super::meaning::Section;
use super::response::Sink;
use super::{Kind, Malformed};
use crate::wire::grpc;
use crate::wire::{End, EndedResponse, Fault, Responses};

impl Connection<'_> {
    #[inline]
    pub(super) fn data(
        &mut self,
        frame: &Frame<'_>,
        responses: &mut dyn Responses,
    ) -> Result<Option<EndedResponse>, Fault> {
        // Padding counts as well (section 6.9.1).
        let length = frame.payload.len();
        let bytes = frame.content()?;
        let number = frame.stream;
        let end = frame.has(flag::END_STREAM);
        let position = self.position(Kind::DATA, number)?;
        if let Some(by) = self.receive.take(length)? {
            self.grant(0, by);
        }
        let Some(position) = position else {
            self.check_abandoned(Kind::DATA, number, end)?;
            return Ok(None);
        };
        if end || !bytes.is_empty() {
            self.silent_frames = 0;
        }
        match self.piece(position, bytes, length, end, responses) {
            Ok(()) if end => self.whole(position),
            Ok(()) => Ok(None),
            Err(fault) => self.fail(position, fault, end).map(Some),
        }
    }

    /// Takes a piece of a body, `length` bytes with its padding. An error concerns only its stream.
    #[inline]
    fn piece(
        &mut self,
        position: usize,
        bytes: &[u8],
        length: usize,
        end: bool,
        responses: &mut dyn Responses,
    ) -> Result<(), Fault> {
        let stream = self.streams.get(position);
        if let Some(by) = stream.receive.take(length)?
            && !end
        {
            let number = stream.number;
            self.grant(number, by);
        }
        let stream = self.streams.get(position);
        let sink = Sink {
            keep: responses.keep(position),
            short_bodies: self.short_bodies.as_ref(),
            counts_events: self.counts_events,
        };
        let events = stream.response.data(&stream.request, bytes, sink)?;
        if events > 0 && self.counts_events {
            responses.events(position, events);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn headers(
        &mut self,
        frame: &Frame<'_>,
        responses: &mut dyn Responses,
    ) -> Result<Option<EndedResponse>, Fault> {
        let (number, end) = (frame.stream, frame.has(flag::END_STREAM));
        if self.position(Kind::HEADERS, number)?.is_none() {
            self.check_abandoned(Kind::HEADERS, number, end)?;
        }
        match self.partial_block.begin(frame)? {
            Some(block) => self.block(block, responses),
            None => Ok(None),
        }
    }

    pub(super) fn continue_block(
        &mut self,
        frame: &Frame<'_>,
        responses: &mut dyn Responses,
    ) -> Result<Option<EndedResponse>, Fault> {
        if !self.partial_block.continue_with(frame)? {
            return Ok(None);
        }
        let partial = std::mem::take(&mut self.partial_block);
        let ended = self.block(partial.block(), responses);
        self.partial_block = partial;
        self.partial_block.clear();
        ended
    }

    /// Takes a whole header block.
    #[inline]
    fn block(
        &mut self,
        block: Block<'_>,
        responses: &mut dyn Responses,
    ) -> Result<Option<EndedResponse>, Fault> {
        let Some(position) = self.streams.find(block.stream) else {
            // The next blocks depend on it, whatever it means.
            let _ = self
                .blocks
                .decode(Section::Head, block.bytes)
                .map_err(Malformed::from)?;
            return Ok(None);
        };
        let end = block.end_stream;
        match self.list(position, block, responses)? {
            Ok(()) if end => self.whole(position),
            Ok(()) => Ok(None),
            Err(fault) => self.fail(position, fault, end).map(Some),
        }
    }

    /// Takes a list of fields. An inner error concerns only its stream.
    #[inline]
    fn list(
        &mut self,
        position: usize,
        block: Block<'_>,
        responses: &mut dyn Responses,
    ) -> Result<Result<(), Fault>, Fault> {
        let stream = self.streams.get(position);
        if !stream.response.begun() {
            responses.begun(position);
        }
        let keep = responses.keep(position);
        let section = stream.response.next_section();
        let recognised = match keep {
            None => self.blocks.recognise(section, block.bytes),
            Some(_) => None,
        };
        let meaning = match recognised {
            Some(meaning) => meaning,
            None => match self
                .blocks
                .decode(section, block.bytes)
                .map_err(Malformed::from)?
            {
                Ok(meaning) => meaning,
                Err(malformed) => return Ok(Err(malformed.into())),
            },
        };
        let response = &mut stream.response;
        if let Err(fault) = response.fields(&stream.request, &meaning, block.end_stream) {
            return Ok(Err(fault));
        }
        if response.has_head() {
            self.silent_frames = 0;
        }
        if block.end_stream && response.has_failed() {
            grpc::read_message(self.blocks.fields(), &mut self.rpc_message);
        }
        if let Some(keep) = keep
            && response.has_head()
        {
            let status = response.status();
            self.collect(section, status, keep);
        }
        Ok(Ok(()))
    }

    /// Keeps the fields of the last block.
    #[cold]
    fn collect(&self, section: Section, status: u16, keep: &mut Collect) {
        if matches!(section, Section::Head) {
            keep.begin_head(status);
        }
        let fields = self.blocks.fields().iter();
        for (name, value) in fields.filter(|(name, _)| !name.starts_with(b":")) {
            keep.add_field(name, &grpc::text_of(name, value));
        }
    }

    /// Ends the response at that position: the server has ended its stream.
    #[inline]
    fn whole(&mut self, position: usize) -> Result<Option<EndedResponse>, Fault> {
        let stream = self.streams.get(position);
        let mut whole = match stream.response.end(&stream.request) {
            Ok(whole) => whole,
            Err(fault) => return self.fail(position, fault, true).map(Some),
        };
        let needs_request = stream
            .request
            .call_kind()
            .is_some_and(|it| !it.streams_requests());
        if needs_request && whole.rpc_status == Some(0) && !stream.is_sent(&self.out) {
            let fault = grpc::Malformed::TooEarly.into();
            return self.fail(position, fault, true).map(Some);
        }
        let (number, is_queued) = (stream.number, stream.end_at.is_some());
        if !is_queued {
            // The server needs no more of it (section 8.1).
            self.out.reset(number, super::ErrorCode::CANCEL)?;
        }
        if let Some(why) = stream.response.lacks_rpc_status(&stream.request) {
            self.rpc_message.clear();
            self.rpc_message.push_str(why);
        }
        whole.keep_alive = self.takes_streams() || self.streams.len() > 1;
        Ok(self.end(position, End::Whole(whole)))
    }

    /// A frame on a stream that has ended here is fine only if the server did not end it itself.
    #[cold]
    fn check_abandoned(&mut self, kind: Kind, number: u32, ends: bool) -> Result<(), Malformed> {
        if self.streams.is_abandoned(number, ends) {
            Ok(())
        } else {
            Err(Malformed::ClosedStream(kind))
        }
    }
}
