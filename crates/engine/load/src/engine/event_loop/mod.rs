//! The event loops: they own the sockets of a worker, send its bytes and report events.
//!
//! A connection is named by its slot, a small number that its worker gave it. Events of a slot are always of the socket
//! that was opened there last.

mod epoll;
mod event;
mod io_uring;
mod socket;

use std::io;
use std::net::SocketAddr;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use epoll::Epoll;
pub(super) use event::ChunkBytes;
pub(super) use event::{Chunk, SocketEvent};
use io_uring::IoUring;
pub(crate) use socket::{Mode, socket_for};

use super::clock::Nanoseconds;
#[cfg(test)]
use super::tests::simulated::SimulatedServer;
use crate::target::Endpoint;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventLoopName {
    Epoll,
    IoUring,
}

impl EventLoopName {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        }
    }
}

pub(super) struct FirstEventLoop {
    pub(super) io: EventLoop,
    /// After how many responses the worker [chooses](super::worker::Connections) again.
    pub(super) chooses_after: Option<u64>,
}

/// Owns the sockets of one worker.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
pub(super) enum EventLoop {
    Epoll(Epoll),
    IoUring(IoUring),
    /// Without sockets, in the time of a test.
    #[cfg(test)]
    Simulated(SimulatedServer),
}

/// Calls the same method of whichever loop it is.
macro_rules! either {
    ($loop:expr, $it:ident => $what:expr) => {
        match $loop {
            EventLoop::Epoll($it) => $what,
            EventLoop::IoUring($it) => $what,
            #[cfg(test)]
            EventLoop::Simulated($it) => $what,
        }
    };
}

impl EventLoop {
    /// One that `acknowledges` what it receives at once, if that is wanted.
    pub(super) fn epoll(acknowledges: bool) -> Result<Self, Errno> {
        Epoll::new(acknowledges).map(Self::Epoll)
    }

    /// Fails if the kernel has no io_uring, or forbids it.
    pub(super) fn io_uring(slots: usize) -> io::Result<Self> {
        IoUring::new(slots).map(Self::IoUring)
    }

    /// Moves all connections to io_uring, or stays with epoll if io_uring is unavailable. No [`SocketEvent::Writable`]
    /// follows for what an earlier send did not take: send it again.
    pub(super) fn switch_to_io_uring(&mut self, slots: usize) {
        if let Self::Epoll(epoll) = self
            && let Ok(io_uring) = IoUring::taking_over(epoll, slots)
        {
            *self = Self::IoUring(io_uring);
        }
    }

    /// As in the result.
    pub(super) fn name(&self) -> EventLoopName {
        match self {
            Self::Epoll(_) => EventLoopName::Epoll,
            Self::IoUring(_) => EventLoopName::IoUring,
            #[cfg(test)]
            Self::Simulated(_) => EventLoopName::Epoll,
        }
    }

    /// Starts to connect the slot, from the local address `source` if given. A [`SocketEvent::Connected`] follows.
    pub(super) fn open(
        &mut self,
        slot: usize,
        endpoint: &Endpoint,
        source: Option<SocketAddr>,
    ) -> io::Result<()> {
        self.close(slot);
        either!(self, it => it.open(slot, endpoint, source))
    }

    /// Closes the slot's socket, if it has one. No further events of it follow.
    pub(super) fn close(&mut self, slot: usize) {
        either!(self, it => it.close(slot));
    }

    /// Sends bytes; returns how many were taken. If not all were, [`SocketEvent::Writable`] follows.
    #[inline]
    pub(super) fn send(&mut self, slot: usize, bytes: &[u8]) -> Result<usize, Errno> {
        either!(self, it => it.send(slot, bytes))
    }

    /// Waits for an event, at most `longest`; 0 only looks.
    #[inline]
    pub(super) fn wait(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        either!(self, it => it.wait(longest))
    }

    /// The next event, out of those that were there when the last wait ended.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(usize, SocketEvent)> {
        either!(self, it => it.next())
    }

    /// Whether the last wait did nothing and found nothing.
    pub(super) fn was_idle(&self) -> bool {
        either!(self, it => it.was_idle())
    }

    #[inline]
    pub(super) fn bytes<'a>(&'a self, chunk: &'a Chunk) -> &'a [u8] {
        match (&chunk.bytes, self) {
            (ChunkBytes::OfRing(buffer), _) => buffer,
            (ChunkBytes::Shared(length), Self::Epoll(epoll)) => epoll.shared(*length),
            #[cfg(test)]
            (ChunkBytes::Shared(_), Self::Simulated(server)) => server.received(),
            (ChunkBytes::Shared(_), Self::IoUring(_)) => {
                unreachable!("the loop is not switched while a chunk is lent")
            }
        }
    }

    /// Continues to read, after a chunk of the slot was dropped or bytes were skipped. Nobody has to look at the next
    /// `skippable` bytes, which certainly follow.
    #[inline]
    pub(super) fn read_on(&mut self, slot: usize, skippable: u64) {
        either!(self, it => it.read_on(slot, skippable));
    }

    /// How many system calls it has made.
    pub(super) fn system_calls(&self) -> u64 {
        either!(self, it => it.system_calls())
    }
}

/// Bodies from this length on, in bytes, cost less over epoll.
pub(super) const LONG_BODY: u64 = 32 * 1024;
