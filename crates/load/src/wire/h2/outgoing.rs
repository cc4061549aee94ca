//! The bytes to send.

use super::Malformed;
use super::frame::{Kind, encode_header};

/// The most bytes, without bodies, that may be unsent when a frame needs a response: a server that does not read must
/// not fill the memory.
const MOST_UNSENT: usize = 256 * 1024;

/// Queued frames. The buffer is reused whenever everything is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// Bytes of bodies queued since it was empty.
    bodies: usize,
    /// Bytes of the connection that were sent before `bytes`.
    sent_before: u64,
}

impl Outgoing {
    /// Forgets everything, for a new connection.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.bodies = 0;
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

    /// Takes note that `length` bytes, at most those unsent, were sent.
    pub(super) fn sent(&mut self, length: usize) {
        self.sent += length;
        if self.sent >= self.bytes.len() {
            self.bodies = 0;
            self.forget_sent();
        }
    }

    fn forget_sent(&mut self) {
        self.sent_before += self.sent as u64;
        self.bytes.drain(..std::mem::take(&mut self.sent));
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn frame(&mut self, kind: Kind, flags: u8, stream: u32, payload: &[u8]) {
        self.raw(&encode_header(payload.len(), kind, flags, stream));
        self.raw(payload);
    }

    /// Queues a piece of a body.
    pub(super) fn data(&mut self, flags: u8, stream: u32, payload: &[u8]) {
        self.bodies += payload.len();
        self.frame(Kind::Data, flags, stream, payload);
    }

    /// Queues a response to a frame of the server.
    pub(super) fn response(
        &mut self,
        kind: Kind,
        flags: u8,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        if self.unsent().len() > MOST_UNSENT + self.bodies {
            return Err(Malformed::ResponsesUnread);
        }
        if self.sent > MOST_UNSENT {
            self.forget_sent();
        }
        self.frame(kind, flags, 0, payload);
        Ok(())
    }
}
