//! Receive buffers that the kernel picks and fills by itself.

use std::cell::Cell;
use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// Buffers of one size, and the ring of entries that hands them to the kernel.
///
/// A buffer is always in one of three states: never used, with the kernel, or lent out as a [`Chunk`]. The kernel uses
/// its buffers in turn, so the more it has, the more cache they use: it gets more only when it runs out.
#[derive(Debug)]
pub(super) struct Pool {
    group: u16,
    /// The ring's entries, then the buffers.
    memory: Mapping,
    count: u16,
    room: u32,
    stride: usize,
    /// How many entries have been written; the kernel sees those up to the last [`Pool::publish`].
    tail: Cell<u16>,
    /// How many buffers the kernel has ever had; the rest were never used.
    in_use: Cell<u16>,
    /// How many buffers the kernel has now, as of the completions read so far.
    with_kernel: Cell<u16>,
}

const CACHE_LINE: usize = 64;
/// How many buffers the kernel gets at first.
const FIRST_BUFFERS: u16 = 64;
const MOST_BUFFERS: u16 = 1 << 15;

impl Pool {
    /// Allocates `count` buffers of `room` bytes each.
    pub(super) fn new(group: u16, count: u16, room: u32) -> io::Result<Self> {
        if !count.is_power_of_two() || count > MOST_BUFFERS || room == 0 || room > i32::MAX as u32 {
            let text = format!(
                "there must be 1 to {MOST_BUFFERS} receive buffers, a power of two, each of 1 byte to 2 GiB: \
                 not {count} of {room} bytes"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // An odd number of cache lines, so that the starts of the buffers, their busiest part, spread over the whole
        // cache.
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

    /// Makes operations with this group receive into these buffers.
    ///
    /// # Safety
    ///
    /// The pool must outlive every operation that takes buffers from it.
    pub(super) unsafe fn register(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        self.publish();
        let entries = self.memory.start().as_ptr() as u64;
        // SAFETY: the mapping starts with the `count` entries, and the caller promises that it lives long enough.
        unsafe { submitter.register_buf_ring_with_flags(entries, self.count, self.group, 0) }
    }

    /// The group to name in an operation.
    pub(super) fn group(&self) -> u16 {
        self.group
    }

    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// Whether the kernel has a buffer, as of the completions read so far.
    pub(super) fn is_kernel_supplied(&self) -> bool {
        self.with_kernel.get() > 0
    }

    /// Doubles the kernel's buffers, as far as unused ones are left.
    pub(super) fn grow(&self) {
        let from = self.in_use.get();
        let to = from
            .saturating_mul(2)
            .clamp(FIRST_BUFFERS.min(self.count), self.count);
        self.in_use.set(to);
        (from..to).for_each(|buffer| self.put(buffer));
    }

    /// Shows the kernel the buffers that were put back.
    #[inline]
    pub(super) fn publish(&self) {
        let entries = self.memory.start().cast::<BufRingEntry>().as_ptr();
        // SAFETY: the first entry of our own mapping; the tail is a field inside it.
        let tail = unsafe { BufRingEntry::tail(entries) }.cast_mut();
        // SAFETY: two aligned bytes of our own mapping; the kernel reads them, and only this thread writes them.
        let tail = unsafe { AtomicU16::from_ptr(tail) };
        tail.store(self.tail.get(), Ordering::Release);
    }

    /// A buffer that the kernel has filled with `length` bytes.
    #[inline]
    pub(super) fn take(self: &Rc<Self>, buffer: u16, length: u32) -> Chunk {
        // Later reads are sound only if this holds, so do not trust the kernel.
        assert!(buffer < self.count && length <= self.room);
        self.with_kernel.set(self.with_kernel.get() - 1);
        Chunk {
            pool: Rc::clone(self),
            length,
            buffer,
        }
    }

    /// Gives a buffer to the kernel at the next [`Pool::publish`].
    #[inline]
    fn put(&self, buffer: u16) {
        let tail = self.tail.get();
        let at = usize::from(tail & (self.count - 1));
        let entry = self.memory.start().cast::<BufRingEntry>();
        // SAFETY: `at` is less than `count`, so this is one of our own entries. The kernel does not read it: it has
        // fewer than `count` buffers, because only buffers that it does not have are put back.
        let entry = unsafe { &mut *entry.add(at).as_ptr() };
        // The tail is in a field of the first entry that is not written here.
        entry.set_addr(self.address(buffer).as_ptr() as u64);
        entry.set_len(self.room);
        entry.set_bid(buffer);
        self.tail.set(tail.wrapping_add(1));
        self.with_kernel.set(self.with_kernel.get() + 1);
    }

    #[inline]
    fn address(&self, buffer: u16) -> NonNull<u8> {
        let entries = usize::from(self.count) * size_of::<BufRingEntry>();
        // SAFETY: `buffer` is less than `count`, so this is inside our own mapping.
        unsafe {
            self.memory
                .start()
                .add(entries + usize::from(buffer) * self.stride)
        }
    }
}

/// Received bytes, in a buffer of the ring. The kernel can reuse the buffer when the chunk is dropped.
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
        // SAFETY: the buffer is in the pool's mapping, which this chunk keeps alive, and holds at least `length` bytes.
        // The kernel gets it back only when this chunk is dropped; nobody else writes to it.
        unsafe { std::slice::from_raw_parts(start, self.length as usize) }
    }
}

impl Drop for Chunk {
    #[inline]
    fn drop(&mut self) {
        self.pool.put(self.buffer);
    }
}

/// Zeroed pages shared with the kernel and unmapped on drop. They start on a page boundary and never move, and take no
/// memory until touched.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    pub(super) fn new(length: usize) -> io::Result<Self> {
        // SAFETY: an anonymous mapping at an address that the kernel chooses touches no memory in use.
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

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped. The owner drops it only when the kernel no longer uses it, and a chunk
        // keeps it alive.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
