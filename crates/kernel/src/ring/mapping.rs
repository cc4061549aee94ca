//! Memory that is shared with the kernel.

use std::io;
use std::ptr::{self, NonNull};

/// Pages of zeroes, taken from the kernel and given back when dropped. They start on a page boundary and never move,
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
