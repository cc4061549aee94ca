//! How long threads are off the CPU.

use std::collections::HashMap;

use crate::profile::tally::{StackNumber, Tally};

/// Pairs the sampled departures of threads from the CPU with their returns.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// The sampled wait of each thread that has not returned yet.
    waiting: HashMap<i32, Wait>,
    /// The sampled waits that ended, or lasted until the end.
    pub(crate) finished: u64,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    since_ns: u64,
    stack: Option<StackNumber>,
}

/// With more threads that wait at a time, further ones are not counted.
const MOST_WAITING: usize = 100_000;

impl Waits {
    /// A thread left the CPU, and this departure was sampled.
    pub(crate) fn left(&mut self, tid: i32, time_ns: u64, stack: Option<StackNumber>) {
        if self.waiting.len() < MOST_WAITING {
            let since_ns = time_ns;
            self.waiting.insert(tid, Wait { since_ns, stack });
        }
    }

    /// A thread came to a CPU. `period` is how many waits a sampled one stands for.
    pub(crate) fn returned(&mut self, tid: i32, time_ns: u64, period: u64, tally: &mut Tally) {
        if let Some(wait) = self.waiting.remove(&tid) {
            self.finish(wait, time_ns, period, tally);
        }
    }

    /// Nothing more will be heard of any thread: those that wait have waited until now.
    pub(crate) fn end(&mut self, time_ns: u64, period: u64, tally: &mut Tally) {
        let waiting = std::mem::take(&mut self.waiting);
        for wait in waiting.into_values() {
            self.finish(wait, time_ns, period, tally);
        }
    }

    /// A thread ended: the departure that was its last is not a wait.
    pub(crate) fn ended(&mut self, tid: i32) {
        self.waiting.remove(&tid);
    }

    fn finish(&mut self, wait: Wait, time_ns: u64, period: u64, tally: &mut Tally) {
        let nanoseconds = time_ns.saturating_sub(wait.since_ns) as f64;
        tally.add(wait.stack, nanoseconds / 1e9 * period as f64);
        self.finished += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lasts_until_the_thread_returns_or_until_the_end() {
        let mut tally = Tally::default();
        let (short, long) = (tally.number([1]), tally.number([2]));
        let mut waits = Waits::default();
        waits.left(7, 1_000_000_000, short);
        waits.left(8, 1_000_000_000, long);
        waits.returned(7, 1_500_000_000, 3, &mut tally);
        // This departure was not sampled.
        waits.returned(7, 1_900_000_000, 3, &mut tally);
        waits.left(9, 1_000_000_000, short);
        waits.ended(9);
        waits.end(3_000_000_000, 3, &mut tally);
        let weights: Vec<_> = tally.stacks().collect();
        assert_eq!(weights, [(vec![1], 1.5), (vec![2], 6.0)]);
        assert_eq!(waits.finished, 2);
    }
}
