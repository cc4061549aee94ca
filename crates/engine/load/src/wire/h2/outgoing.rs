//! The bytes to send.

use prony_http::{ErrorCode, Kind, MAX_FRAME, encode_header, flag};

use super::Malformed;

/// The most bytes, without those of requests, that may be unsent when a frame needs a response: a server that does not
/// read must not fill the memory.
const MOST_UNSENT: usize = 256 * 1024;

/// Sent bytes before unsent ones are dropped if there are more of them.
const MOST_SENT_KEPT: usize = 64 * 1024;

/// Queued frames. The buffer is reused whenever everything is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// How many of the unsent bytes may belong to requests.
    requests: usize,
    /// Bytes of the connection that were sent before `bytes`.
    sent_before: u64,
}

impl Outgoing {
    /// Forgets everything, for a new connection.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.requests = 0;
        self.sent_before = 0;
    }

    pub(super) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// How many bytes of the connection are sent.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_before + self.sent as u64
    }

    /// How many bytes of the connection are sent or queued.
    pub(super) fn all_bytes(&self) -> u64 {
        self.sent_before + self.bytes.len() as u64
    }

    /// Whether the server reads so little that nothing optional should be queued.
    pub(super) fn is_clogged(&self) -> bool {
        self.unsent().len() > MOST_UNSENT
    }

    /// Takes note that `length` bytes, at most those unsent, were sent.
    pub(super) fn sent(&mut self, length: usize) {
        self.sent += length;
        if self.sent >= self.bytes.len() {
            self.forget_sent();
        }
    }

    fn forget_sent(&mut self) {
        self.sent_before += self.sent as u64;
        self.bytes.drain(..std::mem::take(&mut self.sent));
        self.requests = self.requests.min(self.bytes.len());
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn frame(&mut self, kind: Kind, flags: u8, stream: u32, payload: &[u8]) {
        self.raw(&encode_header(payload.len(), kind, flags, stream));
        self.raw(payload);
    }

    /// Queues the header block of a request, after a change of the HPACK table's size if there is one.
    pub(super) fn head(&mut self, end_stream: bool, stream: u32, resize: &[u8], block: &[u8]) {
        if self.sent > MOST_SENT_KEPT {
            self.forget_sent();
        }
        let end_stream = if end_stream { flag::END_STREAM } else { 0 };
        let before = self.bytes.len();
        if resize.is_empty() && block.len() <= MAX_FRAME {
            let flags = end_stream | flag::END_HEADERS;
            self.frame(Kind::HEADERS, flags, stream, block);
        } else {
            self.long_head(end_stream, stream, &[resize, block].concat());
        }
        self.requests += self.bytes.len() - before;
    }

    /// A block may need more than one frame (section 6.10).
    #[cold]
    fn long_head(&mut self, end_stream: u8, stream: u32, block: &[u8]) {
        let (first, rest) = block.split_at(block.len().min(MAX_FRAME));
        let end_headers = |is_last: bool| if is_last { flag::END_HEADERS } else { 0 };
        let flags = end_stream | end_headers(rest.is_empty());
        self.frame(Kind::HEADERS, flags, stream, first);
        let mut pieces = rest.chunks(MAX_FRAME).peekable();
        while let Some(piece) = pieces.next() {
            let flags = end_headers(pieces.peek().is_none());
            self.frame(Kind::CONTINUATION, flags, stream, piece);
        }
    }

    /// Queues a piece of a body.
    pub(super) fn data(&mut self, flags: u8, stream: u32, payload: &[u8]) {
        self.requests += payload.len();
        self.frame(Kind::DATA, flags, stream, payload);
    }

    /// Queues a response to a frame of the server.
    pub(super) fn response(
        &mut self,
        kind: Kind,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        if self.unsent().len() > MOST_UNSENT + self.requests {
            return Err(Malformed::ResponsesUnread);
        }
        if self.sent > MOST_SENT_KEPT {
            self.forget_sent();
        }
        self.frame(kind, flags, stream, payload);
        Ok(())
    }

    /// Queues a RST_STREAM frame.
    pub(super) fn reset(&mut self, stream: u32, code: ErrorCode) -> Result<(), Malformed> {
        self.response(Kind::RST_STREAM, 0, stream, &code.0.to_be_bytes())
    }
}
