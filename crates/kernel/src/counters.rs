//! What a thread costs, by the processor's own count.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use nix::errno::Errno;

/// Counts the cycles and instructions of the thread that opened it, in user mode and in the kernel, from then on.
#[derive(Debug)]
pub struct Counters {
    /// Reading it reads both.
    cycles: File,
    /// Counts as long as it is open.
    _instructions: File,
}

/// What was counted since the counters were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Processor cycles, while the thread ran.
    pub cycles: u64,
    /// Instructions that were carried out to the end.
    pub instructions: u64,
}

impl Counters {
    /// Begins to count for the calling thread. `None` where the machine has no such counters, as many virtual machines
    /// have none, or where the kernel does not let this process see its own part of them
    /// (`/proc/sys/kernel/perf_event_paranoid` above 1, or a container that forbids the call).
    pub fn open() -> Option<Counters> {
        let cycles = open_event(Event::Hardware(CPU_CYCLES), None).ok()?;
        let instructions = open_event(Event::Hardware(INSTRUCTIONS), Some(&cycles)).ok()?;
        begin(&cycles).ok()?;
        Some(Counters {
            cycles,
            _instructions: instructions,
        })
    }

    /// What was counted up to now; `None` where the processor's counters were never free for it.
    pub fn read(&self) -> Option<CounterValues> {
        let [cycles, instructions] = read_group(&self.cycles).ok()?.scaled()?;
        Some(CounterValues {
            cycles,
            instructions,
        })
    }
}

/// What is to be counted.
#[derive(Clone, Copy)]
enum Event {
    Hardware(u64),
    /// Counted by the kernel itself, on every machine.
    #[cfg(test)]
    Software(u64),
}

const CPU_CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;

/// The kernel's `struct perf_event_attr`, as it was first published: later kernels take it too.
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

/// The group counts nothing until [`begin`].
const DISABLED: u64 = 1;
const ENABLE: libc::c_ulong = 0x2400;
const WHOLE_GROUP: libc::c_ulong = 1;

/// Lets a leader and its group count.
fn begin(leader: &File) -> io::Result<()> {
    // SAFETY: the call takes a descriptor and two numbers, and touches no memory of ours.
    let result = unsafe { libc::ioctl(leader.as_raw_fd(), ENABLE as _, WHOLE_GROUP) };
    Errno::result(result)?;
    Ok(())
}

fn open_event(event: Event, leader: Option<&File>) -> io::Result<File> {
    let (kind, config) = match event {
        Event::Hardware(config) => (0, config),
        #[cfg(test)]
        Event::Software(config) => (1, config),
    };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format: FORMAT_TOTAL_TIME_ENABLED | FORMAT_TOTAL_TIME_RUNNING | FORMAT_GROUP,
        // A member that joins a group which counts already may be left out until the thread is switched.
        flags: if leader.is_none() { DISABLED } else { 0 },
        wakeup_events: 0,
        breakpoint_type: 0,
        breakpoint_address: 0,
    };
    let (this_thread, any_cpu) = (0, -1);
    // SAFETY: the kernel reads the attributes, whose size stands in them, and returns a descriptor or an error.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_cpu,
            leader.map_or(-1, AsRawFd::as_raw_fd),
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = Errno::result(descriptor)? as RawFd;
    // SAFETY: the kernel has just opened it, for us alone.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Two events that count together, as the kernel tells them.
#[derive(Clone, Copy, Debug)]
struct Group {
    time_enabled: u64,
    time_running: u64,
    values: [u64; 2],
}

fn read_group(mut leader: &File) -> io::Result<Group> {
    let mut bytes = [0; 5 * 8];
    leader.read_exact(&mut bytes)?;
    let mut words = bytes
        .chunks_exact(8)
        .map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
    let mut word = || words.next().unwrap_or(0);
    let (count, time_enabled, time_running) = (word(), word(), word());
    if count != 2 {
        return Err(io::Error::other("a group of another size"));
    }
    Ok(Group {
        time_enabled,
        time_running,
        values: [word(), word()],
    })
}

impl Group {
    /// The values as they would be had the events been counted all the time: a processor has few counters, and where
    /// others want them too, each has them for a part of the time.
    fn scaled(&self) -> Option<[u64; 2]> {
        if self.time_running == 0 {
            return None;
        }
        let (enabled, running) = (u128::from(self.time_enabled), u128::from(self.time_running));
        Some(
            self.values
                .map(|value| (u128::from(value) * enabled / running) as u64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK_CLOCK: u64 = 1;
    const CPU_CLOCK: u64 = 0;

    fn busy() -> u64 {
        (0..1_000_000_u64).fold(1, |sum, value| std::hint::black_box(sum ^ value))
    }

    #[test]
    fn counters_grow_where_there_are_any() {
        let Some(counters) = Counters::open() else {
            return;
        };
        busy();
        let Some(first) = counters.read() else {
            return;
        };
        busy();
        let second = counters.read().unwrap();
        assert!(first.cycles > 0);
        assert!(second.instructions >= first.instructions + 1_000_000);
    }

    /// The processor's counters are read in the same way as the kernel's, which every machine has.
    #[test]
    fn a_group_of_two_is_read() {
        let leader = match open_event(Event::Software(TASK_CLOCK), None) {
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::EACCES | libc::EPERM | libc::ENOSYS)
                ) =>
            {
                return;
            }
            other => other.unwrap(),
        };
        let _member = open_event(Event::Software(CPU_CLOCK), Some(&leader)).unwrap();
        begin(&leader).unwrap();
        busy();
        let first = read_group(&leader).unwrap();
        busy();
        let second = read_group(&leader).unwrap();
        assert!(first.values[0] > 0, "{first:?}");
        assert!(second.values[0] > first.values[0], "{second:?}");
        assert!(second.values[1] > first.values[1], "{second:?}");
        assert_eq!(second.time_enabled, second.time_running, "{second:?}");
        assert_eq!(second.scaled(), Some(second.values));
    }

    #[test]
    fn a_count_that_had_the_counter_for_a_part_of_the_time_is_scaled() {
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
