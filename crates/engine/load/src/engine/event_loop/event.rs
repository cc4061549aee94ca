//! What an event loop reports.

use nix::errno::Errno;
use prony_kernel::Chunk as RingBuffer;

/// Something that happened to a connection.
#[derive(Debug)]
pub(in crate::engine) enum SocketEvent {
    /// The attempt to connect has ended.
    Connected(Result<(), Errno>),
    /// There is room again for what [`EventLoop::send`](super::EventLoop::send) did not take.
    Writable,
    /// Received bytes. The loop pauses until [`EventLoop::read_on`](super::EventLoop::read_on).
    Received(Chunk),
    /// How many bytes arrived and were thrown away. The loop pauses until [`EventLoop::read_on`](super::EventLoop::read_on).
    Skipped(u64),
    /// The server has closed the connection: nothing follows.
    Closed,
    /// The connection broke.
    Broken(Errno),
}

/// Received bytes, in a buffer of the loop. Drop it before the loop reads on.
#[derive(Debug)]
pub(in crate::engine) struct Chunk {
    pub(in crate::engine) bytes: ChunkBytes,
    /// Whether more has arrived behind it: after the last response that is due, that can only be the server's close or
    /// unexpected bytes.
    pub(in crate::engine) more_follows: bool,
}

#[derive(Debug)]
pub(in crate::engine) enum ChunkBytes {
    /// How many bytes, at the start of the buffer that all connections of an epoll share.
    Shared(usize),
    OfRing(RingBuffer),
}
