//! What is asked of the ring, and what it responds.

use nix::errno::Errno;

use super::buffers::Chunk;

/// How a slot is to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receive {
    /// Whatever comes, in small buffers, until the socket is closed: for responses that fit into one.
    Many,
    /// What comes next, once, in a large buffer, and no more than `at_most` bytes of it.
    Once {
        /// Bytes; no more than a large buffer has room for are given either way. Must not be 0.
        at_most: u32,
    },
    /// The next bytes are thrown away, so many of them, but no more than [`LONGEST_SKIP`]. Over TCP the kernel does not
    /// even copy them. Must not be 0.
    Skip(u64),
}

/// How many bytes one [`Receive::Skip`] throws away at most.
pub const LONGEST_SKIP: u64 = 1024 * 1024;

/// What has come of something that a slot was asked for.
#[derive(Debug)]
pub enum Completion {
    /// The socket is connected, or cannot be: then the slot is to be closed.
    Connected(Result<(), Errno>),
    /// The bytes of the last send were taken by the kernel, all of them, and so many there were. An error means that
    /// the connection is broken.
    Sent(Result<usize, Errno>),
    /// Bytes came; never none.
    Received(Chunk),
    /// So many bytes were thrown away: less than was asked for where the connection ended or broke before. What of the
    /// two it was, the next receive tells; a reset may then be told as [`Completion::Ended`].
    Skipped(u64),
    /// The peer will send no more. Nothing is being received any more.
    Ended,
    /// The connection is broken. Nothing is being received any more.
    Failed(Errno),
}
