//! The two queues of io_uring, and the system call that serves both.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, squeue};
use nix::errno::Errno;

/// The submissions and completions of one thread.
pub(super) struct Queue {
    ring: IoUring,
    /// The ring's index among the descriptors registered for this thread: the kernel finds it faster than a file.
    registered: Option<u32>,
    wait_flags: EnterFlags,
    /// How many completions were there when the last wait ended and are not taken yet.
    ready: usize,
    system_calls: u64,
    /// Why nothing can be submitted any more.
    failure: Option<Errno>,
}

/// How often to retry a submission that the kernel momentarily has no memory for.
const ATTEMPTS: u32 = 1000;

impl Queue {
    /// Has room for this many submissions and, without overflow, this many completions.
    pub(super) fn new(submissions: u32, completions: u32) -> io::Result<Self> {
        let ring = Self::set_up(submissions, completions, true).or_else(|error| {
            // Linux before 6.6 does not know the last of the flags.
            match error.raw_os_error() {
                Some(libc::EINVAL) => Self::set_up(submissions, completions, false),
                _ => Err(error),
            }
        })?;
        let parameters = ring.params();
        // Without the first, completions could be lost; without the second, an address would have to outlive its
        // submission; without the third a wait has no timeout. All are older than the flags above.
        if !(parameters.is_feature_nodrop()
            && parameters.is_feature_submit_stable()
            && parameters.is_feature_ext_arg())
        {
            return Err(Errno::ENOSYS.into());
        }
        let mut wait_flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        if parameters.is_feature_no_iowait() {
            // An idle load generator must not count as waiting for I/O.
            wait_flags |= EnterFlags::NO_IOWAIT;
        }
        let mut queue = Self {
            ring,
            registered: None,
            wait_flags,
            ready: 0,
            system_calls: 0,
            failure: None,
        };
        // If the thread has too many rings already, the plain descriptor works as well.
        queue.registered = queue.register_descriptor().ok();
        Ok(queue)
    }

    fn set_up(submissions: u32, completions: u32, without_array: bool) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        builder
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(completions);
        if without_array {
            builder.setup_no_sqarray();
        }
        builder.build(submissions)
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    pub(super) fn system_calls(&self) -> u64 {
        self.system_calls
    }

    pub(super) fn has_ready(&self) -> bool {
        self.ready > 0
    }

    /// Whether the kernel has taken everything that was pushed.
    pub(super) fn is_submitted(&mut self) -> bool {
        self.ring.submission().is_empty()
    }

    /// Queues a submission. If the queue is full, submits its contents first. If the kernel does not take them, the
    /// submission is lost, and every later wait fails.
    ///
    /// # Safety
    ///
    /// Whatever the entry points to must live until the operation has completed.
    #[inline]
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the caller promises the same.
        if unsafe { self.ring.submission().push(entry) }.is_err() {
            self.make_room();
            // SAFETY: as above.
            if unsafe { self.ring.submission().push(entry) }.is_err() {
                self.give_up(Errno::EBUSY);
            }
        }
    }

    /// Makes everything fail from now on.
    #[cold]
    pub(super) fn give_up(&mut self, errno: Errno) {
        self.failure.get_or_insert(errno);
    }

    #[cold]
    fn make_room(&mut self) {
        for _ in 0..ATTEMPTS {
            let _ = self.submit();
            if !self.ring.submission().is_full() {
                return;
            }
        }
    }

    /// Submits what is queued, without looking for completions.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        self.check()?;
        self.enter(0, EnterFlags::empty(), None)
    }

    /// Submits what is queued and waits until there is a completion, at most `longest`.
    #[inline]
    pub(super) fn wait(&mut self, longest: Duration) -> io::Result<()> {
        self.check()?;
        let wanted = u32::from(!longest.is_zero());
        let longest = Timespec::from(longest.min(LONGEST_WAIT));
        let arguments = SubmitArgs::new().timespec(&longest);
        let entered = self.enter(wanted, self.wait_flags, Some(&arguments));
        self.ready = self.ring.completion().len();
        entered
    }

    fn check(&self) -> io::Result<()> {
        self.failure.map_or(Ok(()), |errno| Err(errno.into()))
    }

    #[inline]
    fn enter(
        &mut self,
        wanted: u32,
        flags: EnterFlags,
        arguments: Option<&SubmitArgs<'_, '_>>,
    ) -> io::Result<()> {
        let queued = self.ring.submission().len();
        let (descriptor, flags) = match self.registered {
            Some(place) => (place as i32, flags | EnterFlags::REGISTERED_RING),
            None => (self.ring.as_raw_fd(), flags),
        };
        self.system_calls += 1;
        // SAFETY: the descriptor is that of our own ring. The argument has the size given, and it and the timespec it
        // points to live until the call returns.
        let entered = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                descriptor,
                queued as u32,
                wanted,
                flags.bits(),
                arguments.map_or(std::ptr::null(), std::ptr::from_ref),
                arguments.map_or(0, |_| size_of::<SubmitArgs<'_, '_>>()),
            )
        };
        if entered >= 0 {
            return Ok(());
        }
        match Errno::last() {
            // Interrupted; timed out; short of memory; or completions must be taken first. What the kernel did not take
            // is still queued.
            Errno::EINTR | Errno::ETIME | Errno::EAGAIN | Errno::EBUSY => Ok(()),
            errno => Err(errno.into()),
        }
    }

    /// The next of the completions that were there when the last wait ended.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<cqueue::Entry> {
        self.ready = self.ready.checked_sub(1)?;
        self.ring.completion().next()
    }

    /// Cancels everything under way; the operations still complete.
    pub(super) fn cancel_all(&mut self) {
        self.system_calls += 1;
        // An error only means that nothing was under way.
        let _ = self
            .submitter()
            .register_sync_cancel(Some(CANCEL_PATIENCE), CancelBuilder::any());
    }

    fn register_descriptor(&mut self) -> io::Result<u32> {
        let mut place = DescriptorPlace {
            offset: u32::MAX,
            reserved: 0,
            data: self.ring.as_raw_fd() as u64,
        };
        self.register(REGISTER_RING_FDS, &mut place)?;
        Ok(place.offset)
    }

    fn register(&mut self, what: u32, place: &mut DescriptorPlace) -> io::Result<()> {
        self.system_calls += 1;
        // SAFETY: both requests take an array of this structure, and this is an array of one.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.ring.as_raw_fd(),
                what,
                std::ptr::from_mut(place),
                1,
            )
        };
        Errno::result(result)?;
        Ok(())
    }
}

impl Drop for Queue {
    /// A registered descriptor would keep the ring alive.
    fn drop(&mut self) {
        if let Some(offset) = self.registered.take() {
            let mut place = DescriptorPlace {
                offset,
                reserved: 0,
                data: 0,
            };
            let _ = self.register(UNREGISTER_RING_FDS, &mut place);
        }
    }
}

/// The kernel's `struct io_uring_rsrc_update`.
#[repr(C)]
struct DescriptorPlace {
    offset: u32,
    reserved: u32,
    data: u64,
}

const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// How long a cancel waits for operations that cannot be cancelled at once.
const CANCEL_PATIENCE: Timespec = Timespec::new().nsec(100_000_000);

/// Longer than any caller waits, and well below the kernel clock's limit.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
