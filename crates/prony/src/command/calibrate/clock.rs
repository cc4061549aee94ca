//! The clock: what reading it costs, and the least step that it shows.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use serde::Serialize;

use super::pinned;

/// Batches, of which the fastest counts: what else the machine does only makes them slower.
const BATCHES: usize = 40;
const READS_A_BATCH: u32 = 10_000;

/// The clock that all latencies are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clock {
    /// What reading it takes, in nanoseconds.
    pub read_ns: f64,
    /// The least difference between two readings that differ, in nanoseconds.
    pub step_ns: u64,
}

impl Clock {
    /// Measures it on a CPU.
    ///
    /// # Errors
    /// Where the thread cannot be started there.
    pub fn measure(cpus: &[usize]) -> io::Result<Self> {
        pinned::on(cpus, || {
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
    for _ in 0..READS_A_BATCH {
        black_box(Instant::now());
    }
    begin.elapsed().as_nanos() as f64 / f64::from(READS_A_BATCH)
}

fn step_ns() -> u64 {
    let steps = (0..READS_A_BATCH).map(|_| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_takes_time_and_moves() {
        let clock = Clock::measure(&[]).unwrap();
        assert!(clock.read_ns > 0.0 && clock.step_ns > 0, "{clock:?}");
    }
}
