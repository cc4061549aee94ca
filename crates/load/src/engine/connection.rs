//! One connection: its socket, what it is doing, and the answer it is reading.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use nix::sys::socket::{MsgFlags, recv, send, setsockopt};
use socket2::{Domain, Protocol, Socket, Type};

use super::clock::Nanoseconds;
use crate::wire::h1::{Collect, OnClose, Whole};
use crate::wire::{Fault, Wire};

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing: its user waits for the next request to be due, or there is none left.
    Idle,
    /// It could not be made, or not yet; the next attempt is made then.
    Retrying { at: Nanoseconds },
    /// It is being set up.
    Connecting { since: Nanoseconds },
    /// A request is on its way.
    Exchanging,
}

/// The request that a connection is there for, until it has its outcome.
#[derive(Debug)]
pub(super) struct InFlight {
    /// Where its latency runs from; `None` where that is its send, and it is not sent yet.
    pub(super) from: Option<Nanoseconds>,
    /// When it is timed out.
    pub(super) deadline: Nanoseconds,
    /// Whether its scheduled instant had passed when its user became free.
    pub(super) late: bool,
    /// Whether it was sent before, over a connection that the server had closed.
    pub(super) resent: bool,
    /// Where its answer is being kept to be looked at.
    pub(super) sample: Option<Box<Collect>>,
}

/// What came of reading what was there.
#[derive(Debug)]
pub(super) enum Received {
    /// The answer is not whole yet, and nothing more is there.
    Partly,
    /// The answer is not whole yet, and more may be there: the other connections come first.
    More,
    /// The answer is whole.
    Whole(Whole),
    /// The server closed the connection before the answer was whole.
    ClosedEarly { in_answer: bool },
    /// It is not an answer.
    Fault(Fault),
    /// The connection broke.
    Broken(Errno),
}

/// What one read that did not end the answer brought.
enum Step {
    /// Nothing is there now.
    Nothing,
    /// Less than there was room for.
    Short,
    /// As much as there was room for: more may be there.
    Filled,
}

impl Step {
    fn of(length: usize, wanted: usize) -> Self {
        if length == wanted {
            Step::Filled
        } else {
            Step::Short
        }
    }
}

/// Buffers that all connections of a worker share: only what is in the cache is used.
pub(super) struct Buffers {
    look: Vec<u8>,
    /// Never touched where the kernel throws bodies away; it only has a length.
    discard: Vec<u8>,
    /// How much is read before the head has said how long the body is.
    first_look: usize,
}

/// Enough for the head of an answer; what it leaves of a long body is thrown away unread.
const SMALL_LOOK: usize = 4 * 1024;
const LARGE_LOOK: usize = 64 * 1024;
/// From here on a body is cheaper to throw away in the kernel than to copy.
const WORTH_SKIPPING: u64 = 8 * 1024;
/// A server that sends faster than it is read must not keep the others waiting, nor the clock.
const READS_AT_ONCE: u32 = 16;

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            look: vec![0; LARGE_LOOK],
            discard: vec![0; 1024 * 1024],
            first_look: LARGE_LOOK,
        }
    }
}

/// One connection of a worker, with the user whose requests it carries.
#[derive(Debug)]
pub(super) struct Connection<W> {
    socket: Option<Socket>,
    pub(super) activity: Activity,
    pub(super) wire: W,
    pub(super) request: Option<InFlight>,
    /// Failures to connect, one after the other.
    pub(super) refusals: u32,
    /// Whether it was ever connected.
    pub(super) was_connected: bool,
    /// Answers that came whole since it was connected.
    pub(super) answers: u64,
}

impl<W: Wire> Connection<W> {
    pub(super) fn new(wire: W) -> Self {
        Self {
            socket: None,
            activity: Activity::Idle,
            wire,
            request: None,
            refusals: 0,
            was_connected: false,
            answers: 0,
        }
    }

    /// Its socket, where it has one.
    pub(super) fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    /// Begins to connect, from the local address `source` where one is given. The socket must be
    /// watched for what comes of it.
    pub(super) fn open(
        &mut self,
        address: SocketAddr,
        source: Option<SocketAddr>,
        now: Nanoseconds,
    ) -> io::Result<&Socket> {
        self.wire.open();
        self.answers = 0;
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM.nonblocking().cloexec(),
            Some(Protocol::TCP),
        )?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            // Where that address cannot be had, the system chooses one.
            let _ = bind_without_port(&socket, source);
        }
        match socket.connect(&address.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::EINPROGRESS as i32) => {}
            Err(error) => return Err(error),
        }
        self.activity = Activity::Connecting { since: now };
        Ok(self.socket.insert(socket))
    }

    /// What the attempt to connect came to.
    pub(super) fn connect_result(&self) -> io::Result<()> {
        match &self.socket {
            Some(socket) => socket.take_error()?.map_or(Ok(()), Err),
            None => Err(io::Error::from(io::ErrorKind::NotConnected)),
        }
    }

    /// Closes the socket. A request that it was there for stays.
    pub(super) fn close(&mut self, activity: Activity) {
        self.socket = None;
        self.activity = activity;
    }

    /// Whether it is connected.
    pub(super) fn is_open(&self) -> bool {
        self.socket.is_some() && !matches!(self.activity, Activity::Connecting { .. })
    }

    /// Sends what the wire has to send; how many bytes were taken, 0 where there is no room now.
    #[inline]
    pub(super) fn send(&mut self) -> Result<usize, Errno> {
        let Some(socket) = &self.socket else {
            return Err(Errno::ENOTCONN);
        };
        loop {
            match send(
                socket.as_raw_fd(),
                self.wire.unsent(),
                MsgFlags::MSG_NOSIGNAL,
            ) {
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(0),
                Ok(length) => {
                    self.wire.sent(length);
                    return Ok(length);
                }
                Err(errno) => return Err(errno),
            }
        }
    }

    fn is_sampled(&self) -> bool {
        matches!(
            &self.request,
            Some(InFlight {
                sample: Some(_),
                ..
            })
        )
    }

    /// Reads until the answer is whole, nothing more is there, or it is the others' turn.
    /// `bytes_read` is counted up.
    ///
    /// The socket is watched edge-triggered: a read that gives less than there was room for has
    /// emptied it, and whatever comes later makes a new edge. Only a close that the kernel has
    /// told already (`peer_closed`) makes none, so it is read up to its end.
    pub(super) fn receive(
        &mut self,
        buffers: &mut Buffers,
        peer_closed: bool,
        bytes_read: &mut u64,
    ) -> Received {
        for _ in 0..READS_AT_ONCE {
            let skippable = if self.is_sampled() {
                0
            } else {
                self.wire.skippable()
            };
            let step = if skippable >= WORTH_SKIPPING {
                self.discard(skippable, buffers, bytes_read)
            } else {
                self.look(buffers, bytes_read)
            };
            match step {
                Ok(Step::Filled) => {}
                Ok(Step::Short) if peer_closed => {}
                Ok(Step::Short | Step::Nothing) => return Received::Partly,
                Err(end) => return end,
            }
        }
        Received::More
    }

    /// Throws body bytes away inside the kernel.
    fn discard(
        &mut self,
        skippable: u64,
        buffers: &mut Buffers,
        bytes_read: &mut u64,
    ) -> Result<Step, Received> {
        let wanted = skippable.min(buffers.discard.len() as u64) as usize;
        let length = self.read(&mut buffers.discard[..wanted], MsgFlags::MSG_TRUNC)?;
        let Some(length) = length else {
            return Ok(Step::Nothing);
        };
        *bytes_read += length as u64;
        match self.wire.skip(length as u64) {
            Some(whole) => Err(Received::Whole(whole)),
            None => Ok(Step::of(length, wanted)),
        }
    }

    /// Reads bytes and looks at them.
    fn look(&mut self, buffers: &mut Buffers, bytes_read: &mut u64) -> Result<Step, Received> {
        let wanted = buffers.first_look;
        let length = self.read(&mut buffers.look[..wanted], MsgFlags::empty())?;
        let Some(length) = length else {
            return Ok(Step::Nothing);
        };
        *bytes_read += length as u64;
        let bytes = &buffers.look[..length];
        let sample = self
            .request
            .as_mut()
            .and_then(|it| it.sample.as_deref_mut());
        let whole = self.wire.eat(bytes, sample).map_err(Received::Fault)?;
        // The answers of one load are much alike: the last one tells how to read the next.
        buffers.first_look = match self.wire.skippable() {
            left if left >= WORTH_SKIPPING => SMALL_LOOK,
            _ if length == wanted => LARGE_LOOK,
            _ => buffers.first_look,
        };
        match whole {
            Some(whole) => Err(Received::Whole(whole)),
            None => Ok(Step::of(length, wanted)),
        }
    }

    /// One read: `None` where nothing is there now, `Err` where nothing will come any more.
    #[inline]
    fn read(&mut self, into: &mut [u8], flags: MsgFlags) -> Result<Option<usize>, Received> {
        let Some(socket) = &self.socket else {
            return Err(Received::Broken(Errno::ENOTCONN));
        };
        let received = loop {
            match recv(socket.as_raw_fd(), into, flags) {
                Err(Errno::EINTR) => {}
                other => break other,
            }
        };
        match received {
            Ok(0) => Err(self.closed(true)),
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN) => Ok(None),
            Err(Errno::ECONNRESET | Errno::EPIPE) => Err(self.closed(false)),
            Err(errno) => Err(Received::Broken(errno)),
        }
    }

    /// The server has closed the connection. Only an orderly close can be the end of an answer.
    fn closed(&mut self, orderly: bool) -> Received {
        match self.wire.close() {
            OnClose::Whole(whole) if orderly => Received::Whole(whole),
            OnClose::BeforeAnswer => Received::ClosedEarly { in_answer: false },
            OnClose::Whole(_) | OnClose::Truncated => Received::ClosedEarly { in_answer: true },
        }
    }
}

/// Takes the local address now and leaves the port to the connect: then the same port can serve
/// connections to different servers.
fn bind_without_port(socket: &Socket, source: SocketAddr) -> io::Result<()> {
    setsockopt(socket, IpBindAddressNoPort, &true)?;
    socket.bind(&source.into())
}
