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

/// How large a [`Ring`] is.
#[derive(Clone, Copy, Debug)]
pub struct RingSettings {
    /// How many sockets it has at a time.
    pub slots: usize,
    /// Buffers for [`Receive::Many`], a power of two up to 32,768. Fewer than there are sockets with something to read
    /// cost time, and nothing else. Memory is used for as many as were needed at a time.
    pub small_buffers: u16,
    /// How many bytes each of them holds.
    pub small_buffer_bytes: u32,
    /// Buffers for [`Receive::Once`], a power of two up to 32,768.
    pub large_buffers: u16,
    /// How many bytes each of them holds.
    pub large_buffer_bytes: u32,
}

/// How many bytes of a slot are sent at a time, at most.
pub const SEND_ROOM: usize = 16 * 1024;

/// Many stream sockets of one thread. What is asked of it is queued; [`Ring::wait`] hands it all to the kernel in one
/// system call and waits, and [`Ring::next`] tells what came of it.
///
/// Sockets are given to a *slot*, a number below [`RingSettings::slots`]. They must be in blocking mode: the kernel
/// does not wait for one that is not, so what cannot be done at once would fail with `EAGAIN`.
///
/// # Panics
///
/// A method that takes a slot panics if there is no slot of that number; one that gives it a socket, if it has one
/// already; one that uses its socket, if it has no connected one.
pub struct Ring {
    queue: Queue,
    slots: Vec<Slot>,
    small: Rc<Pool>,
    large: Rc<Pool>,
    /// Where bytes go that nobody looks at. The kernel may write to it at any time.
    void: Rc<Mapping>,
    /// What was being sent when its slot was closed, until the kernel has done with it; by the send's user data.
    orphans: HashMap<u64, Vec<u8>>,
    /// Addresses of connects that are not submitted yet; the first `connecting` of them.
    addresses: Box<[SockAddr]>,
    connecting: usize,
    /// Slots that could not receive because the kernel had no buffer.
    starved: Vec<Tag>,
    /// System calls beside those of the queue.
    more_system_calls: u64,
    /// Operations that use memory of ours and have not ended.
    under_way: usize,
}

/// How many connects are submitted at a time.
const CONNECTS_AT_ONCE: usize = 64;
const FEWEST_SUBMISSIONS: usize = 32;
/// The queue is gone through round and round: a longer one uses more cache, a shorter one more system calls.
const MOST_SUBMISSIONS: usize = 512;
const FEWEST_COMPLETIONS: usize = 256;
const MOST_COMPLETIONS: usize = 1 << 16;

impl Ring {
    /// Sets one up for the calling thread.
    ///
    /// # Errors
    ///
    /// The kernel's, where it has no io_uring or forbids it (`ENOSYS`, `EPERM`, `EACCES`), is older than Linux 6.1
    /// (`EINVAL`) or has no memory for it (`ENOMEM`): then there is still epoll. `InvalidInput` where the settings are impossible.
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
            void: Rc::new(Mapping::new(LONGEST_SKIP as usize)?),
            orphans: HashMap::new(),
            addresses: (0..CONNECTS_AT_ONCE).map(|_| no_address()).collect(),
            connecting: 0,
            starved: Vec::new(),
            more_system_calls: 0,
            under_way: 0,
        };
        for pool in [&ring.small, &ring.large] {
            // SAFETY: the ring has both pools, and when it is dropped it waits until no operation is under way, or else
            // leaves them in memory for ever.
            unsafe { pool.register(&ring.queue.submitter()) }?;
        }
        Ok(ring)
    }

    /// Gives a socket to the slot and begins to connect it. [`Completion::Connected`] follows.
    pub fn connect(&mut self, slot: usize, socket: OwnedFd, address: &SockAddr) {
        if self.connecting == self.addresses.len() {
            // A failure is told by the next wait.
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
        // SAFETY: the kernel has copied the address when it has taken the submission. Until then it stays where it is:
        // `connecting` goes back to 0 only when all is submitted.
        unsafe { self.begin(slot, Operation::Connect, entry) };
    }

    /// Gives a socket to the slot that is being connected already. [`Completion::Connected`] follows.
    pub fn adopt_connecting(&mut self, slot: usize, socket: OwnedFd) {
        let descriptor = types::Fd(socket.as_raw_fd());
        self.adopt(slot, socket);
        self.slots[slot].connecting = true;
        let entry = opcode::PollAdd::new(descriptor, libc::POLLOUT as u32).build();
        // SAFETY: a poll points to nothing.
        unsafe { self.begin(slot, Operation::Connect, entry) };
    }

    /// Gives a socket to the slot that is connected already.
    pub fn adopt(&mut self, slot: usize, socket: OwnedFd) {
        let it = &mut self.slots[slot];
        assert!(it.socket.is_none(), "the slot has a socket already");
        it.socket = Some(socket);
    }

    /// Asks for what comes. [`Receive::Many`] goes on until the slot is closed, or until [`Completion::Ended`] or
    /// [`Completion::Failed`]; the others are to be asked for again each time. To ask for [`Receive::Many`] while it
    /// goes on is allowed.
    ///
    /// # Panics
    ///
    /// If a receive of the slot is under way, or if it asks for no bytes.
    pub fn receive(&mut self, slot: usize, what: Receive) {
        let it = &mut self.slots[slot];
        it.connected();
        match it.receiving {
            None => {}
            Some(Receive::Many) if what == Receive::Many => return,
            Some(other) => panic!("{what:?} was asked of a slot for which {other:?} is under way"),
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
        // Where nothing is there, to look first would be in vain. Where something has come since, it is no harm.
        let wait_first = if it.has_more { 0 } else { RECVSEND_POLL_FIRST };
        let (operation, entry) = match what {
            Receive::Many => (
                Operation::ReceiveMany,
                opcode::RecvMulti::new(socket, self.small.group()).build(),
            ),
            Receive::Once { at_most } => {
                assert!(at_most > 0, "a receive of no bytes");
                let room = at_most.min(self.large.room());
                let entry = opcode::Recv::new(socket, std::ptr::null_mut(), room)
                    .buf_group(self.large.group())
                    .ioprio(wait_first)
                    .build()
                    .flags(squeue::Flags::BUFFER_SELECT);
                (Operation::ReceiveOnce, entry)
            }
            Receive::Skip(bytes) => {
                assert!(bytes > 0, "a skip of no bytes");
                // What is left is asked for anew each time. With MSG_WAITALL the kernel would do that, but it forgets
                // what it has thrown away (seen in Linux 6.18), and would throw away more than was asked for.
                let left = bytes.min(LONGEST_SKIP) - it.skipped;
                let entry = opcode::Recv::new(socket, self.void.start().as_ptr(), left as u32)
                    .flags(libc::MSG_TRUNC)
                    .ioprio(wait_first)
                    .build();
                (Operation::Skip, entry)
            }
        };
        // SAFETY: it is received into the pools or into the void, which has room for the longest skip and which nobody
        // reads. When the ring is dropped, both outlive the operation.
        unsafe { self.begin(slot, operation, entry) };
    }

    /// Takes bytes to be sent: copies as many as there is room for, [`SEND_ROOM`] at most, and queues their sending.
    /// Returns how many were taken: 0 while an earlier send of the slot is in flight. [`Completion::Sent`] tells when
    /// it is done.
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

    /// Queues the sending of what is left in the slot's send buffer.
    #[inline]
    fn send_rest(&mut self, slot: usize) {
        let it = &self.slots[slot];
        let rest = &it.send_buffer[it.sent as usize..];
        let entry = opcode::Send::new(types::Fd(it.connected()), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
            .build();
        // SAFETY: while `sending` the buffer is neither changed nor freed: when the slot is closed it is kept among the
        // orphans, and when the ring is dropped it outlives the operation.
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
        // SAFETY: what the caller promises.
        unsafe { self.queue.push(&entry.user_data(tag.to_user_data())) };
    }

    /// Closes the slot's socket, if it has one. What is under way is broken off and never told of. The slot may be
    /// given another socket at once.
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
        // An operation keeps its socket open, so that it would not be closed before something came.
        let receiving = old.receiving.map(operation_of);
        let connecting = old.connecting.then_some(Operation::Connect);
        for operation in [receiving, connecting].into_iter().flatten() {
            self.cancel(old.tag(slot, operation));
        }
        let send = old.tag(slot, Operation::Send);
        if old.sending {
            self.cancel(send);
            self.orphans.insert(send.to_user_data(), old.send_buffer);
        } else {
            // Its memory serves the next socket.
            self.slots[slot].send_buffer = old.send_buffer;
        }
        // Only what was queued before uses the descriptor: submissions are carried out in their order.
        let entry = opcode::Close::new(types::Fd(socket.into_raw_fd())).build();
        self.clean_up(entry);
    }

    fn cancel(&mut self, tag: Tag) {
        self.clean_up(opcode::AsyncCancel::new(tag.to_user_data()).build());
    }

    /// Queues an operation for whose success nobody waits.
    fn clean_up(&mut self, entry: squeue::Entry) {
        let entry = entry
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(Tag::CLEANUP.to_user_data());
        // SAFETY: cancels and closes point to nothing.
        unsafe { self.queue.push(&entry) };
    }

    /// Submits what is queued and waits until something has completed, but no longer than that; zero only looks. May
    /// return sooner, with nothing. One system call.
    ///
    /// # Errors
    ///
    /// The kernel's. The ring is then of no more use.
    #[inline]
    pub fn wait(&mut self, longest: Duration) -> io::Result<()> {
        self.small.publish();
        self.large.publish();
        if !self.starved.is_empty() {
            self.feed_starved();
        }
        let result = self.queue.wait(longest);
        self.forget_addresses();
        result
    }

    /// Submits what is queued, and does not look for completions.
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

    /// Where an operation's buffers come from.
    #[inline]
    fn pool_of(&self, operation: Operation) -> &Rc<Pool> {
        match operation {
            Operation::ReceiveOnce => &self.large,
            _ => &self.small,
        }
    }

    /// Throws away what is there now of the next bytes, so many of them, but no more than [`LONGEST_SKIP`]; how many
    /// there were. A system call of its own: where much is there already it costs less than an operation that first
    /// waits, and is told of later.
    ///
    /// # Errors
    ///
    /// The kernel's: `WouldBlock` where nothing is there. 0 bytes are the end of the stream.
    ///
    /// # Panics
    ///
    /// If a receive of the slot is under way.
    pub fn skip_now(&mut self, slot: usize, bytes: u64) -> io::Result<u64> {
        let it = &self.slots[slot];
        assert!(it.receiving.is_none(), "a receive is under way");
        let (socket, void) = (it.connected(), self.void.start().as_ptr());
        let length = bytes.min(LONGEST_SKIP) as usize;
        self.more_system_calls += 1;
        // SAFETY: the void has room for the longest skip, and nobody reads it.
        let skipped = unsafe {
            libc::recv(
                socket,
                void.cast(),
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

    /// Whether there are completions that [`Ring::next`] has not looked at.
    pub fn has_completions(&self) -> bool {
        self.queue.has_ready()
    }

    /// System calls that the ring has made.
    pub fn system_calls(&self) -> u64 {
        self.queue.system_calls() + self.more_system_calls
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
