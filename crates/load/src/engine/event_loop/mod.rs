//! The event loops: who owns the sockets of a worker, sends for it and tells it what came.
//!
//! A connection is named by its slot, a small number that its worker gave it. What a loop tells of a
//! slot is always of the socket that was opened there last.

mod epoll;
mod io_uring;

use std::io;
use std::net::SocketAddr;

use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use prony_kernel::Chunk as RingBuffer;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use epoll::Epoll;
use io_uring::IoUring;

use super::clock::Nanoseconds;
use crate::target::Endpoint;

/// What came of a connection.
#[derive(Debug)]
pub(super) enum SocketEvent {
    /// The attempt to connect has come to that.
    Connected(Result<(), Errno>),
    /// There is room again for what [`EventLoop::send`] did not take.
    Writable,
    /// Bytes came. The loop reads on when it is told to.
    Received(Chunk),
    /// So many bytes came and were thrown away. The loop reads on when it is told to.
    Skipped(u64),
    /// The server has closed the connection: nothing will come any more.
    Closed,
    /// The connection broke.
    Broken(Errno),
}

/// Received bytes, which the loop keeps until this is dropped. It must be before the loop reads on.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: ChunkBytes,
    /// Whether more has come behind it: where it ends a response and no other is due, that can only be
    /// the server's close, or bytes that nobody asked for.
    pub(super) more_behind: bool,
}

#[derive(Debug)]
enum ChunkBytes {
    /// How many there are at the beginning of the buffer that all connections of an [`Epoll`] share.
    Shared(usize),
    OfRing(RingBuffer),
}

/// What is to be read next of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadNext {
    /// So many bytes come for certain, and nobody has to look at them.
    pub(super) skippable: u64,
}

/// Owns the sockets of one worker.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
pub(super) enum EventLoop {
    Epoll(Epoll),
    IoUring(IoUring),
}

/// The same of either loop.
macro_rules! either {
    ($loop:expr, $it:ident => $what:expr) => {
        match $loop {
            EventLoop::Epoll($it) => $what,
            EventLoop::IoUring($it) => $what,
        }
    };
}

impl EventLoop {
    pub(super) fn epoll() -> Result<Self, Errno> {
        Epoll::new().map(Self::Epoll)
    }

    /// For a number of slots.
    ///
    /// # Errors
    /// If the kernel has no io_uring, or forbids it.
    pub(super) fn io_uring(slots: usize) -> io::Result<Self> {
        IoUring::new(slots).map(Self::IoUring)
    }

    /// Continues over io_uring with all connections as they are, or over epoll if io_uring is unavailable. No
    /// [`SocketEvent::Writable`] follows for what an earlier send did not take: send it again.
    pub(super) fn switch_to_io_uring(&mut self, slots: usize) {
        if let Self::Epoll(epoll) = self
            && let Ok(io_uring) = IoUring::in_place_of(epoll, slots)
        {
            *self = Self::IoUring(io_uring);
        }
    }

    /// Its name in the record.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Epoll(_) => "epoll",
            Self::IoUring(_) => "io_uring",
        }
    }

    /// Begins to connect the slot, from the local address `source` where one is given. A
    /// [`SocketEvent::Connected`] follows.
    pub(super) fn open(
        &mut self,
        slot: usize,
        endpoint: &Endpoint,
        source: Option<SocketAddr>,
    ) -> io::Result<()> {
        self.close(slot);
        either!(self, it => it.open(slot, endpoint, source))
    }

    /// Closes the slot's socket, where it has one. Nothing more is told of it.
    pub(super) fn close(&mut self, slot: usize) {
        either!(self, it => it.close(slot));
    }

    /// Sends bytes; how many were taken. Where that is fewer than all, [`SocketEvent::Writable`] tells when to
    /// go on.
    #[inline]
    pub(super) fn send(&mut self, slot: usize, bytes: &[u8]) -> Result<usize, Errno> {
        either!(self, it => it.send(slot, bytes))
    }

    /// Waits until something has come, at most `longest`; 0 only looks.
    #[inline]
    pub(super) fn wait(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        either!(self, it => it.wait(longest))
    }

    /// The next thing that has come by the end of the last wait.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(usize, SocketEvent)> {
        either!(self, it => it.next())
    }

    /// Whether the last wait did nothing and brought nothing.
    pub(super) fn was_idle(&self) -> bool {
        either!(self, it => it.was_idle())
    }

    /// The bytes of a chunk.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, chunk: &'a Chunk) -> &'a [u8] {
        match (&chunk.bytes, self) {
            (ChunkBytes::OfRing(buffer), _) => buffer,
            (ChunkBytes::Shared(length), Self::Epoll(epoll)) => epoll.shared(*length),
            (ChunkBytes::Shared(_), Self::IoUring(_)) => {
                unreachable!("the loop is not switched while a chunk is lent")
            }
        }
    }

    /// Reads on, after a chunk of the slot was given back or bytes were skipped.
    #[inline]
    pub(super) fn read_on(&mut self, slot: usize, next: ReadNext) {
        either!(self, it => it.read_on(slot, next));
    }

    /// System calls made so far.
    pub(super) fn system_calls(&self) -> u64 {
        either!(self, it => it.system_calls())
    }
}

/// From here on a body is long, in bytes: over epoll it costs less.
pub(super) const LONG_BODY: u64 = 32 * 1024;
/// Enough for the head of a response; what it leaves of a long body is thrown away unread.
const SMALL_LOOK: usize = 4 * 1024;
const LARGE_LOOK: usize = 64 * 1024;
/// From here on a body is cheaper to throw away in the kernel than to copy.
const WORTH_SKIPPING: u64 = 8 * 1024;

/// Whether a call on a socket waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// It does: io_uring then waits for it, instead of giving up.
    Blocking,
    /// It does not.
    Nonblocking,
}

/// A socket for a connection to `endpoint`, and the address to connect it to. It comes from the local
/// address `source`, where one is given.
fn socket_towards(
    endpoint: &Endpoint,
    source: Option<SocketAddr>,
    mode: Mode,
) -> io::Result<(Socket, SockAddr)> {
    let kind = match mode {
        Mode::Blocking => Type::STREAM.cloexec(),
        Mode::Nonblocking => Type::STREAM.cloexec().nonblocking(),
    };
    match endpoint {
        Endpoint::Tcp(address) => {
            let domain = Domain::for_address(*address);
            let socket = Socket::new(domain, kind, Some(Protocol::TCP))?;
            socket.set_tcp_nodelay(true)?;
            if let Some(source) = source {
                // The port is left to the connect: then the same port can serve connections to different servers.
                setsockopt(&socket, IpBindAddressNoPort, &true)?;
                socket.bind(&source.into())?;
            }
            Ok((socket, SockAddr::from(*address)))
        }
        Endpoint::Unix(path) => {
            let socket = Socket::new(Domain::UNIX, kind, None)?;
            Ok((socket, SockAddr::unix(path)?))
        }
    }
}

fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
