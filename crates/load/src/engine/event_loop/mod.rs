//! The event loops: who owns the sockets of a worker, sends for it and tells it what came.
//!
//! A connection is named by its slot, a small number that its worker gave it. What a loop tells of a
//! slot is always of the socket that was opened there last.

mod epoll;
mod io_uring;
mod socket;

use std::io;
use std::net::SocketAddr;

use nix::errno::Errno;

pub(super) use epoll::Epoll;
pub(super) use io_uring::IoUring;

use super::clock::Nanoseconds;
use crate::target::Endpoint;

/// What came of a connection.
#[derive(Debug)]
pub(super) enum Event<C> {
    /// The attempt to connect has come to that.
    Connected(Result<(), Errno>),
    /// There is room again for what [`EventLoop::send`] did not take.
    Writable,
    /// Bytes came. The loop reads on when it has the chunk back.
    Received(C),
    /// So many bytes came and were thrown away. The loop reads on when it is told to.
    Skipped(u64),
    /// The server has closed the connection: nothing will come any more.
    Closed,
    /// The connection broke.
    Broken(Errno),
}

/// What is to be read next of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadNext {
    /// So many bytes come for certain, and nobody has to look at them.
    pub(super) skippable: u64,
}

/// Owns the sockets of one worker.
pub(super) trait EventLoop {
    /// Received bytes, which the loop keeps until it has the chunk back.
    type Chunk: Chunk;

    /// Its name in the record.
    const NAME: &'static str;

    /// Begins to connect the slot, from the local address `source` where one is given. An
    /// [`Event::Connected`] follows.
    fn open(
        &mut self,
        slot: usize,
        endpoint: &Endpoint,
        source: Option<SocketAddr>,
    ) -> io::Result<()>;

    /// Closes the slot's socket, where it has one. Nothing more is told of it.
    fn close(&mut self, slot: usize);

    /// Sends bytes; how many were taken. Where that is fewer than all, [`Event::Writable`] tells when to
    /// go on.
    fn send(&mut self, slot: usize, bytes: &[u8]) -> Result<usize, Errno>;

    /// Waits until something has come, at most `longest`; 0 only looks.
    fn wait(&mut self, longest: Nanoseconds) -> Result<(), Errno>;

    /// The next thing that has come by the end of the last wait.
    fn next(&mut self) -> Option<(usize, Event<Self::Chunk>)>;

    /// Whether the last wait did nothing and brought nothing.
    fn was_idle(&self) -> bool;

    /// The bytes of a chunk.
    fn bytes<'a>(&'a self, chunk: &'a Self::Chunk) -> &'a [u8];

    /// Gives a chunk back.
    fn release(&mut self, chunk: Self::Chunk);

    /// Reads on, after a chunk of the slot was given back or bytes were skipped.
    fn read_on(&mut self, slot: usize, next: ReadNext);

    /// System calls made so far.
    fn system_calls(&self) -> u64;
}

/// Received bytes that a loop keeps.
pub(super) trait Chunk {
    /// Whether more has come behind it: where it ends a response and no other is due, that can only be
    /// the server's close, or bytes that nobody asked for.
    fn more_behind(&self) -> bool;
}

/// Enough for the head of a response; what it leaves of a long body is thrown away unread.
const SMALL_LOOK: usize = 4 * 1024;
const LARGE_LOOK: usize = 64 * 1024;
/// From here on a body is cheaper to throw away in the kernel than to copy.
const WORTH_SKIPPING: u64 = 8 * 1024;
