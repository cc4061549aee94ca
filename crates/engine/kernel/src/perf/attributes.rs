//! `struct perf_event_attr` and perf_event_open(2), the only place that knows their layout.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use nix::errno::Errno;

/// The kernel's `struct perf_event_attr` as of Linux 4.8; later kernels accept it too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) kind: u32,
    /// Filled in by [`open`].
    pub(crate) size: u32,
    pub(crate) config: u64,
    /// A frequency in hertz with [`FREQUENCY`].
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    /// In bytes with [`WATERMARK`], or else in events.
    pub(crate) wakeup: u32,
    pub(crate) breakpoint_type: u32,
    pub(crate) breakpoint_address: u64,
    pub(crate) breakpoint_length: u64,
    pub(crate) branch_sample_type: u64,
    pub(crate) user_registers: u64,
    pub(crate) user_stack_bytes: u32,
    pub(crate) clock: i32,
    pub(crate) interrupt_registers: u64,
    pub(crate) aux_watermark: u32,
    pub(crate) most_frames: u16,
    pub(crate) reserved: u16,
}

pub(crate) const HARDWARE: u32 = 0;
pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const TRACEPOINT: u32 = 2;

pub(crate) const FORMAT_TOTAL_TIME_ENABLED: u64 = 1 << 0;
pub(crate) const FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
pub(crate) const FORMAT_ID: u64 = 1 << 2;
pub(crate) const FORMAT_GROUP: u64 = 1 << 3;
/// Since Linux 6.0.
pub(crate) const FORMAT_LOST: u64 = 1 << 4;

const SAMPLE_THREAD: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
/// What every sample has; with `sample_id_all` every other record ends with it.
pub(crate) const SAMPLE_IDENTIFIER: u64 = 1 << 16;
/// What samples also have unless they are of a tracepoint, and records likewise.
pub(crate) const SAMPLE_THREAD_AND_TIME: u64 = SAMPLE_THREAD | SAMPLE_TIME;
pub(crate) const SAMPLE_CALL_CHAIN: u64 = 1 << 5;
pub(crate) const SAMPLE_RAW: u64 = 1 << 10;
pub(crate) const SAMPLE_REGISTERS: u64 = 1 << 12;
pub(crate) const SAMPLE_STACK: u64 = 1 << 13;

/// Counts nothing until it is enabled.
pub(crate) const DISABLED: u64 = 1;
/// Also counts the threads and processes that the thread starts.
pub(crate) const INHERIT: u64 = 1 << 1;
pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
pub(crate) const MMAP: u64 = 1 << 8;
pub(crate) const COMM: u64 = 1 << 9;
pub(crate) const FREQUENCY: u64 = 1 << 10;
pub(crate) const TASK: u64 = 1 << 13;
pub(crate) const WATERMARK: u64 = 1 << 14;
pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
pub(crate) const EXCLUDE_CALL_CHAIN_KERNEL: u64 = 1 << 21;
pub(crate) const MMAP2: u64 = 1 << 23;
pub(crate) const COMM_EXEC: u64 = 1 << 24;
pub(crate) const USE_CLOCK: u64 = 1 << 25;
pub(crate) const CONTEXT_SWITCH: u64 = 1 << 26;

const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// What an event counts: a thread, a CPU, or a thread while it runs on a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// A kernel id, or [`EVERY_THREAD`]; 0 is the calling thread.
    pub(crate) thread: i32,
    /// -1 is every CPU.
    pub(crate) cpu: i32,
}

pub(crate) const EVERY_THREAD: i32 = -1;

/// Opens an event, in the group of `leader` if there is one.
pub(crate) fn open(
    attributes: Attributes,
    target: Target,
    leader: Option<&File>,
) -> io::Result<File> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        ..attributes
    };
    let leader = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: the kernel reads the attributes, which contain their own size, and returns a descriptor or an error.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            target.thread,
            target.cpu,
            leader,
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = Errno::result(descriptor)? as RawFd;
    // SAFETY: the kernel has just opened this descriptor, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// What is done to an event that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control<'a> {
    Enable,
    EnableGroup,
    Disable,
    /// Its records go to the ring of this event.
    SetOutput(&'a File),
}

pub(crate) fn control(event: &File, control: Control<'_>) -> io::Result<()> {
    let (request, argument): (libc::c_ulong, libc::c_ulong) = match control {
        Control::Enable => (0x2400, 0),
        Control::EnableGroup => (0x2400, 1),
        Control::Disable => (0x2401, 0),
        Control::SetOutput(owner) => (0x2405, owner.as_raw_fd() as libc::c_ulong),
    };
    // SAFETY: these calls take two descriptors or a descriptor and a number, and touch no memory of ours.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    Errno::result(result)?;
    Ok(())
}

/// Numbers that the kernel wrote one after another.
pub(crate) fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.try_into().map_or(0, u64::from_ne_bytes);
    }
    words
}
