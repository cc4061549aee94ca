//! Responses to be sent: many small pieces in one system call, and long texts are never copied.

use std::io::IoSlice;
use std::ops::Range;
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send, sendmsg};

/// How many pieces the kernel gets at once.
const MAX_SLICES: usize = 64;

/// Bytes to be sent, in order: pieces of its own buffer and of the shared texts.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    parts: Vec<Part>,
    /// How many of `parts` have been sent.
    sent: usize,
    /// How many bytes are left to send.
    left: usize,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    source: Source,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The output's own buffer.
    Own,
    /// The texts that all responses share.
    Shared,
}

/// How far a send got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Everything is in the kernel.
    All,
    /// The peer must read before the socket takes more.
    Blocked,
}

impl Output {
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Drops everything, but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        (self.sent, self.left) = (0, 0);
    }

    /// The buffer to append to. Its bytes are sent only once they are pushed, so a body can be written before the head
    /// that says how long it is.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Sends the buffer from `start` on next.
    pub(crate) fn push_since(&mut self, start: usize) {
        self.push(Source::Own, start, self.bytes.len());
    }

    /// Sends this range of the buffer next.
    pub(crate) fn push_own(&mut self, start: usize, end: usize) {
        self.push(Source::Own, start, end);
    }

    /// Sends this range of the shared texts next.
    pub(crate) fn push_shared(&mut self, range: Range<usize>) {
        self.push(Source::Shared, range.start, range.end);
    }

    fn push(&mut self, source: Source, start: usize, end: usize) {
        self.left += end - start;
        match self.parts.last_mut() {
            Some(last) if source == Source::Own && last.source == source && last.end == start => {
                last.end = end;
            }
            _ => self.parts.push(Part { source, start, end }),
        }
    }

    /// Sends as much as the socket takes, without waiting.
    pub(crate) fn send(&mut self, socket: RawFd, shared: &[u8]) -> Result<Sent, Errno> {
        while self.left > 0 {
            match self.send_once(socket, shared) {
                Ok(true) | Err(Errno::EINTR) => {}
                // A short write means that the kernel's buffer is full.
                Ok(false) | Err(Errno::EAGAIN) => return Ok(Sent::Blocked),
                Err(error) => return Err(error),
            }
        }
        self.clear();
        Ok(Sent::All)
    }

    /// Returns whether the socket took all that it was offered.
    fn send_once(&mut self, socket: RawFd, shared: &[u8]) -> Result<bool, Errno> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let parts = &self.parts[self.sent..];
        // The usual case, with a cheaper call.
        if let [only] = parts {
            let bytes = self.bytes_of(only, shared);
            let offered = bytes.len();
            let sent = send(socket, bytes, flags)?;
            self.advance(sent);
            return Ok(sent == offered);
        }
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let count = parts.len().min(MAX_SLICES);
        let mut offered = 0;
        for (slice, part) in slices.iter_mut().zip(parts) {
            let bytes = self.bytes_of(part, shared);
            *slice = IoSlice::new(bytes);
            offered += bytes.len();
        }
        let sent = sendmsg::<()>(socket, &slices[..count], &[], flags, None)?;
        self.advance(sent);
        Ok(sent == offered)
    }

    fn bytes_of<'a>(&'a self, part: &Part, shared: &'a [u8]) -> &'a [u8] {
        let source = match part.source {
            Source::Own => self.bytes.as_slice(),
            Source::Shared => shared,
        };
        &source[part.start..part.end]
    }

    fn advance(&mut self, mut sent: usize) {
        self.left -= sent;
        while let Some(part) = self.parts.get_mut(self.sent) {
            let length = part.end - part.start;
            if sent < length {
                part.start += sent;
                return;
            }
            sent -= length;
            self.sent += 1;
        }
    }

    /// Appends what is left to `bytes`, and drops it.
    pub(crate) fn move_bytes(&mut self, shared: &[u8], bytes: &mut Vec<u8>) {
        for part in &self.parts[self.sent..] {
            bytes.extend_from_slice(self.bytes_of(part, shared));
        }
        self.clear();
    }

    /// Moves what is left to the end of `other`.
    pub(crate) fn move_rest(&mut self, other: &mut Output) {
        for part in &self.parts[self.sent..] {
            match part.source {
                Source::Shared => other.push(Source::Shared, part.start, part.end),
                Source::Own => {
                    let start = other.bytes.len();
                    other
                        .bytes
                        .extend_from_slice(&self.bytes[part.start..part.end]);
                    other.push_since(start);
                }
            }
        }
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    const PAGE: &[u8] = b"<page>";

    fn own(output: &mut Output, bytes: &[u8]) {
        let start = output.buffer().len();
        output.buffer().extend_from_slice(bytes);
        output.push_since(start);
    }

    #[test]
    fn pieces_are_sent_in_order_however_the_sends_are_cut() {
        for cut in 0..14 {
            let mut output = Output::default();
            output.buffer().extend_from_slice(b"body");
            own(&mut output, b"head");
            output.push_own(0, 4);
            output.push_shared(0..PAGE.len());
            assert_eq!(output.left(), 14);
            output.advance(cut);
            let mut rest = Output::default();
            output.move_rest(&mut rest);
            assert!(output.is_empty());
            let (mut near, far) = UnixStream::pair().unwrap();
            assert_eq!(rest.send(far.as_raw_fd(), PAGE), Ok(Sent::All));
            drop(far);
            let mut came = Vec::new();
            near.read_to_end(&mut came).unwrap();
            assert_eq!(came, &b"headbody<page>"[cut..]);
            own(&mut output, &came);
            output.push_shared(1..3);
            let mut moved = Vec::new();
            output.move_bytes(PAGE, &mut moved);
            assert_eq!(moved, [&came, &b"pa"[..]].concat());
            assert!(output.is_empty());
        }
    }

    #[test]
    fn a_full_socket_blocks_and_continues_where_it_stopped() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let mut output = Output::default();
        let mut expected = Vec::new();
        for i in 0..200_000u32 {
            own(&mut output, &i.to_be_bytes());
            output.push_shared(0..PAGE.len());
            expected.extend_from_slice(&i.to_be_bytes());
            expected.extend_from_slice(PAGE);
        }
        let (mut came, mut blocked) = (Vec::new(), 0);
        while output.send(far.as_raw_fd(), PAGE).unwrap() == Sent::Blocked {
            blocked += 1;
            let mut piece = vec![0; 1 << 16];
            let length = near.read(&mut piece).unwrap();
            came.extend_from_slice(&piece[..length]);
        }
        drop(far);
        near.read_to_end(&mut came).unwrap();
        assert!(blocked > 0);
        assert!(came == expected);
    }
}
