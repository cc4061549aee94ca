//! The epoll event loop's view of the kernel.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

pub(super) use epoll::EventFlags;

use super::clock::Nanoseconds;

/// Tells which sockets something has come of.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// Events taken from the kernel in one call.
    const BATCH: usize = 256;

    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(errno)?,
            events: Vec::with_capacity(Self::BATCH),
        })
    }

    /// Watches a socket for everything, edge-triggered, once and for all: as long as it is always
    /// read until it is empty, no further system call is needed.
    pub(super) fn watch(&self, socket: impl AsFd, index: usize) -> Result<(), Errno> {
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, socket, data, Self::INTEREST).map_err(errno)
    }

    /// Makes a new edge of what is there already, for a socket that was not read until it was empty.
    pub(super) fn tell_again(&self, socket: impl AsFd, index: usize) -> Result<(), Errno> {
        let data = epoll::EventData::new_u64(index as u64);
        epoll::modify(&self.epoll, socket, data, Self::INTEREST).map_err(errno)
    }

    const INTEREST: EventFlags = EventFlags::IN
        .union(EventFlags::OUT)
        .union(EventFlags::RDHUP)
        .union(EventFlags::ET);

    /// Waits for events, at most `longest`, to the nanosecond as far as the kernel keeps it (Linux 5.11
    /// and later: `epoll_pwait2`). Returns how many came.
    pub(super) fn wait(&mut self, longest: Nanoseconds) -> Result<usize, Errno> {
        let longest = Timespec::try_from(Duration::from_nanos(longest.min(LONGEST_WAIT)))
            .map_err(|_| Errno::EINVAL)?;
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            Some(&longest),
        ) {
            Err(rustix::io::Errno::INTR) => Ok(0),
            other => other.map_err(errno),
        }
    }

    /// The event of that number in the batch that [`Poller::wait`] brought: which socket, and what.
    pub(super) fn event(&self, at: usize) -> (usize, EventFlags) {
        let event = &self.events[at];
        (event.data.u64() as usize, event.flags)
    }
}

/// An interrupt must be seen within that time.
const LONGEST_WAIT: Nanoseconds = 1_000_000_000;

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_wait_of_less_than_a_millisecond_takes_less_than_a_millisecond() {
        let mut poller = Poller::new().unwrap();
        let waits = (0..200).map(|_| {
            let begin = Instant::now();
            assert_eq!(poller.wait(50_000), Ok(0));
            begin.elapsed()
        });
        let shortest = waits.min().unwrap();
        // Rounded up to whole milliseconds, not one of them would.
        assert!(shortest < Duration::from_millis(1), "{shortest:?}");
        assert!(shortest >= Duration::from_micros(50), "{shortest:?}");
    }
}
