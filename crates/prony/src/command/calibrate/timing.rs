//! The clock and the timers: what reading the clock costs, and how late a waiting thread wakes.

use std::hint::black_box;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_timerslack;
use prony_kernel::pin_current_thread;
use prony_model::{LatencyHistogram, LatencySummary};
use prony_stats::supports_percentile;
use serde::Serialize;

/// The fastest batch counts, because other programs only make a batch slower.
const BATCHES: usize = 40;
const READS_PER_BATCH: u32 = 10_000;

/// The clock that all latencies are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Clock {
    /// How long reading it takes, in nanoseconds.
    pub(crate) read_ns: f64,
    /// Its resolution: the least difference between two different readings, in nanoseconds.
    pub(crate) step_ns: u64,
}

impl Clock {
    /// Measures it on a CPU.
    pub(crate) fn measure(cpus: &[usize]) -> io::Result<Self> {
        on_cpus(cpus, || {
            let batches = (0..BATCHES).map(|_| read_ns());
            Ok(Self {
                read_ns: batches.fold(f64::INFINITY, f64::min),
                step_ns: step_ns(),
            })
        })
    }
}

fn read_ns() -> f64 {
    let begin = Instant::now();
    for _ in 0..READS_PER_BATCH {
        black_box(Instant::now());
    }
    begin.elapsed().as_nanos() as f64 / f64::from(READS_PER_BATCH)
}

fn step_ns() -> u64 {
    let steps = (0..READS_PER_BATCH).map(|_| {
        let begin = Instant::now();
        loop {
            let passed = begin.elapsed().as_nanos();
            if passed > 0 {
                return u64::try_from(passed).unwrap_or(u64::MAX);
            }
        }
    });
    steps.min().unwrap_or(0)
}

const SLEEP: Duration = Duration::from_millis(1);
/// How long before the instant a spinning thread wakes, as the engine's threads do with `--spin`.
const SPIN: Duration = Duration::from_micros(200);

/// How late a thread wakes that waits until an instant 1 ms away.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Wakeups {
    /// How long each wait was, in nanoseconds.
    pub(crate) asked_ns: u64,
    /// Sleeping until the instant.
    pub(crate) sleeping: Option<Percentiles>,
    /// Sleeping until 0.2 ms before it, then looking at the clock.
    pub(crate) spinning: Option<Percentiles>,
}

impl Wakeups {
    /// Measures each way of waiting, for the duration `each`, on a CPU.
    pub(crate) fn measure(cpus: &[usize], each: Duration) -> io::Result<Self> {
        let late = |wait: fn(Instant)| on_cpus(cpus, || Ok(delay(each, wait)));
        Ok(Self {
            asked_ns: SLEEP.as_nanos() as u64,
            sleeping: Percentiles::of(&late(sleep_until)?),
            spinning: Percentiles::of(&late(spin_until)?),
        })
    }
}

fn delay(each: Duration, wait: fn(Instant)) -> LatencyHistogram {
    let mut delay = LatencyHistogram::new();
    let begin = Instant::now();
    while begin.elapsed() < each {
        let due = Instant::now() + SLEEP;
        wait(due);
        let late = due.elapsed().as_nanos();
        delay.record(u64::try_from(late).unwrap_or(u64::MAX));
    }
    delay
}

fn sleep_until(due: Instant) {
    thread::sleep(due.saturating_duration_since(Instant::now()));
}

fn spin_until(due: Instant) {
    sleep_until(due - SPIN);
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}

/// Percentiles of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Percentiles {
    /// How many durations there were.
    pub(crate) count: u64,
    pub(crate) p50: u64,
    /// `None` if there were too few durations for it.
    pub(crate) p99: Option<u64>,
    pub(crate) max: u64,
}

impl Percentiles {
    /// `None` if there was no duration.
    pub(crate) fn of(durations: &LatencyHistogram) -> Option<Self> {
        Self::from_summary(durations.count(), &durations.summary()?)
    }

    /// Of a summary of `count` durations.
    pub(crate) fn from_summary(count: u64, summary: &LatencySummary) -> Option<Self> {
        (count > 0).then(|| Self {
            count,
            p50: summary.p50,
            p99: supports_percentile(count, 0.01).then_some(summary.p99),
            max: summary.max,
        })
    }
}

/// Runs `work` on a thread that is pinned to `cpus`, and waits for it.
pub(super) fn on_cpus<T: Send>(
    cpus: &[usize],
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, || {
            pin(cpus)?;
            work()
        })?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a measuring thread panicked")))
    })
}

/// Pins the calling thread, and makes its waits as exact as those of the engine.
pub(super) fn pin(cpus: &[usize]) -> io::Result<()> {
    pin_current_thread(cpus)?;
    Ok(set_timerslack(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_takes_time_and_moves() {
        let clock = Clock::measure(&[]).unwrap();
        assert!(clock.read_ns > 0.0 && clock.step_ns > 0, "{clock:?}");
    }

    #[test]
    fn no_thread_wakes_too_early() {
        for wait in [sleep_until, spin_until] {
            let due = Instant::now() + SLEEP;
            wait(due);
            assert!(Instant::now() >= due);
        }
    }

    #[test]
    fn each_wait_is_counted() {
        let wakeups = Wakeups::measure(&[], Duration::from_millis(20)).unwrap();
        for late in [wakeups.sleeping, wakeups.spinning] {
            assert!((1..=20).contains(&late.unwrap().count));
        }
    }

    #[test]
    fn a_percentile_needs_durations_beyond_it() {
        let mut durations = LatencyHistogram::new();
        assert_eq!(Percentiles::of(&durations), None);
        (1..=999).for_each(|ns| durations.record(ns));
        let few = Percentiles::of(&durations).unwrap();
        assert_eq!((few.count, few.p50), (999, 500));
        assert_eq!((few.p99, few.max), (None, 999));
        durations.record(1000);
        assert_eq!(Percentiles::of(&durations).unwrap().p99, Some(990));
    }
}
