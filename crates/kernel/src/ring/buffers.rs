//! Receive buffers that the kernel takes as it needs them, and gives out filled.

use std::cell::Cell;
use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// Buffers of one size, and the ring of entries through which the kernel is given them.
///
/// A buffer is in one place at a time: never used yet, with the kernel, or lent out as a [`Chunk`]. The kernel takes
/// the one first that has been with it longest, so the more there are with it, the more cache they use: they are
/// given to it bit by bit, as it turns out that it has too few.
#[derive(Debug)]
pub(super) struct Pool {
    group: u16,
    /// The ring's entries first, then the buffers.
    memory: Mapping,
    count: u16,
    room: u32,
    stride: usize,
    /// How many entries were written; the kernel sees those up to the last [`Pool::publish`].
    tail: Cell<u16>,
    /// Buffers that the kernel has had; those after them were never used.
    in_use: Cell<u16>,
    /// How many buffers are with the kernel, as far as its completions were read.
    with_kernel: Cell<u16>,
}

const CACHE_LINE: usize = 64;
/// With how many buffers the kernel begins.
const FIRST_BUFFERS: u16 = 64;
const MOST_BUFFERS: u16 = 1 << 15;

impl Pool {
    /// Makes `count` buffers of `room` bytes each.
    pub(super) fn new(group: u16, count: u16, room: u32) -> io::Result<Self> {
        if !count.is_power_of_two() || count > MOST_BUFFERS || room == 0 || room > i32::MAX as u32 {
            let text = format!(
                "there must be 1 to {MOST_BUFFERS} receive buffers, a power of two, each of 1 byte to 2 GiB: \
                 not {count} of {room} bytes"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // An odd number of cache lines from one to the next: so their beginnings, which are what is used most, are
        // spread over all of the cache.
        let stride = (room as usize).div_ceil(CACHE_LINE) | 1;
        let stride = stride * CACHE_LINE;
        let entries = usize::from(count) * size_of::<BufRingEntry>();
        let pool = Self {
            group,
            memory: Mapping::new(entries + usize::from(count) * stride)?,
            count,
            room,
            stride,
            tail: Cell::new(0),
            in_use: Cell::new(0),
            with_kernel: Cell::new(0),
        };
        pool.grow();
        Ok(pool)
    }

    /// Makes the kernel take buffers from here for what is received with this group.
    ///
    /// # Safety
    ///
    /// The pool must live until the kernel has no operation under way that takes buffers from it.
    pub(super) unsafe fn register(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        self.publish();
        let entries = self.memory.start().as_ptr() as u64;
        // SAFETY: the entries are at the beginning of the mapping and there are `count` of them; that they live long
        // enough is what this function asks of its caller.
        unsafe { submitter.register_buf_ring_with_flags(entries, self.count, self.group, 0) }
    }

    /// The group from which an operation is to take its buffer.
    pub(super) fn group(&self) -> u16 {
        self.group
    }

    /// How many bytes each buffer holds.
    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// Whether the kernel has any, as far as is known.
    pub(super) fn is_kernel_supplied(&self) -> bool {
        self.with_kernel.get() > 0
    }

    /// Gives the kernel as many more as it has had, as far as there are any that were never used.
    pub(super) fn grow(&self) {
        let from = self.in_use.get();
        let to = from
            .saturating_mul(2)
            .clamp(FIRST_BUFFERS.min(self.count), self.count);
        self.in_use.set(to);
        (from..to).for_each(|buffer| self.put(buffer));
    }

    /// Shows the kernel the buffers that came back.
    #[inline]
    pub(super) fn publish(&self) {
        let entries = self.memory.start().cast::<BufRingEntry>().as_ptr();
        // SAFETY: the first entry of our own mapping; the place of the tail is a part of it that is always there.
        let tail = unsafe { BufRingEntry::tail(entries) }.cast_mut();
        // SAFETY: two bytes of our own mapping, aligned, which the kernel reads and only this thread writes.
        let tail = unsafe { AtomicU16::from_ptr(tail) };
        tail.store(self.tail.get(), Ordering::Release);
    }

    /// A buffer that the kernel has filled with that many bytes.
    #[inline]
    pub(super) fn take(self: &Rc<Self>, buffer: u16, length: u32) -> Chunk {
        // What is read later relies on this, so it is not left to the kernel.
        assert!(buffer < self.count && length <= self.room);
        self.with_kernel.set(self.with_kernel.get() - 1);
        Chunk {
            pool: Rc::clone(self),
            length,
            buffer,
        }
    }

    /// Gives a buffer to the kernel, from the next [`Pool::publish`] on.
    #[inline]
    fn put(&self, buffer: u16) {
        let tail = self.tail.get();
        let at = usize::from(tail & (self.count - 1));
        let entry = self.memory.start().cast::<BufRingEntry>();
        // SAFETY: `at` is less than `count`, so this is one of our own entries. The kernel does not look at it: only
        // buffers that it does not have are put, so it has less than `count` of them.
        let entry = unsafe { &mut *entry.add(at).as_ptr() };
        // The tail stands in a field of the first entry that is not written here.
        entry.set_addr(self.address(buffer).as_ptr() as u64);
        entry.set_len(self.room);
        entry.set_bid(buffer);
        self.tail.set(tail.wrapping_add(1));
        self.with_kernel.set(self.with_kernel.get() + 1);
    }

    #[inline]
    fn address(&self, buffer: u16) -> NonNull<u8> {
        let entries = usize::from(self.count) * size_of::<BufRingEntry>();
        // SAFETY: `buffer` is less than `count`, so this is in our own mapping.
        unsafe {
            self.memory
                .start()
                .add(entries + usize::from(buffer) * self.stride)
        }
    }
}

/// Bytes that were received, in a buffer of the ring. Dropping it gives the buffer back: until then the kernel has one
/// less to receive into.
#[derive(Debug)]
pub struct Chunk {
    pool: Rc<Pool>,
    length: u32,
    buffer: u16,
}

impl Deref for Chunk {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let start = self.pool.address(self.buffer).as_ptr();
        // SAFETY: the buffer is a part of the pool's mapping, which this chunk keeps alive, and `length` is within
        // it. The kernel has given it out and gets it back only when this chunk is dropped; nobody else writes to it.
        unsafe { std::slice::from_raw_parts(start, self.length as usize) }
    }
}

impl Drop for Chunk {
    #[inline]
    fn drop(&mut self) {
        self.pool.put(self.buffer);
    }
}

/// Pages of zeroes that are shared with the kernel, taken from it and given back when dropped. They start on a page boundary and never move,
/// and a page costs nothing until it is touched.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    /// Maps that many bytes.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        // SAFETY: an anonymous mapping at an address that the kernel chooses touches no memory that is in use.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast())
            .ok_or_else(|| io::Error::other("the kernel mapped memory at address zero"))?;
        Ok(Self { start, length })
    }

    /// Its first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped. Whoever shares it with the kernel drops it only when the kernel has done
        // with it, and whoever lends it out keeps it alive as long as it is lent.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
