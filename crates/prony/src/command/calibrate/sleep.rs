//! How late a thread wakes that waits for an instant.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use prony_model::LatencyHistogram;
use serde::Serialize;

use super::percentiles::Percentiles;
use super::pinned;

const SLEEP: Duration = Duration::from_millis(1);
/// So long before the instant a spinning thread wakes, as the engine's does with `--spin`.
const SPIN: Duration = Duration::from_micros(200);

/// How late a thread was that waited until an instant 1 ms away.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wakeups {
    /// How long each waited, in nanoseconds.
    pub asked_ns: u64,
    /// Sleeping until the instant.
    pub sleeping: Option<Percentiles>,
    /// Sleeping until 0.2 ms before it, then looking at the clock.
    pub spinning: Option<Percentiles>,
}

impl Wakeups {
    /// Measures each way for so long on a CPU.
    ///
    /// # Errors
    /// Where the thread cannot be started there.
    pub fn measure(cpus: &[usize], each: Duration) -> io::Result<Self> {
        let late = |wait: fn(Instant)| pinned::on(cpus, || Ok(delay(each, wait)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_too_early() {
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
}
