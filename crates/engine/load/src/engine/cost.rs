//! What the load costs the thread that runs it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};

use prony_kernel::{CounterValues, Counters};
use prony_model::Scheduling;

use super::clock::{Nanoseconds, seconds};

/// What a worker has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerCost {
    pub(super) cpu: ThreadCpu,
    pub(super) system_calls: u64,
    /// CPU time spent busy-waiting.
    pub(super) spun: Nanoseconds,
    /// Cycles and instructions, if they are counted.
    pub(super) counted: Option<CounterValues>,
    /// How its thread was scheduled, if the kernel reports it.
    pub(super) scheduling: Option<Scheduling>,
}

impl WorkerCost {
    /// What was used between `earlier` and this.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.since(&earlier.cpu),
            system_calls: self.system_calls - earlier.system_calls,
            spun: self.spun - earlier.spun,
            counted: self
                .counted
                .zip(earlier.counted)
                .map(|(now, then)| CounterValues {
                    cycles: now.cycles.saturating_sub(then.cycles),
                    instructions: now.instructions.saturating_sub(then.instructions),
                }),
            scheduling: self
                .scheduling
                .zip(earlier.scheduling)
                .map(|(now, then)| Scheduling {
                    run_queue_wait_s: now.run_queue_wait_s - then.run_queue_wait_s,
                    voluntary_switches: now.voluntary_switches - then.voluntary_switches,
                    involuntary_switches: now.involuntary_switches - then.involuntary_switches,
                }),
        }
    }
}

/// Reads what the thread that opened it has used.
#[derive(Debug)]
pub(super) struct CostMeter {
    /// The time spent busy-waiting.
    pub(super) spun: Nanoseconds,
    /// `None` if the machine has none.
    counters: Option<Counters>,
    /// `None` if the kernel does not report it.
    scheduling: Option<SchedulingMeter>,
    /// When the thread was last seen, and how long it had worked by then.
    seen: Nanoseconds,
    worked_s: f64,
}

impl CostMeter {
    pub(super) fn open() -> Self {
        Self {
            spun: 0,
            counters: Counters::open(),
            scheduling: SchedulingMeter::open(),
            seen: 0,
            worked_s: 0.0,
        }
    }

    pub(super) fn read(&self, system_calls: u64) -> WorkerCost {
        let usage = ThreadUsage::now();
        let scheduling = self.scheduling.as_ref();
        WorkerCost {
            cpu: usage.cpu,
            scheduling: scheduling.and_then(|meter| meter.read(&usage)),
            system_calls,
            spun: self.spun,
            counted: self.counters.as_ref().and_then(Counters::read),
        }
    }

    /// The share of the time since this was last called that the thread was on a CPU, busy-waiting excepted.
    pub(super) fn busy(&mut self, now: Nanoseconds) -> f64 {
        let worked_s = ThreadUsage::now().cpu.total_s() - seconds(self.spun);
        let time = now.saturating_sub(std::mem::replace(&mut self.seen, now));
        let worked = worked_s - std::mem::replace(&mut self.worked_s, worked_s);
        if time == 0 {
            return 0.0;
        }
        (worked / seconds(time)).clamp(0.0, 1.0)
    }
}

/// CPU time of the calling thread, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadCpu {
    /// By the clock of the thread.
    pub(super) total_s: f64,
    /// As the kernel accounts for it, which may be by ticks: only their ratio counts.
    pub(super) user_s: f64,
    pub(super) system_s: f64,
}

impl ThreadCpu {
    fn since(&self, earlier: &ThreadCpu) -> Self {
        Self {
            total_s: self.total_s - earlier.total_s,
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
        }
    }

    pub(super) fn total_s(&self) -> f64 {
        self.total_s
    }

    /// The part of it in the kernel.
    pub(super) fn system_s(&self) -> f64 {
        let accounted_s = self.user_s + self.system_s;
        if accounted_s > 0.0 {
            self.total_s * (self.system_s / accounted_s).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// getrusage(2) of the calling thread.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadUsage {
    cpu: ThreadCpu,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

impl ThreadUsage {
    fn now() -> Self {
        let count = |switches: i64| u64::try_from(switches).unwrap_or(0);
        // The kernel refuses this call only for an unknown `who`.
        getrusage(UsageWho::RUSAGE_THREAD).map_or_else(
            |_| Self::default(),
            |usage| Self {
                cpu: ThreadCpu {
                    total_s: thread_clock_s(),
                    user_s: to_seconds(usage.user_time()),
                    system_s: to_seconds(usage.system_time()),
                },
                voluntary_switches: count(usage.voluntary_context_switches()),
                involuntary_switches: count(usage.involuntary_context_switches()),
            },
        )
    }
}

/// The CPU time of the calling thread; 0 if the kernel does not say.
fn thread_clock_s() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |time| Duration::from(time).as_secs_f64())
}

/// Reads how the kernel schedules the thread that opened it.
#[derive(Debug)]
struct SchedulingMeter {
    /// Nanoseconds on a CPU, nanoseconds waiting for one, and how often it got one.
    schedstat: File,
}

impl SchedulingMeter {
    /// `None` if the kernel keeps no such figures.
    fn open() -> Option<Self> {
        let schedstat = File::open("/proc/thread-self/schedstat").ok()?;
        Some(Self { schedstat })
    }

    /// From the thread's start up to `usage`, which was read just before.
    fn read(&self, usage: &ThreadUsage) -> Option<Scheduling> {
        let mut text = [0; 128];
        let length = self.schedstat.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        let waited_ns: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(Scheduling {
            run_queue_wait_s: waited_ns as f64 / 1e9,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        })
    }
}

fn to_seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_clock_is_divided_as_the_kernel_accounts_for_the_time() {
        for (total_s, user_s, system_s, expected) in [
            (0.1, 0.03, 0.01, 0.025),
            // Nothing accounted for yet.
            (0.004, 0.0, 0.0, 0.0),
            (0.004, 0.0, 0.01, 0.004),
        ] {
            let cpu = ThreadCpu {
                total_s,
                user_s,
                system_s,
            };
            assert!((cpu.system_s() - expected).abs() < 1e-12, "{cpu:?}");
        }
        let before = ThreadUsage::now().cpu;
        while ThreadUsage::now().cpu.since(&before).total_s() == 0.0 {}
    }

    #[test]
    fn a_sleeping_thread_switches_voluntarily() {
        let Some(meter) = SchedulingMeter::open() else {
            assert!(!std::path::Path::new("/proc/self/schedstat").exists());
            return;
        };
        let cost = || WorkerCost {
            scheduling: meter.read(&ThreadUsage::now()),
            ..WorkerCost::default()
        };
        let before = cost();
        (0..5).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
        // A kernel without schedstat has no file; one without figures has only zeros.
        let scheduling = cost().since(&before).scheduling.unwrap();
        assert!(scheduling.voluntary_switches >= 5, "{scheduling:?}");
        assert!(scheduling.run_queue_wait_s >= 0.0, "{scheduling:?}");
    }
}
