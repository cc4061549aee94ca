//! One event of perf_event_open(2): open, enable and read it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use nix::errno::Errno;

#[derive(Clone, Copy, Debug)]
pub(super) enum CounterEvent {
    Hardware(u64),
    /// Only what happens in user mode.
    HardwareInUserMode(u64),
    /// Counted by the kernel itself, so available on every machine.
    #[cfg(test)]
    Software(u64),
}

/// Which threads an event counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    /// The calling thread, as the leader of a group. It counts from [`enable`] on.
    ThisThread,
    /// The calling thread, in its leader's group.
    WithLeader(&'a File),
    /// A thread of any process, and every thread and process that it starts later. Counts at once and belongs to no
    /// group: the kernel cannot read inherited events as a group.
    Descendants(i32),
}

pub(super) const CPU_CYCLES: u64 = 0;
pub(super) const INSTRUCTIONS: u64 = 1;

/// The first published version of the kernel's `struct perf_event_attr`; later kernels accept it too.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const FORMAT_TOTAL_TIME_ENABLED: u64 = 1 << 0;
const FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const FORMAT_GROUP: u64 = 1 << 3;
const CLOSE_ON_EXEC: u64 = 1 << 3;

/// The group counts nothing until [`enable`].
const DISABLED: u64 = 1;
/// Also count the threads and processes that the thread starts.
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE: libc::c_ulong = 0x2400;
const WHOLE_GROUP: libc::c_ulong = 1;

/// Makes a leader and its group count.
pub(super) fn enable(leader: &File) -> io::Result<()> {
    // SAFETY: the call takes a descriptor and two numbers, and touches no memory of ours.
    let result = unsafe { libc::ioctl(leader.as_raw_fd(), ENABLE as _, WHOLE_GROUP) };
    Errno::result(result)?;
    Ok(())
}

pub(super) fn open_event(event: CounterEvent, scope: Scope<'_>) -> io::Result<File> {
    let (kind, config) = match event {
        CounterEvent::Hardware(config) | CounterEvent::HardwareInUserMode(config) => (0, config),
        #[cfg(test)]
        CounterEvent::Software(config) => (1, config),
    };
    let times = FORMAT_TOTAL_TIME_ENABLED | FORMAT_TOTAL_TIME_RUNNING;
    let (thread, leader, read_format, flags) = match scope {
        Scope::ThisThread => (0, -1, times | FORMAT_GROUP, DISABLED),
        // A member that joins a group that already counts may be left out until the next context switch.
        Scope::WithLeader(leader) => (0, leader.as_raw_fd(), times | FORMAT_GROUP, 0),
        Scope::Descendants(thread) => (thread, -1, times, INHERIT),
    };
    let flags = match event {
        CounterEvent::HardwareInUserMode(_) => flags | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        _ => flags,
    };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format,
        flags,
        wakeup_events: 0,
        breakpoint_type: 0,
        breakpoint_address: 0,
    };
    let any_cpu = -1;
    // SAFETY: the kernel reads the attributes, which contain their own size, and returns a descriptor or an error.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread,
            any_cpu,
            leader,
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = Errno::result(descriptor)? as RawFd;
    // SAFETY: the kernel has just opened this descriptor, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Two events that count together, in the kernel's read format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) time_enabled: u64,
    pub(super) time_running: u64,
    pub(super) values: [u64; 2],
}

pub(super) fn read_group(mut leader: &File) -> io::Result<Group> {
    let mut bytes = [0; 5 * 8];
    leader.read_exact(&mut bytes)?;
    let [count, time_enabled, time_running, first, second] = words(&bytes);
    if count != 2 {
        return Err(io::Error::other(
            "the event group does not have two members",
        ));
    }
    Ok(Group {
        time_enabled,
        time_running,
        values: [first, second],
    })
}

impl Group {
    pub(super) fn scaled(&self) -> Option<[u64; 2]> {
        let [first, second] = self
            .values
            .map(|value| scaled(value, self.time_enabled, self.time_running));
        Some([first?, second?])
    }
}

/// What an event of [`Scope::Descendants`] has counted so far; `None` if it never had a counter.
pub(super) fn read_single(mut event: &File) -> io::Result<Option<u64>> {
    let mut bytes = [0; 3 * 8];
    event.read_exact(&mut bytes)?;
    let [value, time_enabled, time_running] = words(&bytes);
    // The thread has not run yet.
    if time_enabled == 0 {
        return Ok(Some(0));
    }
    Ok(scaled(value, time_enabled, time_running))
}

/// Extrapolates a value to the whole time: a processor has few counters, and if several events share one, each is
/// counted only part of the time.
fn scaled(value: u64, time_enabled: u64, time_running: u64) -> Option<u64> {
    let whole = u128::from(value) * u128::from(time_enabled);
    Some(whole.checked_div(u128::from(time_running))? as u64)
}

fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.try_into().map_or(0, u64::from_ne_bytes);
    }
    words
}

/// Tests count the kernel's own events instead of cycles: every machine has them.
#[cfg(test)]
pub(super) mod testing {
    use std::io::{self, Write};

    /// Nanoseconds that the thread ran.
    pub(in super::super) const TASK_CLOCK: u64 = 1;

    /// The opened counter; `None`, with a message, if the system forbids counting, as many containers do. With
    /// `PRONY_REQUIRE_PERF_EVENTS` set that fails the test instead of skipping it.
    pub(in super::super) fn unless_forbidden<T>(opened: io::Result<T>) -> Option<T> {
        let error = match opened {
            Ok(opened) => return Some(opened),
            Err(error) => error,
        };
        let is_forbidden = matches!(
            error.raw_os_error(),
            Some(libc::EACCES | libc::EPERM | libc::ENOSYS)
        );
        let is_required = std::env::var_os("PRONY_REQUIRE_PERF_EVENTS").is_some();
        assert!(is_forbidden && !is_required, "perf_event_open: {error}");
        report_skipped(&error.to_string());
        None
    }

    /// Writes to standard error directly: the test harness captures `eprintln!`.
    pub(in super::super) fn report_skipped(why: &str) {
        let test = std::thread::current();
        let name = test.name().unwrap_or_default();
        let _ = writeln!(io::stderr(), "skipped {name}: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counted_part_of_the_time_is_extrapolated() {
        let group = Group {
            time_enabled: 3_000_000_000_000,
            time_running: 1_000_000_000_000,
            values: [u64::MAX / 4, 7],
        };
        assert_eq!(
            group.scaled(),
            Some([(u128::from(u64::MAX / 4) * 3) as u64, 21])
        );
        assert_eq!(
            Group {
                time_running: 0,
                ..group
            }
            .scaled(),
            None
        );
    }
}
