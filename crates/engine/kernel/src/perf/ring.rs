//! The memory of one CPU into which the kernel writes records.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use super::attributes::{
    self, Attributes, Control, DISABLED, EXCLUDE_KERNEL, SOFTWARE, Target, USE_CLOCK, WATERMARK,
};

/// A ring that the records of many events of one CPU go to.
///
/// It belongs to an event that never happens, of this process's first thread. The ring of an event whose thread has
/// ended could no longer be waited for.
#[derive(Debug)]
pub(super) struct Ring {
    owner: File,
    memory: NonNull<u8>,
    memory_bytes: usize,
    page_bytes: usize,
    /// A record that goes around the end of the ring, in one piece.
    joined: Vec<u8>,
}

// SAFETY: the memory belongs to this value alone, and no thread has a special part in it.
unsafe impl Send for Ring {}

const NEVER: u64 = 9;
/// Where `struct perf_event_mmap_page` has how far the kernel has written, and how far Prony has read.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;
const HEADER_BYTES: usize = 8;
/// Where a record's header has the record's length, of two bytes.
const LENGTH_AT: usize = 6;
const LEAST_PAGES: usize = 4;
/// After this many bytes the kernel may write over them again, so that it has room while Prony reads on.
const BATCH_BYTES: u64 = 64 << 10;

impl Ring {
    /// A ring for each CPU, each of `bytes`, rounded up to a power of 2. If the kernel does not lock as much memory, they
    /// take half of what it locks, so that another sampler has room.
    pub(super) fn open_all(cpus: &[i32], bytes: usize) -> io::Result<Vec<Ring>> {
        let mut pages = bytes.div_ceil(page_bytes()).max(1).next_power_of_two();
        let open = |pages| cpus.iter().map(|&cpu| Ring::open(cpu, pages)).collect();
        let mut is_limited = false;
        loop {
            let opened: io::Result<Vec<Ring>> = open(pages);
            let is_smaller = pages / 2 >= LEAST_PAGES;
            match opened {
                Ok(rings) if is_limited && is_smaller => {
                    drop(rings);
                    return open(pages / 2);
                }
                Err(error) if is_limit(&error) && is_smaller => {
                    is_limited = true;
                    pages /= 2;
                }
                result => return result,
            }
        }
    }

    fn open(cpu: i32, pages: usize) -> io::Result<Ring> {
        let page_bytes = page_bytes();
        let memory_bytes = (pages + 1) * page_bytes;
        let owner = open_owner(cpu, pages * page_bytes / 4)?;
        Ok(Ring {
            memory: map(&owner, memory_bytes)?,
            owner,
            memory_bytes,
            page_bytes,
            joined: Vec::new(),
        })
    }

    /// The records of `event` go to this ring.
    pub(super) fn take_records_of(&self, event: &File) -> io::Result<()> {
        attributes::control(event, Control::SetOutput(&self.owner))
    }

    /// Passes on each record that the kernel had written when this began.
    ///
    /// # Errors
    /// If the lengths of the records make no sense. What the ring contained is then lost.
    pub(super) fn read(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        // Only this writes the tail.
        let mut at = self.position(TAIL_AT).load(Ordering::Relaxed);
        let mut released = at;
        let mut joined = std::mem::take(&mut self.joined);
        while at != head {
            let Some(length) = self.record_length(at, head) else {
                self.position(TAIL_AT).store(head, Ordering::Release);
                return Err(io::Error::other("the kernel wrote a record without an end"));
            };
            take(self.bytes(at, length, &mut joined));
            at = at.wrapping_add(length as u64);
            if at.wrapping_sub(released) >= BATCH_BYTES {
                self.position(TAIL_AT).store(at, Ordering::Release);
                released = at;
            }
        }
        self.position(TAIL_AT).store(at, Ordering::Release);
        self.joined = joined;
        Ok(())
    }

    /// The length of the record at `at`; `None` if it is not between `at` and `head`.
    fn record_length(&self, at: u64, head: u64) -> Option<usize> {
        let available = usize::try_from(head.wrapping_sub(at)).ok()?;
        if !(HEADER_BYTES..=self.data_bytes()).contains(&available) {
            return None;
        }
        let mut header = Vec::new();
        let header = self.bytes(at, HEADER_BYTES, &mut header);
        let length = usize::from(u16::from_ne_bytes([
            header[LENGTH_AT],
            header[LENGTH_AT + 1],
        ]));
        (HEADER_BYTES..=available)
            .contains(&length)
            .then_some(length)
    }

    /// Bytes that the kernel has written and that were not released; in one piece, by copying them if need be.
    /// `length` must be at most the ring's.
    fn bytes<'a>(&'a self, at: u64, length: usize, joined: &'a mut Vec<u8>) -> &'a [u8] {
        let start = (at % self.data_bytes() as u64) as usize;
        let until_end = (self.data_bytes() - start).min(length);
        let first = self.data(start, until_end);
        if until_end == length {
            return first;
        }
        joined.clear();
        joined.extend_from_slice(first);
        joined.extend_from_slice(self.data(0, length - until_end));
        joined
    }

    fn data(&self, start: usize, length: usize) -> &[u8] {
        assert!(start + length <= self.data_bytes());
        // SAFETY: the assertion keeps this inside the mapping, which lives as long as `self`. The kernel writes only
        // beyond the head, and not over what is between the tail and the head; callers read only there, and `read`
        // moves the tail when nobody refers to these bytes any more.
        unsafe {
            let first = self.memory.as_ptr().add(self.page_bytes + start);
            std::slice::from_raw_parts(first, length)
        }
    }

    fn data_bytes(&self) -> usize {
        self.memory_bytes - self.page_bytes
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        assert!(offset == HEAD_AT || offset == TAIL_AT);
        // SAFETY: both are numbers of 8 bytes, aligned, in the first page of the mapping, which lives as long as `self`.
        // The kernel too reads and writes them as a whole.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }
}

impl AsFd for Ring {
    /// Readable when a quarter of the ring is full.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.owner.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.memory_bytes) };
    }
}

fn open_owner(cpu: i32, wakeup_bytes: usize) -> io::Result<File> {
    let attributes = Attributes {
        kind: SOFTWARE,
        config: NEVER,
        flags: DISABLED | EXCLUDE_KERNEL | WATERMARK | USE_CLOCK,
        wakeup: u32::try_from(wakeup_bytes).unwrap_or(u32::MAX),
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    let thread = std::process::id() as i32;
    attributes::open(attributes, Target { thread, cpu }, None)
}

fn map(owner: &File, bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a new mapping, at an address that the kernel chooses, touches no memory that exists.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            owner.as_raw_fd(),
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mmap returned no memory"))
}

fn is_limit(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM))
}

fn page_bytes() -> usize {
    // SAFETY: the call returns a number and touches no memory.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
