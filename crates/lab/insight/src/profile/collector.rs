//! What a profile collects while the server runs.

use prony_kernel::perf::{Record, Sample};

use crate::profile::module::Modules;
use crate::profile::place::{Place, Places};
use crate::profile::process::Processes;
use crate::profile::tally::{StackNumber, Tally};
use crate::profile::unwind::Unwinding;
use crate::profile::waits::Waits;

/// The profiles of a process tree as they grow.
#[derive(Default)]
pub(crate) struct Collector {
    pub(crate) modules: Modules,
    pub(crate) processes: Processes,
    pub(crate) places: Places,
    unwinding: Unwinding,
    pub(crate) on_cpu: Counted,
    pub(crate) off_cpu: Counted,
    waits: Waits,
    /// How many waits a sampled one stands for.
    pub(crate) period: u64,
    /// Not yet handled, because something that happened before may still be unread.
    held: Vec<Record>,
    /// The time of the last record of the previous reading.
    read_until_ns: u64,
    lost: u64,
}

/// A tally of samples.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) tally: Tally,
    pub(crate) samples: u64,
    /// Samples whose stack reaches the first function of its thread.
    pub(crate) whole: u64,
}

/// The index of the event on the CPU; the other one is off the CPU.
const ON_CPU: usize = 0;

/// With more samples, further ones count only as lost.
const MOST_SAMPLES: u64 = 200_000;
/// With more records held, the oldest are handled at once.
const MOST_HELD: usize = 1_000_000;

impl Collector {
    pub(crate) fn lose(&mut self, records: u64) {
        self.lost += records;
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn hold(&mut self, record: Record) {
        self.held.push(record);
        if self.held.len() >= MOST_HELD {
            self.handle_until(u64::MAX);
        }
    }

    /// All records that were there have been read. Handles those that nothing unread precedes: whatever is older than the
    /// newest record of the previous reading was already there in this one.
    pub(crate) fn all_read(&mut self) {
        let until = self.read_until_ns;
        let newest = self.held.iter().map(Record::time_ns).max();
        self.read_until_ns = newest.unwrap_or(until).max(until);
        self.handle_until(until);
    }

    /// Nothing more follows.
    pub(crate) fn end(&mut self, now_ns: u64) {
        self.handle_until(u64::MAX);
        self.waits.end(now_ns, self.period, &mut self.off_cpu.tally);
        self.off_cpu.samples = self.waits.finished;
    }

    fn handle_until(&mut self, time_ns: u64) {
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(Record::time_ns);
        let ready = held.partition_point(|record| record.time_ns() <= time_ns);
        self.held = held.split_off(ready);
        for record in held {
            self.handle(record);
        }
    }

    fn handle(&mut self, record: Record) {
        match record {
            Record::Sample(sample) => self.sample(&sample),
            Record::CameBack { tid, time_ns } => {
                let tally = &mut self.off_cpu.tally;
                self.waits.returned(tid, time_ns, self.period, tally);
            }
            Record::Mapped {
                pid,
                address,
                length,
                offset,
                path,
                ..
            } => {
                let range = address..address.saturating_add(length);
                self.processes
                    .mapped(pid, range, offset, &path, &mut self.modules);
            }
            Record::Executed { pid, .. } => self.processes.executed(pid),
            Record::Forked { pid, parent, .. } => {
                self.processes.forked(pid, parent, &mut self.modules);
            }
            Record::Lost(records) => self.lose(records),
            Record::Ended { pid, tid, .. } => {
                self.waits.ended(tid);
                if pid == tid {
                    self.processes.ended(pid);
                }
            }
        }
    }

    fn sample(&mut self, sample: &Sample) {
        let counted = match sample.event {
            ON_CPU => &mut self.on_cpu,
            _ => &mut self.off_cpu,
        };
        if counted.samples >= MOST_SAMPLES {
            self.lost += 1;
            return;
        }
        counted.samples += 1;
        let unwound = self
            .unwinding
            .unwind(sample, &mut self.processes, &mut self.modules);
        counted.whole += u64::from(unwound.whole);
        let stack = number(&mut self.places, &mut counted.tally, &unwound.places);
        match sample.event {
            ON_CPU => counted.tally.add(stack, 1.0),
            _ => self.waits.left(sample.tid, sample.time_ns, stack),
        }
    }
}

fn number(
    places: &mut Places,
    tally: &mut Tally,
    innermost_first: &[Place],
) -> Option<StackNumber> {
    let outermost_first = innermost_first.iter().rev();
    let numbers = outermost_first.map(|&place| places.number(place));
    let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
    tally.number(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF_CPU: usize = 1;

    fn sample(event: usize, tid: i32, time_ns: u64) -> Record {
        Record::Sample(Sample {
            event,
            tid,
            time_ns,
            kernel_chain: vec![0xffff_ffff_8000_0000],
            ..Sample::default()
        })
    }

    fn came_back(tid: i32, time_ns: u64) -> Record {
        Record::CameBack { tid, time_ns }
    }

    #[test]
    fn a_return_that_is_read_before_its_departure_still_counts() {
        let mut collector = Collector {
            period: 1,
            ..Collector::default()
        };
        // The ring of one CPU was read just before the thread left it, that of the other after it came back there.
        collector.hold(came_back(9, 1_000_000_000));
        collector.hold(came_back(7, 4_000_000_000));
        collector.all_read();
        collector.hold(sample(OFF_CPU, 7, 2_000_000_000));
        collector.hold(sample(OFF_CPU, 8, 5_000_000_000));
        collector.all_read();
        collector.end(6_000_000_000);
        assert_eq!(collector.off_cpu.samples, 2);
        let stacks = collector.off_cpu.tally.stacks();
        assert!(stacks.map(|(_, weight)| weight).eq([3.0]));
    }

    #[test]
    fn further_samples_are_lost_and_counted() {
        let mut collector = Collector::default();
        for time_ns in 0..MOST_SAMPLES + 5 {
            collector.hold(sample(ON_CPU, 7, time_ns));
        }
        collector.end(0);
        assert_eq!(collector.on_cpu.samples, MOST_SAMPLES);
        assert_eq!(collector.lost(), 5);
        // Threads of the kernel have nothing in user mode, so their stacks are whole.
        assert_eq!(collector.on_cpu.whole, MOST_SAMPLES);
    }
}
