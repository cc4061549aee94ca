//! One event of perf_event_open(2): open, enable and read it.

use std::fs::File;
use std::io::{self, Read};

use crate::perf::attributes::{
    self, Attributes, Control, DISABLED, EXCLUDE_HYPERVISOR, EXCLUDE_KERNEL, FORMAT_GROUP,
    FORMAT_TOTAL_TIME_ENABLED, FORMAT_TOTAL_TIME_RUNNING, HARDWARE, INHERIT, Target, words,
};

#[derive(Clone, Copy, Debug)]
pub(super) struct CounterEvent {
    kind: u32,
    config: u64,
    /// What is left out.
    excludes: u64,
}

pub(super) const CPU_CYCLES: CounterEvent = CounterEvent::hardware(0);
pub(super) const INSTRUCTIONS: CounterEvent = CounterEvent::hardware(1);

impl CounterEvent {
    const fn hardware(config: u64) -> CounterEvent {
        CounterEvent {
            kind: HARDWARE,
            config,
            excludes: 0,
        }
    }

    /// The same in user mode alone.
    pub(super) const fn in_user_mode(self) -> CounterEvent {
        CounterEvent {
            excludes: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..self
        }
    }
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

/// Makes a leader and its group count.
pub(super) fn enable(leader: &File) -> io::Result<()> {
    attributes::control(leader, Control::EnableGroup)
}

pub(super) fn open_event(event: CounterEvent, scope: Scope<'_>) -> io::Result<File> {
    let times = FORMAT_TOTAL_TIME_ENABLED | FORMAT_TOTAL_TIME_RUNNING;
    let (thread, leader, read_format, flags) = match scope {
        Scope::ThisThread => (0, None, times | FORMAT_GROUP, DISABLED),
        // A member that joins a group that already counts may be left out until the next context switch.
        Scope::WithLeader(leader) => (0, Some(leader), times | FORMAT_GROUP, 0),
        Scope::Descendants(thread) => (thread, None, times, INHERIT),
    };
    let attributes = Attributes {
        kind: event.kind,
        config: event.config,
        read_format,
        flags: flags | event.excludes,
        ..Attributes::default()
    };
    attributes::open(attributes, Target { thread, cpu: -1 }, leader)
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

/// Tests count the kernel's own events instead of cycles: every machine has them.
#[cfg(test)]
pub(super) mod testing {
    use std::io;

    use super::CounterEvent;
    use crate::perf::attributes::SOFTWARE;
    use crate::perf::testing::{is_required, report_skipped};

    /// Nanoseconds that the thread ran.
    pub(in super::super) const TASK_CLOCK: CounterEvent = software(1);

    pub(in super::super) const fn software(config: u64) -> CounterEvent {
        CounterEvent {
            kind: SOFTWARE,
            config,
            excludes: 0,
        }
    }

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
        assert!(is_forbidden && !is_required(), "perf_event_open: {error}");
        report_skipped(&error.to_string());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counted_part_of_the_time_is_extrapolated() {
        let mut group = Group {
            time_enabled: 3_000_000_000_000,
            time_running: 1_000_000_000_000,
            values: [u64::MAX / 4, 7],
        };
        let large = (u128::from(u64::MAX / 4) * 3) as u64;
        assert_eq!(group.scaled(), Some([large, 21]));
        group.time_running = 0;
        assert_eq!(group.scaled(), None);
    }
}
