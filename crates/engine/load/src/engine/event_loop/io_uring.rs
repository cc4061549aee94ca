//! The event loop over io_uring: one system call per turn.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use nix::errno::Errno;
use prony_kernel::{Completion, LONGEST_SKIP, Receive, Ring, RingSettings};

use super::epoll::Epoll;
use super::event::{Chunk, ChunkBytes, SocketEvent};
use super::socket::{LARGE_LOOK, Mode, SMALL_LOOK, WORTH_SKIPPING, errno_of, socket_for};
use crate::engine::clock::Nanoseconds;
use crate::target::Endpoint;

/// Sockets that the kernel reads and writes by itself.
pub(in crate::engine) struct IoUring {
    ring: Ring,
    slots: Vec<Slot>,
    /// How much to read before the head tells the length of the body.
    first_look: usize,
    /// A completion read ahead: what follows a chunk shows whether more has arrived.
    ahead: Option<(usize, Completion)>,
    was_idle: bool,
    /// Skipped bytes of a slot that are not reported yet.
    skipped: Option<(usize, u64)>,
    system_calls: u64,
}

/// The state of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    is_open: bool,
    /// The last send was not taken whole: its completion means that there is room.
    blocked: bool,
    /// How many short reads there were in a row.
    short_reads: u8,
    /// How many immediate skips there were in a row.
    skips: u8,
    /// The last skip emptied the socket.
    is_empty: bool,
    /// The last read filled its buffer.
    was_full: bool,
    receives_continuously: bool,
}

/// Small responses use the small buffers, whose memory is the busiest.
const SMALL_BUFFER: u32 = 4 * 1024;
const SMALL_BUFFERS: u16 = 1024;
const LARGE_BUFFERS: u16 = 64;
/// After this many short reads in a row a connection's responses are taken to be short: the kernel then receives
/// continuously, but can throw nothing away.
const SHORT_READS: u8 = 4;
/// A server that sends faster than Prony reads must not hold up the other connections or the clock.
const SKIPS_AT_ONCE: u32 = 16;
/// After this many skips in a row the other connections have their turn.
const MOST_SKIPS: u8 = 16;

impl IoUring {
    /// Fails if the kernel has no io_uring, or forbids it.
    pub(super) fn new(slots: usize) -> io::Result<Self> {
        let ring = Ring::new(&RingSettings {
            slots,
            small_buffers: SMALL_BUFFERS,
            small_buffer_bytes: SMALL_BUFFER,
            large_buffers: LARGE_BUFFERS,
            large_buffer_bytes: LARGE_LOOK as u32,
        })?;
        Ok(Self {
            ring,
            slots: vec![Slot::default(); slots],
            first_look: LARGE_LOOK,
            ahead: None,
            was_idle: false,
            skipped: None,
            system_calls: 0,
        })
    }

    /// Takes over the connections of another loop, which is then unusable. If this fails, the other loop is unchanged.
    pub(super) fn taking_over(epoll: &mut Epoll, slots: usize) -> io::Result<Self> {
        let mut io_uring = Self::new(slots)?;
        io_uring.system_calls = epoll.system_calls();
        for taken in epoll.take_sockets() {
            // If this fails, so do the ring's operations on the socket.
            let _ = taken.socket.set_nonblocking(false);
            io_uring.system_calls += 2;
            io_uring.slots[taken.slot].is_open = true;
            if taken.is_connecting {
                io_uring
                    .ring
                    .adopt_connecting(taken.slot, taken.socket.into());
            } else {
                io_uring.ring.adopt(taken.slot, taken.socket.into());
                io_uring.read_on(taken.slot, taken.skippable);
            }
        }
        Ok(io_uring)
    }

    fn receive(&mut self, slot: usize) {
        let it = &mut self.slots[slot];
        it.receives_continuously = it.short_reads >= SHORT_READS;
        let what = if it.receives_continuously {
            Receive::Many
        } else {
            Receive::Once {
                at_most: self.first_look as u32,
            }
        };
        self.ring.receive(slot, what);
    }

    /// Throws away what is there of a long body, and waits for more if nothing is. Done by the ring alone, a long body
    /// took nearly twice the time, because it waits for every piece.
    fn skip(&mut self, slot: usize, skippable: u64) {
        let mut skipped = 0;
        let it = &mut self.slots[slot];
        it.skips = (it.skips + 1) % (MOST_SKIPS + 1);
        if it.skips == 0 {
            return self.ring.receive(slot, Receive::Skip(1));
        }
        let mut is_empty = std::mem::take(&mut self.slots[slot].is_empty);
        for _ in 0..SKIPS_AT_ONCE {
            let left = skippable - skipped;
            if is_empty || left == 0 {
                break;
            }
            let length = self.ring.skip_now(slot, left).unwrap_or(0);
            skipped += length;
            // A short skip means that the socket is empty.
            is_empty = length < left.min(LONGEST_SKIP);
        }
        if skipped > 0 {
            self.slots[slot].is_empty = is_empty;
            self.skipped = Some((slot, skipped));
        } else {
            // Wait for the next byte, the end or the error.
            self.ring.receive(slot, Receive::Skip(1));
        }
    }

    /// What a completion means to the worker, if anything.
    #[inline]
    fn event(&mut self, slot: usize, completion: Completion) -> Option<SocketEvent> {
        match completion {
            Completion::Received(buffer) => {
                let is_short = buffer.len() < SMALL_BUFFER as usize;
                let it = &mut self.slots[slot];
                it.skips = 0;
                it.short_reads = if is_short {
                    it.short_reads.saturating_add(1)
                } else {
                    0
                };
                it.was_full = buffer.len() >= self.first_look;
                self.ahead = self.ring.next();
                let more_follows = matches!(
                    &self.ahead,
                    Some((next, Completion::Ended | Completion::Failed(_))) if *next == slot
                );
                Some(SocketEvent::Received(Chunk {
                    bytes: ChunkBytes::OfRing(buffer),
                    more_follows,
                }))
            }
            Completion::Sent(Ok(_)) => {
                std::mem::take(&mut self.slots[slot].blocked).then_some(SocketEvent::Writable)
            }
            // The receive reports what the server did before it closed.
            Completion::Sent(Err(Errno::EPIPE | Errno::ECONNRESET)) => None,
            Completion::Sent(Err(errno)) | Completion::Failed(errno) => {
                Some(SocketEvent::Broken(errno))
            }
            Completion::Skipped(length) => Some(SocketEvent::Skipped(length)),
            Completion::Connected(result) => {
                if result.is_ok() {
                    self.receive(slot);
                }
                Some(SocketEvent::Connected(result))
            }
            Completion::Ended => Some(SocketEvent::Closed),
        }
    }

    pub(super) fn open(
        &mut self,
        slot: usize,
        endpoint: &Endpoint,
        source: Option<SocketAddr>,
    ) -> io::Result<()> {
        let (socket, address) = socket_for(endpoint, source, Mode::Blocking)?;
        // Create the socket and set its options.
        self.system_calls += 2 + 2 * u64::from(source.is_some());
        self.slots[slot] = Slot {
            is_open: true,
            ..Slot::default()
        };
        self.ring.connect(slot, socket.into(), &address);
        Ok(())
    }

    pub(super) fn close(&mut self, slot: usize) {
        if std::mem::take(&mut self.slots[slot].is_open) {
            self.ring.close(slot);
            // The completion read ahead may belong to this socket.
            if self.ahead.as_ref().is_some_and(|(of, _)| *of == slot) {
                self.ahead = None;
            }
            self.skipped = self.skipped.filter(|(of, _)| *of != slot);
        }
    }

    #[inline]
    pub(super) fn send(&mut self, slot: usize, bytes: &[u8]) -> Result<usize, Errno> {
        let taken = self.ring.send(slot, bytes);
        self.slots[slot].blocked = taken < bytes.len();
        Ok(taken)
    }

    #[inline]
    pub(super) fn wait(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        let longest = Duration::from_nanos(longest);
        let had_nothing_to_do = !self.ring.has_submissions();
        self.ring.wait(longest).map_err(|error| errno_of(&error))?;
        self.was_idle = had_nothing_to_do && !self.ring.has_completions();
        Ok(())
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<(usize, SocketEvent)> {
        if let Some((slot, length)) = self.skipped.take() {
            return Some((slot, SocketEvent::Skipped(length)));
        }
        loop {
            let ahead = self.ahead.take();
            let (slot, completion) = ahead.or_else(|| self.ring.next())?;
            if let Some(event) = self.event(slot, completion) {
                return Some((slot, event));
            }
        }
    }

    pub(super) fn was_idle(&self) -> bool {
        self.was_idle
    }

    #[inline]
    pub(super) fn read_on(&mut self, slot: usize, skippable: u64) {
        let it = &mut self.slots[slot];
        if it.receives_continuously {
            return;
        }
        if skippable >= WORTH_SKIPPING {
            it.short_reads = 0;
            // The responses of one load are much alike: the last one tells how to read the next.
            self.first_look = SMALL_LOOK;
            self.skip(slot, skippable);
        } else {
            if it.was_full {
                self.first_look = LARGE_LOOK;
            }
            self.receive(slot);
        }
    }

    pub(super) fn system_calls(&self) -> u64 {
        self.system_calls + self.ring.system_calls()
    }
}
