//! The epoll event loop's view of the kernel.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::clock::Nanoseconds;

/// Tells which sockets something has come of.
pub(super) struct Poller {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Poller {
    /// Events taken from the kernel in one call.
    const BATCH: usize = 256;

    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            events: vec![EpollEvent::empty(); Self::BATCH],
        })
    }

    /// Watches a socket for everything, edge-triggered, once and for all: as long as it is always
    /// read until it is empty, no further system call is needed.
    pub(super) fn watch(&self, socket: impl AsFd, index: usize) -> Result<(), Errno> {
        self.epoll.add(socket, Self::interest(index))
    }

    /// Makes a new edge of what is there already, for a socket that was not read until it was empty.
    pub(super) fn tell_again(&self, socket: impl AsFd, index: usize) -> Result<(), Errno> {
        self.epoll.modify(socket, &mut Self::interest(index))
    }

    fn interest(index: usize) -> EpollEvent {
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        EpollEvent::new(flags, index as u64)
    }

    /// Waits for events, at most `longest`, rounded up to a millisecond. Returns how many came.
    pub(super) fn wait(&mut self, longest: Nanoseconds) -> Result<usize, Errno> {
        let milliseconds = longest.div_ceil(1_000_000).min(1_000) as u16;
        match self
            .epoll
            .wait(&mut self.events, EpollTimeout::from(milliseconds))
        {
            Err(Errno::EINTR) => Ok(0),
            other => other,
        }
    }

    /// The event of that number in the batch that [`Poller::wait`] brought: which socket, and what.
    pub(super) fn event(&self, at: usize) -> (usize, EpollFlags) {
        let event = &self.events[at];
        (event.data() as usize, event.events())
    }
}
