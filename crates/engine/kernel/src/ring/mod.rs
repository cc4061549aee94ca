//! Many stream sockets of one thread, driven by io_uring.

mod buffers;
mod completing;
mod queue;
mod slot;
mod teardown;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use io_uring::{opcode, squeue, types};
use nix::errno::Errno;
use socket2::SockAddr;

pub use buffers::Chunk;
pub use completing::Completion;
pub use slot::{LONGEST_SKIP, Receive};

use buffers::{Mapping, Pool};
use queue::Queue;
use slot::{MOST_SLOTS, Operation, Slot, Tag};

#[derive(Clone, Copy, Debug)]
pub struct RingSettings {
    /// How many sockets it has at a time.
    pub slots: usize,
    /// Buffers for [`Receive::Many`], a power of two up to 32,768. With fewer buffers than readable sockets the ring is
    /// slower, but loses nothing. Only those that were needed take memory.
    pub small_buffers: u16,
    pub small_buffer_bytes: u32,
    /// Buffers for [`Receive::Once`], a power of two up to 32,768.
    pub large_buffers: u16,
    pub large_buffer_bytes: u32,
}

/// The most bytes that a slot sends at a time.
pub const SEND_ROOM: usize = 16 * 1024;

/// Many stream sockets of one thread. Its methods queue operations; [`Ring::wait`] submits them in one system call and
/// waits, and [`Ring::next`] returns the results.
///
/// Each socket belongs to a *slot*, a number below [`RingSettings::slots`]. Sockets must be in blocking mode: on a
/// non-blocking one the kernel does not wait, and fails with `EAGAIN`.
///
/// # Panics
///
/// A method that takes a slot panics if there is no slot of that number; one that adds a socket, if the slot already
/// has one; one that uses the socket, if the slot has none that is connected.
pub struct Ring {
    queue: Queue,
    slots: Vec<Slot>,
    small: Rc<Pool>,
    large: Rc<Pool>,
    /// Takes the bytes that nobody reads. The kernel may write to it at any time.
    sink: Rc<Mapping>,
    /// Send buffers of closed slots that the kernel still uses, by the send's user data.
    orphaned_sends: HashMap<u64, Vec<u8>>,
    /// The first `connecting` of them are addresses of connects that are not submitted yet.
    addresses: Box<[SockAddr]>,
    connecting: usize,
    /// Slots that could not receive because the kernel had no buffer.
    starved: Vec<Tag>,
    /// System calls beside those of the queue.
    other_system_calls: u64,
    /// Operations that use our memory and have not ended.
    under_way: usize,
}

/// How many connects are submitted at a time.
const CONNECTS_AT_ONCE: usize = 64;
const FEWEST_SUBMISSIONS: usize = 32;
/// A longer submission queue uses more cache, a shorter one makes more system calls.
const MOST_SUBMISSIONS: usize = 512;
const FEWEST_COMPLETIONS: usize = 256;
const MOST_COMPLETIONS: usize = 1 << 16;

impl Ring {
    /// Sets up a ring for the calling thread.
    ///
    /// # Errors
    ///
    /// The kernel's, if it has no io_uring or forbids it (`ENOSYS`, `EPERM`, `EACCES`), is older than Linux 6.1
    /// (`EINVAL`) or is out of memory (`ENOMEM`): use epoll then. `InvalidInput` if the settings are impossible.
    pub fn new(settings: &RingSettings) -> io::Result<Ring> {
        let slots = settings.slots;
        if slots == 0 || slots > MOST_SLOTS {
            let text = format!("a ring has 1 to {MOST_SLOTS} slots, not {slots}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let small = Pool::new(0, settings.small_buffers, settings.small_buffer_bytes)?;
        let large = Pool::new(1, settings.large_buffers, settings.large_buffer_bytes)?;
        let submissions = slots.clamp(FEWEST_SUBMISSIONS, MOST_SUBMISSIONS);
        let completions = (slots * 4).clamp(FEWEST_COMPLETIONS, MOST_COMPLETIONS);
        let ring = Ring {
            queue: Queue::new(submissions as u32, completions as u32)?,
            slots: (0..slots).map(|_| Slot::default()).collect(),
            small: Rc::new(small),
            large: Rc::new(large),
            sink: Rc::new(Mapping::new(LONGEST_SKIP as usize)?),
            orphaned_sends: HashMap::new(),
            addresses: (0..CONNECTS_AT_ONCE).map(|_| no_address()).collect(),
            connecting: 0,
            starved: Vec::new(),
            other_system_calls: 0,
            under_way: 0,
        };
        for pool in [&ring.small, &ring.large] {
            // SAFETY: the ring owns both pools. Its drop waits until no operation is under way, or leaks them.
            unsafe { pool.register(&ring.queue.submitter()) }?;
        }
        Ok(ring)
    }

    /// Gives the slot a socket and starts to connect it. [`Completion::Connected`] follows.
    pub fn connect(&mut self, slot: usize, socket: OwnedFd, address: &SockAddr) {
        if self.connecting == self.addresses.len() {
            // The next wait reports a failure.
            let _ = self.submit();
        }
        let descriptor = types::Fd(socket.as_raw_fd());
        self.adopt(slot, socket);
        self.slots[slot].connecting = true;
        let Some(place) = self.addresses.get_mut(self.connecting) else {
            return self.queue.give_up(Errno::EBUSY);
        };
        *place = address.clone();
        let entry = opcode::Connect::new(descriptor, place.as_ptr().cast(), place.len()).build();
        self.connecting += 1;
        // SAFETY: the kernel copies the address when it takes the submission. Until then the address stays in place:
        // `connecting` goes back to 0 only when everything is submitted.
        unsafe { self.begin(slot, Operation::Connect, entry) };
    }

    /// Gives the slot a socket that is already connecting. [`Completion::Connected`] follows.
    pub fn adopt_connecting(&mut self, slot: usize, socket: OwnedFd) {
        let descriptor = types::Fd(socket.as_raw_fd());
        self.adopt(slot, socket);
        self.slots[slot].connecting = true;
        let entry = opcode::PollAdd::new(descriptor, libc::POLLOUT as u32).build();
        // SAFETY: a poll uses no memory of ours.
        unsafe { self.begin(slot, Operation::Connect, entry) };
    }

    /// Gives the slot a connected socket.
    pub fn adopt(&mut self, slot: usize, socket: OwnedFd) {
        let it = &mut self.slots[slot];
        assert!(it.socket.is_none(), "the slot already has a socket");
        it.socket = Some(socket);
    }

    /// Starts to receive. [`Receive::Many`] continues until the slot is closed, or until [`Completion::Ended`] or
    /// [`Completion::Failed`], and may be requested again meanwhile; the others complete once.
    ///
    /// # Panics
    ///
    /// If another receive of the slot is under way, or if `what` is for 0 bytes.
    pub fn receive(&mut self, slot: usize, what: Receive) {
        let it = &mut self.slots[slot];
        it.connected();
        match it.receiving {
            None => {}
            Some(Receive::Many) if what == Receive::Many => return,
            Some(other) => panic!("{what:?} was requested while {other:?} is under way"),
        }
        it.receiving = Some(what);
        it.skipped = 0;
        self.arm(slot, what);
    }

    /// Queues a receive.
    #[inline]
    fn arm(&mut self, slot: usize, what: Receive) {
        let it = &self.slots[slot];
        let socket = types::Fd(it.connected());
        // If nothing was left unread, a first attempt would be in vain; if something has arrived since, waiting first
        // does no harm.
        let wait_first = if it.has_more { 0 } else { RECVSEND_POLL_FIRST };
        let (operation, entry) = match what {
            Receive::Many => (
                Operation::ReceiveMany,
                opcode::RecvMulti::new(socket, self.small.group()).build(),
            ),
            Receive::Once { at_most } => {
                assert!(at_most > 0, "a receive needs room for at least one byte");
                let room = at_most.min(self.large.room());
                let entry = opcode::Recv::new(socket, std::ptr::null_mut(), room)
                    .buf_group(self.large.group())
                    .ioprio(wait_first)
                    .build()
                    .flags(squeue::Flags::BUFFER_SELECT);
                (Operation::ReceiveOnce, entry)
            }
            Receive::Skip(bytes) => {
                assert!(bytes > 0, "a skip needs at least one byte");
                // The rest is requested again each time. With MSG_WAITALL the kernel would do that, but it forgets what
                // it has thrown away (seen in Linux 6.18), and would throw away too much.
                let left = bytes.min(LONGEST_SKIP) - it.skipped;
                let entry = opcode::Recv::new(socket, self.sink.start().as_ptr(), left as u32)
                    .flags(libc::MSG_TRUNC)
                    .ioprio(wait_first)
                    .build();
                (Operation::Skip, entry)
            }
        };
        // SAFETY: the kernel writes into the pools or into the sink, which has room for the longest skip and is never
        // read. Both outlive the operation, even if the ring is dropped.
        unsafe { self.begin(slot, operation, entry) };
    }

    /// Copies as many bytes as there is room for, at most [`SEND_ROOM`], and queues their sending. Returns how many it
    /// took: 0 while an earlier send of the slot is in flight. [`Completion::Sent`] follows.
    #[inline]
    pub fn send(&mut self, slot: usize, bytes: &[u8]) -> usize {
        let it = &mut self.slots[slot];
        it.connected();
        if it.sending || bytes.is_empty() {
            return 0;
        }
        let taken = bytes.len().min(SEND_ROOM);
        it.send_buffer.clear();
        it.send_buffer.extend_from_slice(&bytes[..taken]);
        it.sending = true;
        it.sent = 0;
        self.send_rest(slot);
        taken
    }

    /// Queues the sending of the rest of the slot's send buffer.
    #[inline]
    fn send_rest(&mut self, slot: usize) {
        let it = &self.slots[slot];
        let rest = &it.send_buffer[it.sent as usize..];
        let entry = opcode::Send::new(types::Fd(it.connected()), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
            .build();
        // SAFETY: while `sending` the buffer is neither changed nor freed: closing the slot moves it to the orphaned_sends,
        // and it outlives the operation if the ring is dropped.
        unsafe { self.begin(slot, Operation::Send, entry) };
    }

    /// Queues an operation of the slot.
    ///
    /// # Safety
    ///
    /// Whatever the entry points to must live until the operation has completed.
    #[inline]
    unsafe fn begin(&mut self, slot: usize, operation: Operation, entry: squeue::Entry) {
        let tag = self.slots[slot].tag(slot, operation);
        self.under_way += 1;
        // SAFETY: the caller promises the same.
        unsafe { self.queue.push(&entry.user_data(tag.to_user_data())) };
    }

    /// Closes the slot's socket, if it has one. Operations under way are cancelled without a [`Completion`]. The slot
    /// can take another socket at once.
    pub fn close(&mut self, slot: usize) {
        let it = &mut self.slots[slot];
        let Some(socket) = it.socket.take() else {
            return;
        };
        let next = Slot {
            generation: it.generation + 1,
            ..Slot::default()
        };
        let old = std::mem::replace(it, next);
        // A pending operation would keep its socket open.
        let receiving = old.receiving.map(operation_of);
        let connecting = old.connecting.then_some(Operation::Connect);
        for operation in [receiving, connecting].into_iter().flatten() {
            self.cancel(old.tag(slot, operation));
        }
        let send = old.tag(slot, Operation::Send);
        if old.sending {
            self.cancel(send);
            self.orphaned_sends
                .insert(send.to_user_data(), old.send_buffer);
        } else {
            // The next socket reuses its memory.
            self.slots[slot].send_buffer = old.send_buffer;
        }
        // The kernel executes submissions in order, so only earlier ones use the descriptor.
        let entry = opcode::Close::new(types::Fd(socket.into_raw_fd())).build();
        self.clean_up(entry);
    }

    fn cancel(&mut self, tag: Tag) {
        self.clean_up(opcode::AsyncCancel::new(tag.to_user_data()).build());
    }

    /// Queues an operation whose result nobody waits for.
    fn clean_up(&mut self, entry: squeue::Entry) {
        let entry = entry
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(Tag::CLEANUP.to_user_data());
        // SAFETY: cancels and closes use no memory of ours.
        unsafe { self.queue.push(&entry) };
    }

    /// Submits what is queued and waits until something has completed, at most `longest`; zero only looks. May return
    /// sooner, without a completion. One system call.
    ///
    /// # Errors
    ///
    /// The kernel's. The ring is then unusable.
    #[inline]
    pub fn wait(&mut self, longest: Duration) -> io::Result<()> {
        self.small.publish();
        self.large.publish();
        if !self.starved.is_empty() {
            self.resume_starved();
        }
        let result = self.queue.wait(longest);
        self.forget_addresses();
        result
    }

    /// Submits what is queued, without looking for completions.
    ///
    /// # Errors
    ///
    /// As [`Ring::wait`].
    pub fn submit(&mut self) -> io::Result<()> {
        self.small.publish();
        self.large.publish();
        let result = self.queue.submit();
        self.forget_addresses();
        result
    }

    #[inline]
    fn forget_addresses(&mut self) {
        if self.connecting > 0 && self.queue.is_submitted() {
            self.connecting = 0;
        }
    }

    /// The pool that an operation's buffers come from.
    #[inline]
    fn pool_of(&self, operation: Operation) -> &Rc<Pool> {
        match operation {
            Operation::ReceiveOnce => &self.large,
            _ => &self.small,
        }
    }

    /// Throws away up to `bytes` of what has already arrived, at most [`LONGEST_SKIP`], and returns how many. This is a
    /// separate system call: if much has arrived it costs less than an operation that first waits and then completes.
    ///
    /// # Errors
    ///
    /// The kernel's: `WouldBlock` if nothing is there. 0 bytes mean the end of the stream.
    ///
    /// # Panics
    ///
    /// If a receive of the slot is under way.
    pub fn skip_now(&mut self, slot: usize, bytes: u64) -> io::Result<u64> {
        let it = &self.slots[slot];
        assert!(it.receiving.is_none(), "another receive is under way");
        let (socket, sink) = (it.connected(), self.sink.start().as_ptr());
        let length = bytes.min(LONGEST_SKIP) as usize;
        self.other_system_calls += 1;
        // SAFETY: the sink has room for the longest skip, and is never read.
        let skipped = unsafe {
            libc::recv(
                socket,
                sink.cast(),
                length,
                libc::MSG_TRUNC | libc::MSG_DONTWAIT,
            )
        };
        u64::try_from(skipped).map_err(|_| io::Error::last_os_error())
    }

    /// Whether something is queued for the next [`Ring::wait`].
    pub fn has_submissions(&mut self) -> bool {
        !self.queue.is_submitted()
    }

    /// Whether [`Ring::next`] has completions left to return.
    pub fn has_completions(&self) -> bool {
        self.queue.has_ready()
    }

    pub fn system_calls(&self) -> u64 {
        self.queue.system_calls() + self.other_system_calls
    }
}

fn operation_of(what: Receive) -> Operation {
    match what {
        Receive::Many => Operation::ReceiveMany,
        Receive::Once { .. } => Operation::ReceiveOnce,
        Receive::Skip(_) => Operation::Skip,
    }
}

fn no_address() -> SockAddr {
    std::net::SocketAddr::from(([0; 4], 0)).into()
}

impl fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Ring")
            .field("slots", &self.slots.len())
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}

/// Linux 5.19: wait before the first attempt.
const RECVSEND_POLL_FIRST: u16 = 1;
