//! The event loop over epoll, edge-triggered: for kernels and containers that forbid io_uring.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventFlags};
use socket2::Socket;

use super::event::{Chunk, ChunkBytes, SocketEvent};
use super::socket::{LARGE_LOOK, Mode, SMALL_LOOK, WORTH_SKIPPING, errno_of, socket_for};
use crate::engine::clock::Nanoseconds;
use crate::target::Endpoint;

/// Sockets that epoll watches, and that are read and written directly.
pub(in crate::engine) struct Epoll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    /// The next of `events` to handle.
    at: usize,
    slots: Vec<Slot>,
    /// The slot whose socket is being read until it is empty.
    reading: Option<usize>,
    /// Slots that have used up their reads: the others go first.
    later: VecDeque<usize>,
    /// How many of these are read before the next wait.
    later_now: usize,
    /// One buffer for all connections, so that it stays in the cache.
    look: Vec<u8>,
    /// Only has a length: the kernel throws bodies away without touching it.
    discard: Vec<u8>,
    /// How much to read before the head tells the length of the body.
    first_look: usize,
    acknowledges: bool,
    system_calls: u64,
}

/// A socket for another event loop.
pub(super) struct TakenSocket {
    pub(super) slot: usize,
    pub(super) socket: Socket,
    pub(super) is_connecting: bool,
    pub(super) skippable: u64,
}

#[derive(Debug, Default)]
struct Slot {
    socket: Option<Socket>,
    /// Tells the events of this socket from those of earlier ones.
    generation: u32,
    connecting: bool,
    /// The last send was not taken whole: the next edge means that there is room.
    blocked: bool,
    /// The server has closed: no edge follows, so the socket is read to its end.
    peer_closed: bool,
    /// Urgent data has arrived: a read stops before it, so a short read does not mean that the socket is empty.
    has_urgent: bool,
    /// It is in `later`.
    read_later: bool,
    /// How many bytes certainly follow that nobody has to look at.
    skippable: u64,
    reads: u32,
}

/// The kernel's flags for a connection that the server has closed.
const CLOSED: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);
/// The kernel's flags if there is something to read, including the end.
const READABLE: EventFlags = CLOSED.union(EventFlags::IN).union(EventFlags::PRI);
/// Set only once: as every socket is always read until it is empty, the interest never changes.
const INTEREST: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::PRI)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// Events taken from the kernel in one call.
const BATCH: usize = 256;
/// A server that sends faster than Prony reads must not hold up the other connections or the clock.
const READS_AT_ONCE: u32 = 16;

impl Epoll {
    pub(super) fn new(acknowledges: bool) -> Result<Self, Errno> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(errno)?,
            events: Vec::with_capacity(BATCH),
            at: 0,
            slots: Vec::new(),
            reading: None,
            later: VecDeque::new(),
            later_now: 0,
            look: vec![0; LARGE_LOOK],
            discard: vec![0; 1024 * 1024],
            first_look: LARGE_LOOK,
            acknowledges,
            system_calls: 0,
        })
    }

    /// What the next kernel event means, if anything.
    fn take_kernel_event(&mut self) -> Option<(usize, SocketEvent)> {
        while let Some(event) = self.events.get(self.at) {
            let (data, flags) = (event.data.u64(), event.flags);
            self.at += 1;
            let (index, generation) = ((data >> 32) as usize, data as u32);
            let slot = &mut self.slots[index];
            if slot.generation != generation || slot.socket.is_none() {
                continue;
            }
            slot.peer_closed |= flags.intersects(CLOSED);
            slot.has_urgent |= flags.intersects(EventFlags::PRI);
            if flags.intersects(READABLE) {
                self.read_first(index);
            }
            if let Some(event) = self.writable(index) {
                return Some((index, event));
            }
            if self.reading.is_some() {
                return None;
            }
        }
        None
    }

    /// What an edge means for a socket that was connecting or had no room.
    fn writable(&mut self, index: usize) -> Option<SocketEvent> {
        let slot = &mut self.slots[index];
        if slot.connecting {
            slot.connecting = false;
            self.system_calls += 1;
            let error = slot.socket.as_ref()?.take_error();
            return Some(SocketEvent::Connected(match error {
                Ok(None) => Ok(()),
                Ok(Some(error)) | Err(error) => Err(errno_of(&error)),
            }));
        }
        std::mem::take(&mut slot.blocked).then_some(SocketEvent::Writable)
    }

    fn read_first(&mut self, index: usize) {
        self.slots[index].reads = 0;
        self.reading = Some(index);
    }

    /// Reads the current slot once more.
    fn read(&mut self) -> Option<(usize, SocketEvent)> {
        let index = self.reading?;
        let slot = &mut self.slots[index];
        let Some(socket) = &slot.socket else {
            self.reading = None;
            return None;
        };
        slot.reads += 1;
        if slot.reads > READS_AT_ONCE {
            if !std::mem::replace(&mut slot.read_later, true) {
                self.later.push_back(index);
            }
            self.reading = None;
            return None;
        }
        let skips = slot.skippable >= WORTH_SKIPPING;
        let (buffer, flags) = if skips {
            let wanted = slot.skippable.min(self.discard.len() as u64) as usize;
            (&mut self.discard[..wanted], MsgFlags::MSG_TRUNC)
        } else {
            let wanted = self.first_look;
            (&mut self.look[..wanted], MsgFlags::empty())
        };
        let wanted = buffer.len();
        self.system_calls += 1;
        let length = match recv(socket.as_raw_fd(), buffer, flags) {
            Err(Errno::EINTR) => return self.read(),
            Err(Errno::EAGAIN) => {
                self.reading = None;
                return None;
            }
            Err(error) => {
                self.reading = None;
                return Some((index, SocketEvent::Broken(error)));
            }
            Ok(0) => {
                self.reading = None;
                return Some((index, SocketEvent::Closed));
            }
            Ok(length) => length,
        };
        if self.acknowledges {
            // The kernel forgets this when the next request is sent. Without it, only time is lost.
            let _ = socket.set_tcp_quickack(true);
            self.system_calls += 1;
        }
        // A short read has emptied the socket, and whatever arrives later makes a new edge. The urgent byte is ignored:
        // HTTP has none.
        if length < wanted && !slot.peer_closed && !slot.has_urgent {
            self.reading = None;
        }
        if !skips && length == wanted {
            self.first_look = LARGE_LOOK;
        }
        let event = if skips {
            SocketEvent::Skipped(length as u64)
        } else {
            SocketEvent::Received(Chunk {
                bytes: ChunkBytes::Shared(length),
                more_follows: slot.peer_closed,
            })
        };
        Some((index, event))
    }

    pub(super) fn open(
        &mut self,
        slot: usize,
        endpoint: &Endpoint,
        source: Option<SocketAddr>,
    ) -> io::Result<()> {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Slot::default);
        }
        let (socket, address) = socket_for(endpoint, source, Mode::Nonblocking)?;
        // Create the socket, set its options, connect and watch it.
        self.system_calls += 4 + 2 * u64::from(source.is_some());
        match socket.connect(&address) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::EINPROGRESS as i32) => {}
            Err(error) => return Err(error),
        }
        let entry = &mut self.slots[slot];
        let generation = entry.generation;
        let data = epoll::EventData::new_u64((slot as u64) << 32 | u64::from(generation));
        epoll::add(&self.epoll, &socket, data, INTEREST)?;
        *entry = Slot {
            socket: Some(socket),
            generation,
            connecting: true,
            ..Slot::default()
        };
        Ok(())
    }

    pub(super) fn close(&mut self, slot: usize) {
        let Some(entry) = self.slots.get_mut(slot) else {
            return;
        };
        if entry.socket.take().is_some() {
            self.system_calls += 1;
            entry.generation = entry.generation.wrapping_add(1);
        }
        if self.reading == Some(slot) {
            self.reading = None;
        }
    }

    #[inline]
    pub(super) fn send(&mut self, slot: usize, bytes: &[u8]) -> Result<usize, Errno> {
        let entry = &mut self.slots[slot];
        let Some(socket) = &entry.socket else {
            return Err(Errno::ENOTCONN);
        };
        loop {
            self.system_calls += 1;
            match send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL) {
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    entry.blocked = true;
                    return Ok(0);
                }
                Ok(length) => {
                    entry.blocked = length < bytes.len();
                    return Ok(length);
                }
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Exact to the nanosecond if the kernel is (Linux 5.11 and later: `epoll_pwait2`).
    pub(super) fn wait(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        let longest = if self.later.is_empty() { longest } else { 0 };
        let longest =
            Timespec::try_from(Duration::from_nanos(longest)).map_err(|_| Errno::EINVAL)?;
        self.events.clear();
        self.at = 0;
        self.later_now = self.later.len();
        self.system_calls += 1;
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            Some(&longest),
        ) {
            Err(rustix::io::Errno::INTR) => Ok(()),
            other => other.map(drop).map_err(errno),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<(usize, SocketEvent)> {
        loop {
            if let Some(event) = self.read() {
                return Some(event);
            }
            if let Some(event) = self.take_kernel_event() {
                return Some(event);
            }
            if self.reading.is_none() && !self.read_deferred() {
                return None;
            }
        }
    }

    pub(super) fn was_idle(&self) -> bool {
        self.events.is_empty() && self.later.is_empty()
    }

    /// The first `length` bytes of the shared buffer.
    #[inline]
    pub(super) fn shared(&self, length: usize) -> &[u8] {
        &self.look[..length]
    }

    #[inline]
    pub(super) fn read_on(&mut self, slot: usize, skippable: u64) {
        self.slots[slot].skippable = skippable;
        // The responses of one load are much alike: the last one tells how to read the next.
        if skippable >= WORTH_SKIPPING {
            self.first_look = SMALL_LOOK;
        }
    }

    pub(super) fn system_calls(&self) -> u64 {
        self.system_calls
    }

    pub(super) fn take_sockets(&mut self) -> Vec<TakenSocket> {
        let slots = std::mem::take(&mut self.slots).into_iter().enumerate();
        let sockets = slots.filter_map(|(slot, it)| {
            Some(TakenSocket {
                slot,
                socket: it.socket?,
                is_connecting: it.connecting,
                skippable: it.skippable,
            })
        });
        sockets.collect()
    }

    /// Continues with a slot that had used up its reads, after the others.
    fn read_deferred(&mut self) -> bool {
        while self.later_now > 0 {
            self.later_now -= 1;
            let Some(index) = self.later.pop_front() else {
                break;
            };
            if std::mem::take(&mut self.slots[index].read_later) {
                self.read_first(index);
                return true;
            }
        }
        false
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_short_wait_is_not_rounded_up_to_a_millisecond() {
        let mut epoll = Epoll::new(false).unwrap();
        let waits = (0..200).map(|_| {
            let begin = Instant::now();
            epoll.wait(50_000).unwrap();
            assert!(epoll.next().is_none());
            begin.elapsed()
        });
        let shortest = waits.min().unwrap();
        // Rounded up to whole milliseconds, every wait would be longer.
        assert!(shortest < Duration::from_millis(1), "{shortest:?}");
        assert!(shortest >= Duration::from_micros(50), "{shortest:?}");
    }
}
