//! CPU cycles and instructions of a thread or of a process tree, from the processor's counters.

mod event;
mod tree;

use std::fs::File;

use event::{CPU_CYCLES, INSTRUCTIONS, Scope, enable, open_event, read_group};
pub use tree::TreeCounters;

/// Counts the cycles and instructions of the thread that opened it, in user mode and in the kernel.
#[derive(Debug)]
pub struct Counters {
    /// The group's leader: reading it reads both events.
    cycles: File,
    /// Counts only while it is open.
    _instructions: File,
}

/// What was counted since the counters were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Processor cycles while the thread ran.
    pub cycles: u64,
    pub instructions: u64,
}

impl Counters {
    /// Starts counting for the calling thread. `None` if the machine has no such counters (as in many virtual
    /// machines), or if the kernel does not let this process read them (`/proc/sys/kernel/perf_event_paranoid` above 1,
    /// or a container that forbids the call).
    pub fn open() -> Option<Counters> {
        let cycles = open_event(CPU_CYCLES, Scope::ThisThread).ok()?;
        let instructions = open_event(INSTRUCTIONS, Scope::WithLeader(&cycles)).ok()?;
        enable(&cycles).ok()?;
        Some(Counters {
            cycles,
            _instructions: instructions,
        })
    }

    /// The counts so far; `None` if the processor never had a counter free.
    pub fn read(&self) -> Option<CounterValues> {
        let [cycles, instructions] = read_group(&self.cycles).ok()?.scaled()?;
        Some(CounterValues {
            cycles,
            instructions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::event::testing::{TASK_CLOCK, software, unless_forbidden};
    use super::*;
    use crate::perf::testing::report_skipped;

    fn busy() -> u64 {
        (0..1_000_000_u64).fold(1, |sum, value| std::hint::black_box(sum ^ value))
    }

    #[test]
    fn available_counters_grow() {
        let Some(counters) = Counters::open() else {
            return report_skipped("the processor's counters are unavailable");
        };
        busy();
        let Some(first) = counters.read() else {
            return report_skipped("the processor's counters are all in use");
        };
        busy();
        let second = counters.read().unwrap();
        assert!(first.cycles > 0);
        assert!(second.instructions >= first.instructions + 1_000_000);
    }

    /// Counts the kernel's own events, which every machine has, instead of the processor's.
    #[test]
    fn a_group_of_two_is_read() {
        let opened = open_event(TASK_CLOCK, Scope::ThisThread);
        let Some(leader) = unless_forbidden(opened) else {
            return;
        };
        let cpu_clock = software(0);
        let _member = open_event(cpu_clock, Scope::WithLeader(&leader)).unwrap();
        enable(&leader).unwrap();
        busy();
        let first = read_group(&leader).unwrap();
        busy();
        let second = read_group(&leader).unwrap();
        assert!(first.values[0] > 0, "{first:?}");
        let grows = |at: usize| second.values[at] > first.values[at];
        assert!(grows(0) && grows(1), "{second:?}");
        assert_eq!(second.time_enabled, second.time_running, "{second:?}");
        assert_eq!(second.scaled(), Some(second.values));
    }
}
