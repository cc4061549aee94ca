//! What a thread, and what a tree of processes costs, by the processor's own count.

mod event;
mod tree;

use std::fs::File;

use event::{CPU_CYCLES, CounterEvent, INSTRUCTIONS, Whom, begin, open_event, read_group};
pub use tree::TreeCounters;

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
        let cycles = open_event(CounterEvent::Hardware(CPU_CYCLES), Whom::ThisThread).ok()?;
        let instructions = open_event(
            CounterEvent::Hardware(INSTRUCTIONS),
            Whom::WithLeader(&cycles),
        )
        .ok()?;
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

#[cfg(test)]
mod tests {
    use super::event::testing::{TASK_CLOCK, say_skipped, unless_forbidden};
    use super::*;

    const CPU_CLOCK: u64 = 0;

    fn busy() -> u64 {
        (0..1_000_000_u64).fold(1, |sum, value| std::hint::black_box(sum ^ value))
    }

    #[test]
    fn counters_grow_where_there_are_any() {
        let Some(counters) = Counters::open() else {
            return say_skipped("the processor's counters are unavailable");
        };
        busy();
        let Some(first) = counters.read() else {
            return say_skipped("the processor's counters are all in use");
        };
        busy();
        let second = counters.read().unwrap();
        assert!(first.cycles > 0);
        assert!(second.instructions >= first.instructions + 1_000_000);
    }

    /// The processor's counters are read in the same way as the kernel's, which every machine has.
    #[test]
    fn a_group_of_two_is_read() {
        let opened = open_event(CounterEvent::Software(TASK_CLOCK), Whom::ThisThread);
        let Some(leader) = unless_forbidden(opened) else {
            return;
        };
        let _member =
            open_event(CounterEvent::Software(CPU_CLOCK), Whom::WithLeader(&leader)).unwrap();
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
}
